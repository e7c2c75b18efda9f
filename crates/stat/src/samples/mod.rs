//! Samples of a job: what it did in equal windows of time, with the latencies of each window. Charts over time, live
//! replays and comparisons of single runs are made from them.
//!
//! | question | module |
//! |---|---|
//! | how are the latencies of a window kept | [`latencies`] |
//! | how does a worker take samples | [`recorder`] |
//! | how are samples written and read | `stored` |
//!
//! All jobs of a run share a grid of time: windows begin at multiples of their length, from the beginning of the run.
//! The length is [`MIN_WINDOW`] times a power of two, so samples of several jobs merge exactly. The first and the
//! last window of a job are usually shorter than the others.

pub mod latencies;
pub mod recorder;
mod stored;

use fiord_types::{Bytes, Dir, Nanos, PerDir};
use serde::{Deserialize, Serialize};

use latencies::SampleBucket;
pub use latencies::SampleLatencies;
pub use recorder::{SampleRecorder, WindowLimit};

/// Minimum length of a window: a 32nd of a second, so that longer windows are halves and quarters of a second, then whole
/// seconds.
pub const MIN_WINDOW: Nanos = Nanos(31_250_000);

/// Maximum number of windows of samples.
pub const MAX_WINDOWS: usize = 256;

/// What a job did in one direction in one window.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WindowSample {
    ios: u64,
    bytes: Bytes,
    latencies: SampleLatencies,
    /// Sum of these latencies; `None`: unknown.
    sum: Option<Nanos>,
}

impl WindowSample {
    /// A sample of `ios` I/Os that moved `bytes`, and the latencies of those whose latency was measured. Their sum is unknown.
    #[must_use]
    pub fn new(ios: u64, bytes: Bytes, latencies: SampleLatencies) -> Self {
        WindowSample { ios, bytes, latencies, sum: None }
    }

    /// This sample, whose latencies have this sum.
    #[must_use]
    pub fn with_sum(self, sum: Option<Nanos>) -> Self {
        WindowSample { sum: sum.filter(|_| !self.latencies.is_empty()), ..self }
    }

    /// I/Os completed.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Amount of data.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Completion latencies; total latencies if only these have a histogram; empty if none has.
    #[must_use]
    pub fn latencies(&self) -> &SampleLatencies {
        &self.latencies
    }

    /// Sum of the latencies. `None`: there are none, or the sample comes from a result of an earlier version, which has no sums.
    #[must_use]
    pub fn sum(&self) -> Option<Nanos> {
        self.sum
    }

    /// The mean latency. Without a sum, each latency counts as the middle of its bucket. `None` without latencies.
    ///
    /// ```
    /// use fiord_stat::samples::{SampleLatencies, WindowSample};
    /// use fiord_types::{Bytes, Nanos};
    ///
    /// let latencies = SampleLatencies::of_values([Nanos(1000), Nanos(1020)]);
    /// let sample = WindowSample::new(2, Bytes(1024), latencies);
    /// assert_eq!(sample.mean(), Some(1008.0));
    /// assert_eq!(sample.with_sum(Some(Nanos(2020))).mean(), Some(1010.0));
    /// ```
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let n = self.latencies.count();
        let sum = || self.latencies.buckets().map(SampleBucket::sum).sum::<f64>();
        (n > 0).then(|| self.sum.map_or_else(sum, |sum| sum.as_f64()) / n as f64)
    }

    /// Adds another sample. The result is exact.
    pub fn merge(&mut self, other: &WindowSample) {
        self.sum = match (self.sum, other.sum) {
            (Some(mine), Some(theirs)) => Some(mine.saturating_add(theirs)),
            (mine, None) if other.latencies.is_empty() => mine,
            (None, theirs) if self.latencies.is_empty() => theirs,
            _ => None,
        };
        self.ios = self.ios.saturating_add(other.ios);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.latencies.merge(&other.latencies);
    }

    fn is_empty(&self) -> bool {
        self.ios == 0 && self.bytes == Bytes::ZERO && self.latencies.is_empty()
    }
}

