//! What one job counts while it runs: one writer, integers, no locks, no allocation per I/O.

use crate::buckets::{BatchSizes, DepthLevels, LatencyBuckets};
use crate::histogram::{Histogram, Splits};
use crate::priority::{self, PriorityRecorder};
use crate::slices::Slices;
use crate::summary::Summary;

/// Which way the data goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[repr(u8)]
pub enum Dir {
    /// From the target.
    Read = 0,
    /// To the target.
    Write = 1,
    /// A range is given back to the target.
    Trim = 2,
}

impl Dir {
    /// All, in the order in which they are reported.
    pub const ALL: [Dir; 3] = [Dir::Read, Dir::Write, Dir::Trim];
}

/// What a recorder takes of each completed I/O: a bit set, a const parameter of
/// [`Recorder::complete`] so that what is not asked for is not compiled in.
pub mod axes {
    /// Submission latency: min, max, mean, deviation.
    pub const SLAT: u32 = 1;
    /// Completion latency: the same.
    pub const CLAT: u32 = 2;
    /// Total latency: the same.
    pub const LAT: u32 = 4;
    /// Histogram of submission latencies (`slat_percentiles`).
    pub const SLAT_HIST: u32 = 8;
    /// Histogram of completion latencies (`clat_percentiles`).
    pub const CLAT_HIST: u32 = 16;
    /// Histogram of total latencies (`lat_percentiles`).
    pub const LAT_HIST: u32 = 32;
    /// The coarse latency buckets. They count completion latencies, as the reference does; off
    /// together with `CLAT`.
    pub const BUCKETS: u32 = 64;
    /// Latencies by priority ([`super::Recorder::prioritize`]); only in loops that are `DYNAMIC`.
    pub const PRIORITIES: u32 = 128;
    /// Decide at run time by [`super::Recorder::axes`], for the combinations that nobody runs in
    /// a hurry.
    pub const DYNAMIC: u32 = 1 << 31;

    /// Nothing but bytes and counts: `gtod_reduce`.
    pub const BARE: u32 = 0;
    /// The default of a synchronous engine: submission takes no time of its own, so total and
    /// completion latency are one number, recorded once (see [`super::Recorder::lat_is_clat`]).
    pub const SYNC: u32 = CLAT | CLAT_HIST | BUCKETS;
    /// The default of an asynchronous engine.
    pub const ASYNC: u32 = SLAT | CLAT | LAT | CLAT_HIST | BUCKETS;
}

/// The times of one completed I/O, ns. Those whose axis is off are not read.
#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// From being prepared to being with the kernel.
    pub slat: u64,
    /// From there to its completion.
    pub clat: u64,
    /// From being prepared to its completion.
    pub lat: u64,
}

/// What is counted of one direction.
#[derive(Debug, Clone, Default)]
pub struct DirRecorder {
    /// I/Os handed to the engine.
    pub issued: u64,
    /// I/Os completed and counted.
    pub ios: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// I/Os that moved less than asked for.
    pub short: u64,
    /// I/Os given up before they were issued.
    pub dropped: u64,
    /// Bytes of I/Os that were issued and failed. How many of them a device moved is not known.
    pub failed_bytes: u64,
    /// Submission latency, ns.
    pub slat: Summary,
    /// Completion latency, ns.
    pub clat: Summary,
    /// Total latency, ns.
    pub lat: Summary,
    /// Submission latencies.
    pub slat_hist: Histogram,
    /// Completion latencies.
    pub clat_hist: Histogram,
    /// Total latencies.
    pub lat_hist: Histogram,
    /// Latency from the moment at which the I/O was due, ns, where a rate says so.
    pub intended: Summary,
    /// The same as a histogram.
    pub intended_hist: Histogram,
    /// Latencies by priority, where the job has several: its own first.
    pub priorities: Vec<PriorityRecorder>,
}

