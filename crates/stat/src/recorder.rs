//! The recorder: counts the I/Os and latencies of one job. It has one writer and uses integers, with no locks
//! and no allocation per I/O.

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Dir, Errno, Nanos, PerDir};

use crate::buckets::{BatchSizes, DepthLevels, LatencyBuckets};
use crate::histogram::{Histogram, Splits};
use crate::priority::{self, PriorityRecorder};
use crate::ramp::{RampDir, RampTotals, SyncCount};
use crate::slices::Slices;
use crate::summary::Summary;

/// The measurements that a recorder takes of each completed I/O, as a bit set. It is a const parameter of
/// [`Recorder::complete`], so that the compiler removes the code of the others.
pub mod axes {
    /// Submission latency: min, max, mean, deviation.
    pub const SLAT: u32 = 1;
    /// Completion latency: min, max, mean, deviation.
    pub const CLAT: u32 = 2;
    /// Total latency: min, max, mean, deviation.
    pub const LAT: u32 = 4;
    /// Histogram of submission latencies (`slat_percentiles`).
    pub const SLAT_HIST: u32 = 8;
    /// Histogram of completion latencies (`clat_percentiles`).
    pub const CLAT_HIST: u32 = 16;
    /// Histogram of total latencies (`lat_percentiles`).
    pub const LAT_HIST: u32 = 32;
    /// The coarse latency buckets. They count completion latencies, as in fio, and are off if `CLAT` is off.
    pub const BUCKETS: u32 = 64;
    /// Decide at run time by [`super::Recorder::axes`], for combinations that need no fast loop.
    pub const DYNAMIC: u32 = 1 << 31;

    /// Only bytes and counts: `gtod_reduce`.
    pub const BARE: u32 = 0;
    /// The default for a synchronous engine. Submission takes no separate time, so total latency equals
    /// completion latency and is recorded once (see [`super::Recorder::lat_is_clat`]).
    pub const SYNC: u32 = CLAT | CLAT_HIST | BUCKETS;
    /// The default for an asynchronous engine.
    pub const ASYNC: u32 = SLAT | CLAT | LAT | CLAT_HIST | BUCKETS;
}

/// The latencies of one completed I/O. A recorder ignores those whose axis is off.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// Submission latency: from the start of the I/O until the call that submits it, which is not included.
    pub slat: Nanos,
    /// Completion latency: from then to its completion.
    pub clat: Nanos,
    /// Total latency: from the start of the I/O to its completion.
    pub lat: Nanos,
}

/// Counters and latencies of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirRecorder {
    /// I/Os handed to the engine.
    #[serde(skip_serializing_if = "is_unused")]
    pub issued: u64,
    /// I/Os completed and counted.
    #[serde(skip_serializing_if = "is_unused")]
    pub ios: u64,
    /// Bytes that the completed I/Os moved.
    #[serde(skip_serializing_if = "is_unused")]
    pub bytes: Bytes,
    /// I/Os that moved fewer bytes than requested.
    #[serde(skip_serializing_if = "is_unused")]
    pub short: u64,
    /// I/Os given up before they were issued.
    #[serde(skip_serializing_if = "is_unused")]
    pub dropped: u64,
    /// Bytes of I/Os that were issued and failed. How many of them a device moved is not known.
    #[serde(skip_serializing_if = "is_unused")]
    pub failed_bytes: Bytes,
    /// Submission latency, ns.
    #[serde(skip_serializing_if = "is_unused")]
    pub slat: Summary,
    /// Completion latency, ns.
    #[serde(skip_serializing_if = "is_unused")]
    pub clat: Summary,
    /// Total latency, ns.
    #[serde(skip_serializing_if = "is_unused")]
    pub lat: Summary,
    /// Histogram of submission latencies.
    #[serde(skip_serializing_if = "is_unused")]
    pub slat_hist: Histogram,
    /// Histogram of completion latencies.
    #[serde(skip_serializing_if = "is_unused")]
    pub clat_hist: Histogram,
    /// Histogram of total latencies.
    #[serde(skip_serializing_if = "is_unused")]
    pub lat_hist: Histogram,
    /// Latency from the time at which the I/O was due, ns, if the direction has a rate.
    #[serde(skip_serializing_if = "is_unused")]
    pub intended: Summary,
    /// Histogram of the latencies in `intended`.
    #[serde(skip_serializing_if = "is_unused")]
    pub intended_hist: Histogram,
    /// Latencies by priority if the job has several priorities; the job's own comes first.
    #[serde(deserialize_with = "priority::few_priorities", skip_serializing_if = "Vec::is_empty")]
    pub priorities: Vec<PriorityRecorder>,
}