/// The samples of a job, or of several jobs that were merged. Times count from the beginning of the run.
///
/// ```
/// use fiord_stat::samples::{MIN_WINDOW, WindowSample, SampleLatencies, Samples};
/// use fiord_types::{Bytes, Dir, Nanos, PerDir};
///
/// let sample = WindowSample::new(2, Bytes(8192), SampleLatencies::of_values([Nanos(900), Nanos(1100)]));
/// let mut dirs = PerDir::<Vec<WindowSample>>::default();
/// dirs[Dir::Read] = vec![sample.clone(), sample];
/// let (begin, end) = (Nanos(0), MIN_WINDOW * 2);
/// let mut samples = Samples::new(begin, begin, end, MIN_WINDOW, dirs);
/// samples.merge(&samples.clone());
/// assert_eq!(samples.dir(Dir::Read)[0].ios(), 4);
/// assert_eq!(samples.spans().collect::<Vec<_>>()[1], (MIN_WINDOW, end));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "stored::Stored", try_from = "stored::Stored")]
pub struct Samples {
    begin: Nanos,
    measured: Nanos,
    end: Nanos,
    window: Nanos,
    dirs: PerDir<Vec<WindowSample>>,
}

impl Samples {
    /// Samples from `begin` to `end` in windows of length `window`, of which the part from `measured` on counts in
    /// the report. The first window of each direction is the one on the grid that contains `begin`. Directions may
    /// have fewer windows than others: nothing happened in those that are missing. More windows than fit before `end`
    /// are dropped. A window length that is not on the grid is taken as the next longer one that is.
    #[must_use]
    pub fn new(
        begin: Nanos,
        measured: Nanos,
        end: Nanos,
        window: Nanos,
        dirs: PerDir<Vec<WindowSample>>,
    ) -> Self {
        let mut samples = Samples {
            begin,
            measured: measured.max(begin),
            end: end.max(begin),
            window: on_grid(window),
            dirs,
        };
        let count = samples.count();
        samples.dirs.values_mut().for_each(|dir| dir.truncate(count));
        samples
    }