impl DirRecorder {
    /// Adds what another counted.
    pub fn merge(&mut self, other: &DirRecorder) {
        self.issued += other.issued;
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.short += other.short;
        self.dropped += other.dropped;
        self.failed_bytes += other.failed_bytes;
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

/// What is counted of one job. One thread writes it, and it is read when that thread has ended
/// (what others may read while it runs is [`crate::live::Live`]).
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// What is recorded: the set that [`Recorder::complete`] is called with, or what it takes when
    /// it is called with [`axes::DYNAMIC`].
    pub axes: u32,
    /// Submission takes no time of its own here: after the run the total latency is the
    /// completion latency. Set by the worker of an engine that completes in `queue`, when `LAT`
    /// was asked for, without its histogram, but is not recorded I/O by I/O.
    pub lat_is_clat: bool,
    /// By direction, [`Dir`] as the index.
    pub dirs: [DirRecorder; 3],
    latency: LatencyBuckets,
    splits: Splits,
    coarse_done: bool,
    /// I/Os in flight at each issue.
    pub depth: DepthLevels,
    /// I/Os handed over by each submitting call.
    pub submit: BatchSizes,
    /// I/Os brought back by each completing call.
    pub complete: BatchSizes,
    /// fsync, fdatasync, sync_file_range and syncfs: latency, ns.
    pub sync: Summary,
    /// The same as a histogram.
    pub sync_hist: Histogram,
    /// Syncs issued.
    pub sync_issued: u64,
    /// Errors that did not end the job (`continue_on_error`).
    pub errors: u64,
    /// errno of the first of them.
    pub first_error: i32,
    /// Latencies by slice of the run, where they are asked for. They are judged job by job of the plan,
    /// and [`Recorder::merge`] leaves them alone.
    pub slices: Option<Box<Slices>>,
}

impl Recorder {
    /// A recorder for a job that uses `dirs`; the histograms that `axes` names are allocated here
    /// and not at the first I/O.
    pub fn new(axes: u32, dirs: &[Dir]) -> Self {
        let mut recorder = Recorder { axes, ..Recorder::default() };
        for dir in dirs {
            let d = &mut recorder.dirs[*dir as usize];
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
    pub fn complete<const A: u32>(&mut self, dir: Dir, bytes: u64, times: Times) {
        self.complete_with(A, dir, bytes, times, 1);
    }

    /// Counts `n` I/Os with equal timestamps; `bytes` is their sum. `wanted` is a set of [`axes`]: hot
    /// loops pass a constant, and what is not in it is then not compiled in.
    #[inline(always)]
    pub fn complete_with(&mut self, wanted: u32, dir: Dir, bytes: u64, times: Times, n: u64) {
        let taken = if wanted & axes::DYNAMIC != 0 { self.axes } else { wanted };
        let d = &mut self.dirs[dir as usize];
        d.ios += n;
        d.bytes += bytes;
        if taken & axes::SLAT != 0 {
            d.slat.record_n(times.slat, n);
        }
        if taken & axes::CLAT != 0 {
            d.clat.record_n(times.clat, n);
        }
        if taken & axes::LAT != 0 {
            d.lat.record_n(times.lat, n);
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

    /// The priorities that I/Os have, as the kernel takes them: the job's own, then those of single
    /// I/Os. Has an effect where completion or total latencies are recorded.
    pub fn prioritize(&mut self, dirs: &[Dir], values: impl Iterator<Item = u16> + Clone) {
        self.axes |= axes::PRIORITIES;
        for dir in dirs {
            let list = values.clone().map(PriorityRecorder::new);
            self.dirs[*dir as usize].priorities = list.collect();
        }
    }

    /// Counts the latency of one completed I/O by its priority: 0 the job's own, n the n-th of the
    /// others. Total latencies where those have percentiles, else completion latencies.
    pub fn prioritized(&mut self, dir: Dir, priority: u8, times: Times) {
        let ns = match self.axes {
            a if a & axes::LAT_HIST != 0 => times.lat,
            a if a & axes::CLAT != 0 => times.clat,
            _ => return,
        };
        let list = &mut self.dirs[dir as usize].priorities;
        if let Some(of) = list.get_mut(usize::from(priority)) {
            of.record(ns);
        }
    }

    /// Counts the time from the moment at which an I/O was due to its end.
    #[inline]
    pub fn intended(&mut self, dir: Dir, ns: u64) {
        let d = &mut self.dirs[dir as usize];
        d.intended.record(ns);
        d.intended_hist.record(ns);
    }

    /// Counts an I/O in its slice: see [`Slices::record`].
    #[inline]
    pub fn sliced(&mut self, end: u64, own: u64, due: u64) {
        if let Some(slices) = &mut self.slices {
            slices.record(end, own, due);
        }
    }

    /// The first slice begins now.
    pub fn begin_slices(&mut self, now: u64) {
        if let Some(slices) = &mut self.slices {
            slices.begin(now);
        }
    }

    /// Counts one I/O handed to the engine. Its depth is counted when it is submitted.
    #[inline]
    pub fn issued(&mut self, dir: Dir) {
        self.dirs[dir as usize].issued += 1;
    }
    /// Counts `n` I/Os that went one at a time through a synchronous engine: issued, depth 1,
    /// one submission and one completion each. For the end of the run: costs nothing per I/O.
    pub fn issued_one_by_one(&mut self, dir: Dir, n: u64) {
        self.dirs[dir as usize].issued += n;
        self.depth.record_n(1, n);
        self.submit.record_n(1, n);
        self.complete.record_n(1, n);
    }
    /// Counts a completed sync that took `ns`. Where completion latencies are not measured those of
    /// syncs are not either.
    #[inline]
    pub fn synced(&mut self, ns: u64) {
        if self.axes & axes::CLAT == 0 {
            return;
        }
        self.sync.record(ns);
        self.sync_hist.record(ns);
    }
    /// Counts an I/O that moved less than asked for (its bytes come with [`Recorder::complete`]).
    #[inline]
    pub fn short(&mut self, dir: Dir) {
        self.dirs[dir as usize].short += 1;
    }
    /// Counts an error that does not end the job.
    pub fn error(&mut self, errno: i32) {
        if self.errors == 0 {
            self.first_error = errno;
        }
        self.errors += 1;
    }
    /// Forgets everything and keeps the memory: the end of `ramp_time`.
    pub fn reset(&mut self) {
        let (axes, lat_is_clat) = (self.axes, self.lat_is_clat);
        let mut dirs = std::mem::take(&mut self.dirs);
        let slices = self.slices.take();
        let mut sync_hist = std::mem::take(&mut self.sync_hist);
        sync_hist.clear();
        for d in &mut dirs {
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
        *self = Recorder { axes, lat_is_clat, dirs, sync_hist, slices, ..Recorder::default() };
    }
    /// Forgets the latencies that [`Recorder::axes`] does not name: a loop that takes all of them
    /// is faster than one that decides at each I/O.
    pub fn keep_asked(&mut self) {
        let without = |axis: u32| self.axes & axis == 0;
        let summaries = [without(axes::SLAT), without(axes::CLAT), without(axes::LAT)];
        let histogram = without(axes::CLAT_HIST);
        for d in &mut self.dirs {
            for (summary, forget) in
                [&mut d.slat, &mut d.clat, &mut d.lat].into_iter().zip(summaries)
            {
                if forget {
                    *summary = Summary::default();
                }
            }
            if histogram {
                d.clat_hist.clear();
            }
        }
    }
    /// Ends recording: a priority that is listed twice is one, and total latencies that were not
    /// recorded because they equal the completion latencies are filled in. Once more does no harm.
    pub fn finish(&mut self) {
        for d in &mut self.dirs {
            // A priority of single I/Os may be the job's own.
            let listed = std::mem::take(&mut d.priorities);
            priority::merge(&mut d.priorities, &listed);
        }
        if self.lat_is_clat {
            self.dirs.iter_mut().for_each(|d| d.lat = d.clat);
        }
    }
    /// Adds what another recorded. Exact.
    pub fn merge(&mut self, other: &Recorder) {
        self.axes |= other.axes;
        // What follows from a histogram depends on whose it is: jobs without coarse buckets may
        // join. So they are worked out before histograms become one.
        self.latency = self.latency_buckets();
        self.coarse_done = true;
        for (mine, theirs) in self.dirs.iter_mut().zip(&other.dirs) {
            mine.merge(theirs);
        }
        self.latency.merge(&other.latency_buckets());
        self.depth.merge(&other.depth);
        self.submit.merge(&other.submit);
        self.complete.merge(&other.complete);
        self.sync.merge(&other.sync);
        self.sync_hist.merge(&other.sync_hist);
        self.sync_issued += other.sync_issued;
        if self.errors == 0 {
            self.first_error = other.first_error;
        }
        self.errors += other.errors;
    }
    /// Completion latencies of all directions, coarsely.
    pub fn latency_buckets(&self) -> LatencyBuckets {
        let mut all = self.latency;
        let derived = axes::CLAT_HIST | axes::BUCKETS;
        if !self.coarse_done && self.axes & derived == derived {
            let mut histogram = Histogram::new();
            self.dirs.iter().for_each(|d| histogram.merge(&d.clat_hist));
            all.merge(&self.splits.coarse(&histogram));
        }
        all
    }
    /// Bytes and I/Os by direction so far.
    pub fn totals(&self) -> [(u64, u64); 3] {
        [0, 1, 2].map(|i| (self.dirs[i].bytes, self.dirs[i].ios))
    }
}