impl DirRecorder {
    /// Returns the sum of all latencies and how many there are: total latencies, or completion latencies if total ones
    /// were not measured.
    #[must_use]
    pub fn time_in_flight(&self) -> (Nanos, u64) {
        let latency = if self.lat.n() > 0 { &self.lat } else { &self.clat };
        (Nanos((latency.mean() * latency.n() as f64) as u64), latency.n())
    }

    /// Returns the counts as those of a ramp.
    fn in_ramp(&self) -> RampDir {
        let (time, timed) = self.time_in_flight();
        let DirRecorder { ios, bytes, failed_bytes, .. } = *self;
        RampDir::new(ios, bytes, failed_bytes, (timed, time))
    }

    /// Adds the counts of another recorder.
    pub fn merge(&mut self, other: &DirRecorder) {
        let counts = [
            (&mut self.issued, other.issued),
            (&mut self.ios, other.ios),
            (&mut self.short, other.short),
            (&mut self.dropped, other.dropped),
        ];
        counts.into_iter().for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.failed_bytes = self.failed_bytes.saturating_add(other.failed_bytes);
        self.slat.merge(&other.slat);
        self.clat.merge(&other.clat);
        self.lat.merge(&other.lat);
        self.slat_hist.merge(&other.slat_hist);
        self.clat_hist.merge(&other.clat_hist);
        self.lat_hist.merge(&other.lat_hist);
        self.intended.merge(&other.intended);
        self.intended_hist.merge(&other.intended_hist);
        priority::merge(&mut self.priorities, &other.priorities);
    }
}

/// Counters and latencies of one job. The job's thread writes it, and others read it when that thread has
/// ended. See [`crate::live::Live`] for the totals that others may read earlier.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Recorder {
    /// The requested measurements, a set of [`axes`]. [`Recorder::complete`] obeys it when called with
    /// [`axes::DYNAMIC`].
    pub axes: u32,
    /// Measurements that the job did not ask for, and that its loop may take so that series and charts have latencies.
    /// [`Recorder::keep_asked`] drops them.
    #[serde(skip)]
    unasked: u32,
    /// Submission takes no separate time, so [`Recorder::finish`] copies the completion latency to the total
    /// latency. The worker sets this for an engine that completes in `queue` if `LAT` is requested without its
    /// histogram.
    pub lat_is_clat: bool,
    /// Counters by direction.
    pub dirs: PerDir<DirRecorder>,
    #[serde(skip_serializing_if = "is_unused")]
    latency: LatencyBuckets,
    #[serde(skip_serializing_if = "is_unused")]
    splits: Splits,
    coarse_done: bool,
    /// I/Os in flight at each issue.
    pub depth: DepthLevels,
    /// Number of I/Os in each submission call.
    pub submit: BatchSizes,
    /// Number of I/Os in each completion call.
    pub complete: BatchSizes,
    /// Latency of fsync, fdatasync, sync_file_range and syncfs, ns.
    #[serde(skip_serializing_if = "is_unused")]
    pub sync: Summary,
    /// Histogram of the latencies in `sync`.
    #[serde(skip_serializing_if = "is_unused")]
    pub sync_hist: Histogram,
    pub sync_issued: u64,
    /// The I/O that [`Recorder::reset`] has cleared, which devices have counted all the same.
    #[serde(skip_serializing_if = "is_unused")]
    pub ramp: RampTotals,
    /// Errors that did not end the job (`continue_on_error`).
    pub errors: u64,
    /// The first such error.
    pub first_error: Option<Errno>,
    /// Latencies by slice of the run, if requested (`latency_limits`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slices: Option<Box<Slices>>,
}

