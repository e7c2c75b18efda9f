//! Takes the samples of a job. The worker calls it in its housekeeping, so that samples cost nothing for each I/O.

use fiord_types::{Bytes, Dir, Nanos, PerDir};

use super::latencies::coarse;
use super::{MAX_WINDOWS, MIN_WINDOW, SampleLatencies, Samples, WindowSample};
use crate::histogram::Histogram;
use crate::recorder::{DirRecorder, Recorder};
use crate::summary::Summary;

/// Minimum number of windows that samples of a long run have.
const MIN_WINDOWS: usize = 32;
/// Windows of all jobs of a run together, so that the memory of a run with many jobs is bounded.
const ALL_WINDOWS: usize = 8192;

/// How many windows the samples of a job may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowLimit(usize);

impl WindowLimit {
    /// The limit for each job in a run of `jobs` jobs.
    #[must_use]
    pub fn in_run_of(jobs: usize) -> Self {
        WindowLimit((ALL_WINDOWS / jobs.max(1)).clamp(MIN_WINDOWS, MAX_WINDOWS))
    }
}

/// Takes the samples of a job.
#[derive(Debug, Clone)]
pub struct SampleRecorder {
    samples: Samples,
    /// When the run began, by the clock of the job.
    origin: Nanos,
    most: WindowLimit,
    /// Number of the current window on the grid. A window includes its end.
    current: u64,
    last: PerDir<Counted>,
}

/// What a direction had counted at the last sample.
#[derive(Debug, Clone, Default)]
struct Counted {
    ios: u64,
    bytes: Bytes,
    latencies: Vec<u64>,
    sum: u64,
}

impl SampleRecorder {
    /// Begins at `now`. `origin`: when the run began, by the same clock.
    #[must_use]
    pub fn begin(now: Nanos, origin: Nanos, most: WindowLimit) -> Self {
        let begin = now.saturating_sub(origin);
        SampleRecorder {
            current: begin / MIN_WINDOW,
            samples: Samples {
                begin,
                measured: begin,
                end: begin,
                window: MIN_WINDOW,
                dirs: PerDir::default(),
            },
            origin: origin.min(now),
            most,
            last: PerDir::default(),
        }
    }

    /// When the current window ends, by the clock of the job.
    #[must_use]
    pub fn due(&self) -> Nanos {
        self.origin.saturating_add(self.samples.window.saturating_mul(self.current + 1))
    }

    /// Takes a sample at `now`. What the job has counted since the last one belongs to the window that was current
    /// then: the worker samples before it counts the first I/O that completed after a window.
    pub fn sample(&mut self, now: Nanos, recorder: &Recorder) {
        let now = now.saturating_sub(self.origin);
        if now < self.samples.end {
            return;
        }
        let at = (self.current - self.samples.first()) as usize;
        for dir in Dir::ALL {
            let sample = self.last[dir].since(&recorder.dirs[dir]);
            if sample.is_empty() {
                continue;
            }
            let list = &mut self.samples.dirs[dir];
            if list.len() <= at {
                list.resize_with(at + 1, WindowSample::default);
            }
            list[at].merge(&sample);
        }
        self.samples.end = now;
        while self.samples.count() > self.most.0 {
            self.samples.halve();
            self.current /= 2;
        }
        self.current = self.current.max(now.saturating_sub(Nanos(1)) / self.samples.window);
    }

    /// The measured part begins at `now`: the recorder starts again from zero. Call it after the recorder was reset;
    /// call [`SampleRecorder::sample`] before.
    pub fn restart(&mut self, now: Nanos) {
        self.samples.measured = now.saturating_sub(self.origin).max(self.samples.begin);
        self.last = PerDir::default();
    }

    /// The samples so far.
    #[must_use]
    pub fn samples(&self) -> &Samples {
        &self.samples
    }
}

impl Counted {
    /// What was counted since the last call.
    fn since(&mut self, now: &DirRecorder) -> WindowSample {
        let ios = now.ios.saturating_sub(self.ios);
        let bytes = now.bytes.saturating_sub(self.bytes);
        if ios == 0 {
            return WindowSample::default();
        }
        let (histogram, summary) = latencies(now);
        let mut more: Vec<u64> = coarse(histogram).collect();
        self.latencies.resize(more.len(), 0);
        for (count, last) in more.iter_mut().zip(&mut self.latencies) {
            let so_far = *count;
            *count = so_far.saturating_sub(*last);
            *last = so_far;
        }
        let sum = Nanos(summary.sum().wrapping_sub(self.sum));
        (self.ios, self.bytes, self.sum) = (now.ios, now.bytes, summary.sum());
        WindowSample::new(ios, bytes, SampleLatencies::of_counts(&more)).with_sum(Some(sum))
    }
}

/// The completion latencies, or the total latencies if these have no histogram.
fn latencies(dir: &DirRecorder) -> (&Histogram, &Summary) {
    match dir.clat_hist.is_empty() {
        true => (&dir.lat_hist, &dir.lat),
        false => (&dir.clat_hist, &dir.clat),
    }
}
