//! The samples of a job, a host or the whole run, on the windows of the run.

use fiord_stat::samples::{Samples, WindowSample};
use fiord_types::{Dir, Nanos, PerDir};

use crate::history::ReplayWindow;

/// Samples on the windows of a run.
#[derive(Debug, Clone, Default)]
pub(super) struct SampleTrack {
    samples: Samples,
    spans: Vec<(Nanos, Nanos)>,
    /// Windows of the run before the first one of the samples.
    before: usize,
}

impl SampleTrack {
    /// The samples of a whole run.
    pub(super) fn of_run(samples: Samples) -> Self {
        let spans = samples.spans().collect();
        SampleTrack { samples, spans, before: 0 }
    }

    /// Samples that are part of those of a run, on its windows.
    pub(super) fn part_of(run: &SampleTrack, mut samples: Samples) -> Self {
        let window = run.samples.window();
        samples.widen(window);
        let number = |at: Nanos| at / window.max(Nanos(1));
        let before = number(samples.begin()).saturating_sub(number(run.begin()));
        let before = usize::try_from(before).unwrap_or(usize::MAX);
        SampleTrack { before, ..SampleTrack::of_run(samples) }
    }

    /// When each window begins and ends.
    pub(super) fn spans(&self) -> &[(Nanos, Nanos)] {
        &self.spans
    }

    /// The length of a whole window.
    pub(super) fn window_length(&self) -> Nanos {
        self.samples.window()
    }

    pub(super) fn begin(&self) -> Nanos {
        self.samples.begin()
    }

    /// The end of `ramp_time`.
    pub(super) fn measured(&self) -> Nanos {
        self.samples.measured()
    }

    pub(super) fn end(&self) -> Nanos {
        self.samples.end()
    }

    /// What happened in a direction in a window of the run.
    pub(super) fn sample(&self, dir: Dir, at: usize) -> Option<&WindowSample> {
        self.samples.dir(dir).get(at.checked_sub(self.before)?)
    }

    /// What happened in a window of the run.
    pub(super) fn window(&self, at: usize) -> ReplayWindow {
        let own = at.checked_sub(self.before).filter(|own| *own < self.spans.len());
        let Some(own) = own else { return ReplayWindow::default() };
        let (first, last) = self.rated(own);
        let seconds = self.spans[last].1.saturating_sub(self.spans[first].0).as_secs_f64();
        let rate = |dir, of: fn(&WindowSample) -> f64| {
            let list = self.samples.dir(dir);
            let sum: f64 = list.iter().take(last + 1).skip(first).map(of).sum();
            if seconds > 0.0 { sum / seconds } else { 0.0 }
        };
        ReplayWindow {
            iops: PerDir::from_fn(|dir| rate(dir, |sample| sample.ios() as f64)),
            bw: PerDir::from_fn(|dir| rate(dir, |sample| sample.bytes().as_f64())),
            latencies: PerDir::from_fn(|dir| {
                self.sample(dir, at).map(|sample| sample.latencies().clone()).unwrap_or_default()
            }),
        }
    }

    /// The first and the last window whose rate is that of a window. One that is much shorter than the others has no
    /// meaningful rate alone.
    fn rated(&self, own: usize) -> (usize, usize) {
        let (from, to) = self.spans[own];
        let short = to.saturating_sub(from).saturating_mul(2) < self.window_length();
        match short {
            true if own > 0 => (own - 1, own),
            true if own + 1 < self.spans.len() => (own, own + 1),
            _ => (own, own),
        }
    }
}