impl Recorder {
    /// A recorder for a job that uses `dirs`. Allocates the histograms that `axes` names now, so that the first
    /// I/O need not.
    #[must_use]
    pub fn new(axes: u32, dirs: &[Dir]) -> Self {
        let mut recorder = Recorder { axes, ..Recorder::default() };
        for dir in dirs {
            let d = &mut recorder.dirs[*dir];
            if axes & axes::SLAT_HIST != 0 {
                d.slat_hist.reserve();
            }
            if axes & axes::CLAT_HIST != 0 {
                d.clat_hist.reserve();
            }
            if axes & axes::LAT_HIST != 0 {
                d.lat_hist.reserve();
            }
        }
        recorder
    }

    /// Counts one completed I/O. `A` is a set of [`axes`].
    #[inline(always)]
    pub fn complete<const A: u32>(&mut self, dir: Dir, bytes: Bytes, times: Times) {
        self.complete_with(A, dir, bytes, times, 1);
    }

    /// Counts `n` I/Os with equal timestamps; `bytes` is their sum. `wanted` is a set of [`axes`]: hot loops
    /// pass a constant, so that the compiler removes the code of other measurements.
    #[inline(always)]
    pub fn complete_with(&mut self, wanted: u32, dir: Dir, bytes: Bytes, times: Times, n: u64) {
        let d = &mut self.dirs[dir];
        d.ios += n;
        d.bytes += bytes;
        self.took(wanted, dir, times, n);
    }

    /// Records the latencies of `n` I/Os with equal timestamps. `wanted` is a set of [`axes`].
    #[inline(always)]
    fn took(&mut self, wanted: u32, dir: Dir, times: Times, n: u64) {
        let taken = if wanted & axes::DYNAMIC != 0 { self.axes } else { wanted };
        let d = &mut self.dirs[dir];
        if taken & axes::SLAT != 0 {
            d.slat.record_n(times.slat.0, n);
        }
        if taken & axes::CLAT != 0 {
            d.clat.record_n(times.clat.0, n);
        }
        if taken & axes::LAT != 0 {
            d.lat.record_n(times.lat.0, n);
        }
        if taken & axes::SLAT_HIST != 0 {
            d.slat_hist.record_n(times.slat, n);
        }
        match (taken & axes::CLAT_HIST != 0, taken & axes::BUCKETS != 0) {
            (true, true) => d.clat_hist.record_splitting(times.clat, n, &mut self.splits),
            (true, false) => d.clat_hist.record_n(times.clat, n),
            (false, true) => self.latency.record_n(times.clat, n),
            (false, false) => {}
        }
        if taken & axes::LAT_HIST != 0 {
            d.lat_hist.record_n(times.lat, n);
        }
    }

    /// Records how long an I/O has waited that got no answer: its latency is at least that. The I/O itself does not count,
    /// because it moved no data.
    pub fn gave_up(&mut self, dir: Dir, times: Times) {
        self.took(axes::DYNAMIC, dir, times, 1);
    }

    /// Sets the priorities of the I/Os in the kernel's encoding: the job's own first, then those of single I/Os.
    /// Has no effect unless completion or total latencies are recorded.
    pub fn prioritize(&mut self, dirs: &[Dir], values: impl Iterator<Item = u16> + Clone) {
        for dir in dirs {
            let list = values.clone().map(PriorityRecorder::new);
            self.dirs[*dir].priorities = list.collect();
        }
    }

    /// Counts the latency of one completed I/O by its priority: 0 is the job's own, n is the n-th of the
    /// others. Uses the total latency if it has percentiles, else the completion latency.
    pub fn prioritized(&mut self, dir: Dir, priority: u8, times: Times) {
        let latency = match self.axes & !self.unasked {
            a if a & axes::LAT_HIST != 0 => times.lat,
            a if a & axes::CLAT != 0 => times.clat,
            _ => return,
        };
        let list = &mut self.dirs[dir].priorities;
        if let Some(of) = list.get_mut(usize::from(priority)) {
            of.record(latency);
        }
    }