    /// Whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.end == self.begin
    }

    /// When the first I/O could begin, with those of `ramp_time`.
    #[must_use]
    pub fn begin(&self) -> Nanos {
        self.begin
    }

    /// When the measured part began: the end of `ramp_time`. The window that contains this time has I/Os of both parts.
    #[must_use]
    pub fn measured(&self) -> Nanos {
        self.measured
    }

    /// When the last window ended.
    #[must_use]
    pub fn end(&self) -> Nanos {
        self.end
    }

    /// Length of a window.
    #[must_use]
    pub fn window(&self) -> Nanos {
        self.window
    }

    /// The samples of a direction, oldest first; windows at the end in which nothing happened may be missing.
    #[must_use]
    pub fn dir(&self, dir: Dir) -> &[WindowSample] {
        &self.dirs[dir]
    }

    /// When each window begins and ends.
    #[must_use]
    pub fn spans(&self) -> impl ExactSizeIterator<Item = (Nanos, Nanos)> + use<'_> {
        let first = self.first();
        (0..self.count()).map(move |i| {
            let begin = self.window.saturating_mul(first + i as u64);
            (begin.max(self.begin), begin.saturating_add(self.window).min(self.end))
        })
    }

    /// Adds the samples of another job of the run. The result is exact; its windows are as long as the longer ones of
    /// both, or longer if there would be more than [`MAX_WINDOWS`].
    pub fn merge(&mut self, other: &Samples) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut other = other.clone();
        let begin = self.begin.min(other.begin);
        let end = self.end.max(other.end);
        let mut window = self.window.max(other.window);
        while windows_between(begin, end, window) > MAX_WINDOWS {
            window = window.saturating_mul(2);
        }
        self.widen(window);
        other.widen(window);
        let first = begin / window;
        let (mine, theirs) = (self.first() - first, other.first() - first);
        for (dir, list) in self.dirs.iter_mut() {
            let more = &other.dirs[dir];
            if more.is_empty() {
                if !list.is_empty() {
                    pad_front(list, mine);
                }
                continue;
            }
            pad_front(list, mine);
            let length = list.len().max(theirs as usize + more.len());
            list.resize_with(length, WindowSample::default);
            list[theirs as usize..].iter_mut().zip(more).for_each(|(sum, part)| sum.merge(part));
        }
        self.measured = self.measured.max(other.measured);
        (self.begin, self.end) = (begin, end);
    }

    /// These samples without latencies.
    #[must_use]
    pub fn without_latencies(&self) -> Samples {
        let bare = |sample: &WindowSample| {
            WindowSample::new(sample.ios, sample.bytes, SampleLatencies::default())
        };
        let [read, write, trim] = Dir::ALL.map(|dir| self.dirs[dir].iter().map(bare).collect());
        Samples { dirs: PerDir::new(read, write, trim), ..*self }
    }

    /// The I/Os and bytes of all directions from `begin` to `end`. A window that is only partly inside counts in
    /// proportion.
    ///
    /// ```
    /// use fiord_stat::samples::{MIN_WINDOW, SampleLatencies, Samples, WindowSample};
    /// use fiord_types::{Bytes, Dir, Nanos, PerDir};
    ///
    /// let ios = |ios| WindowSample::new(ios, Bytes(ios * 512), SampleLatencies::default());
    /// let mut dirs = PerDir::<Vec<WindowSample>>::default();
    /// dirs[Dir::Read] = vec![ios(40), ios(60)];
    /// let (begin, window) = (Nanos::ZERO, MIN_WINDOW);
    /// let samples = Samples::new(begin, begin, window * 2, window, dirs);
    /// assert_eq!(samples.between(window / 2, window * 9), (20.0 + 60.0, 80.0 * 512.0));
    /// ```
    #[must_use]
    pub fn between(&self, begin: Nanos, end: Nanos) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for (at, (from, to)) in self.spans().enumerate() {
            let inside = to.min(end).saturating_sub(from.max(begin));
            let whole = to.saturating_sub(from).max(Nanos(1));
            // Whole windows count exactly.
            let share = if inside == whole { 1.0 } else { inside.as_f64() / whole.as_f64() };
            for sample in Dir::ALL.iter().filter_map(|dir| self.dirs[*dir].get(at)) {
                sum.0 += share * sample.ios as f64;
                sum.1 += share * sample.bytes.as_f64();
            }
        }
        sum
    }

    /// Merges windows until they are at least so long.
    pub fn widen(&mut self, window: Nanos) {
        while self.window < window && self.window > Nanos::ZERO {
            self.halve();
        }
    }

    /// Merges each two windows of the next longer grid.
    fn halve(&mut self) {
        let odd = self.first() % 2;
        for list in self.dirs.values_mut().filter(|list| !list.is_empty()) {
            pad_front(list, odd);
            let pairs = list.chunks(2).map(|pair| {
                let mut sum = pair[0].clone();
                pair[1..].iter().for_each(|second| sum.merge(second));
                sum
            });
            *list = pairs.collect();
        }
        self.window = self.window.saturating_mul(2);
    }

    /// Number of the first window on the grid.
    fn first(&self) -> u64 {
        self.begin / self.window.max(Nanos(1))
    }

    fn count(&self) -> usize {
        windows_between(self.begin, self.end, self.window)
    }
}

/// Windows on the grid that overlap the time from `begin` to `end`.
fn windows_between(begin: Nanos, end: Nanos, window: Nanos) -> usize {
    if end <= begin || window == Nanos::ZERO {
        return 0;
    }
    let last = (end.0 - 1) / window.0;
    usize::try_from(last - begin.0 / window.0).unwrap_or(usize::MAX).saturating_add(1)
}

/// The next window length on the grid that is at least so long.
fn on_grid(window: Nanos) -> Nanos {
    let mut length = MIN_WINDOW;
    while length < window && length < Nanos(u64::MAX / 4) {
        length = length.saturating_mul(2);
    }
    length
}

/// Inserts `count` empty samples at the front.
fn pad_front(list: &mut Vec<WindowSample>, count: u64) {
    if count > 0 {
        list.splice(0..0, std::iter::repeat_with(WindowSample::default).take(count as usize));
    }
}

#[cfg(test)]
mod tests;