    /// Counts the time from when an I/O was due to its completion.
    #[inline]
    pub fn intended(&mut self, dir: Dir, latency: Nanos) {
        let d = &mut self.dirs[dir];
        d.intended.record(latency.0);
        d.intended_hist.record(latency);
    }

    /// Counts an I/O in its slice. See [`Slices::record`].
    #[inline]
    pub fn sliced(&mut self, end: Nanos, own: Nanos, due: Nanos) {
        if let Some(slices) = &mut self.slices {
            slices.record(end, own, due);
        }
    }

    /// Starts the first slice at `now`.
    pub fn begin_slices(&mut self, now: Nanos) {
        if let Some(slices) = &mut self.slices {
            slices.begin(now);
        }
    }

    /// Counts one I/O handed to the engine. The depth is counted separately at submission.
    #[inline]
    pub fn issued(&mut self, dir: Dir) {
        self.dirs[dir].issued += 1;
    }
    /// Counts `n` I/Os that a synchronous engine did one at a time: issued, depth 1, one submission and one
    /// completion each. Call it once at the end of the run, so that it costs nothing per I/O.
    pub fn issued_one_by_one(&mut self, dir: Dir, n: u64) {
        self.dirs[dir].issued += n;
        self.depth.record_n(1, n);
        self.submit.record_n(1, n);
        self.complete.record_n(1, n);
    }
    /// Counts a completed sync. Does nothing if completion latencies are not measured.
    #[inline]
    pub fn synced(&mut self, latency: Nanos) {
        if self.axes & axes::CLAT == 0 {
            return;
        }
        self.sync.record(latency.0);
        self.sync_hist.record(latency);
    }
    /// Counts an I/O that moved fewer bytes than requested. [`Recorder::complete`] counts its bytes.
    #[inline]
    pub fn short(&mut self, dir: Dir) {
        self.dirs[dir].short += 1;
    }
    /// Counts an error that does not end the job.
    pub fn error(&mut self, errno: Errno) {
        if self.errors == 0 {
            self.first_error = Some(errno);
        }
        self.errors += 1;
    }
    /// Clears all counts at the end of `ramp_time`; keeps the memory, and adds the I/O to [`Recorder::ramp`].
    pub fn reset(&mut self) {
        let mut ramp = self.ramp;
        ramp.merge(&RampTotals {
            dirs: PerDir::from_fn(|dir| self.dirs[dir].in_ramp()),
            syncs: SyncCount(self.sync_issued),
        });
        let (axes, unasked, lat_is_clat) = (self.axes, self.unasked, self.lat_is_clat);
        let mut dirs = std::mem::take(&mut self.dirs);
        let slices = self.slices.take();
        let mut sync_hist = std::mem::take(&mut self.sync_hist);
        sync_hist.clear();
        for d in dirs.values_mut() {
            for h in [&mut d.slat_hist, &mut d.clat_hist, &mut d.lat_hist, &mut d.intended_hist] {
                h.clear();
            }
            d.priorities.iter_mut().for_each(PriorityRecorder::clear);
        }
        let dirs = dirs.map(|d| DirRecorder {
            slat_hist: d.slat_hist,
            clat_hist: d.clat_hist,
            lat_hist: d.lat_hist,
            intended_hist: d.intended_hist,
            priorities: d.priorities,
            ..DirRecorder::default()
        });
        *self = Recorder {
            axes,
            unasked,
            lat_is_clat,
            dirs,
            sync_hist,
            slices,
            ramp,
            ..Recorder::default()
        };
    }
    /// Clears the latencies that [`Recorder::axes`] does not name. A loop that records all of them is faster than
    /// one that decides at each I/O. Fills in total latencies that equal the completion latencies before it clears these.
    pub fn keep_asked(&mut self) {
        self.fill_in_total_latencies();
        self.axes &= !std::mem::take(&mut self.unasked);
        let lat_is_clat = std::mem::take(&mut self.lat_is_clat);
        let without = |axis: u32| self.axes & axis == 0;
        let no_lat = without(axes::LAT) && !lat_is_clat;
        let summaries = [without(axes::SLAT), without(axes::CLAT), no_lat];
        let histograms = [without(axes::CLAT_HIST), without(axes::LAT_HIST)];
        for d in self.dirs.values_mut() {
            for (summary, forget) in
                [&mut d.slat, &mut d.clat, &mut d.lat].into_iter().zip(summaries)
            {
                if forget {
                    *summary = Summary::default();
                }
            }
            for (histogram, forget) in
                [&mut d.clat_hist, &mut d.lat_hist].into_iter().zip(histograms)
            {
                if forget {
                    histogram.clear();
                }
            }
        }
    }
    /// Notes a measurement that the job did not ask for: a set of [`axes`]. [`Recorder::take_unasked`] turns it on.
    pub fn note_unasked(&mut self, axes: u32) {
        self.unasked = axes;
    }
    /// Takes the measurements of [`Recorder::note_unasked`], too, in a loop that obeys [`Recorder::axes`].
    pub fn take_unasked(&mut self) {
        self.axes |= self.unasked;
    }
    /// Whether [`Recorder::keep_asked`] drops all histograms of completed I/Os.
    #[must_use]
    pub fn drops_histograms(&self) -> bool {
        let kept = self.axes & !self.unasked & (axes::CLAT_HIST | axes::LAT_HIST);
        let has = |d: &DirRecorder| !d.clat_hist.is_empty() || !d.lat_hist.is_empty();
        kept == 0 && self.dirs.values().any(has)
    }
    /// Ends recording: merges priorities that are listed twice, fills in total latencies that equal the
    /// completion latencies, and frees memory that no value needs. May be called more than once.
    pub fn finish(&mut self) {
        for d in self.dirs.values_mut() {
            let histograms = [&mut d.slat_hist, &mut d.clat_hist, &mut d.lat_hist];
            histograms.into_iter().for_each(Histogram::shrink);
            // A single I/O may have the same priority as the job.
            let listed = std::mem::take(&mut d.priorities);
            priority::merge(&mut d.priorities, &listed);
        }
        self.fill_in_total_latencies();
    }
    /// Copies the completion latencies to the total ones, if they are equal ([`Recorder::lat_is_clat`]).
    fn fill_in_total_latencies(&mut self) {
        if self.lat_is_clat {
            self.dirs.values_mut().for_each(|d| d.lat = d.clat);
        }
    }
    /// Adds the counts and latencies of another recorder. The result is exact.
    pub fn merge(&mut self, other: &Recorder) {
        self.axes |= other.axes;
        // Derive the coarse buckets before merging the histograms: the other recorder may have none.
        self.latency = self.latency_buckets();
        self.coarse_done = true;
        for (mine, theirs) in self.dirs.values_mut().zip(other.dirs.values()) {
            mine.merge(theirs);
        }
        self.latency.merge(&other.latency_buckets());
        self.depth.merge(&other.depth);
        self.submit.merge(&other.submit);
        self.complete.merge(&other.complete);
        self.sync.merge(&other.sync);
        self.sync_hist.merge(&other.sync_hist);
        self.sync_issued = self.sync_issued.saturating_add(other.sync_issued);
        self.ramp.merge(&other.ramp);
        if self.errors == 0 {
            self.first_error = other.first_error;
        }
        self.errors = self.errors.saturating_add(other.errors);
        match (&mut self.slices, &other.slices) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (mine @ None, Some(theirs)) => *mine = Some(theirs.clone()),
            (_, None) => {}
        }
    }
    /// The coarse latency buckets: completion latencies of all directions.
    #[must_use]
    pub fn latency_buckets(&self) -> LatencyBuckets {
        let mut all = self.latency;
        let derived = axes::CLAT_HIST | axes::BUCKETS;
        if !self.coarse_done && self.axes & derived == derived {
            let mut histogram = Histogram::new();
            self.dirs.values().for_each(|d| histogram.merge(&d.clat_hist));
            all.merge(&self.splits.coarse(&histogram));
        }
        all
    }
    /// Bytes and I/Os so far, by direction.
    #[must_use]
    pub fn totals(&self) -> PerDir<(Bytes, u64)> {
        PerDir::from_fn(|dir| (self.dirs[dir].bytes, self.dirs[dir].ios))
    }
}

/// Whether a value is its default, so that it can be left out.
fn is_unused<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
