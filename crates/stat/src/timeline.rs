//! The IOPS timeline of a job: its I/Os in equal windows of time, with a bounded number of windows.

use fiord_formats::block::{self, BlockError};
use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

/// At this number of windows, each two are merged into one.
const MOST: usize = 64;

/// I/Os over equal windows of time, from the beginning of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct IopsTimeline {
    /// When the first window began, from the beginning of the run: the time line that all jobs of a run share.
    pub begin: Nanos,
    /// Length of a window.
    pub window: Nanos,
    /// I/Os completed in each window.
    pub ios: Vec<u64>,
}

impl IopsTimeline {
    /// Adds the I/Os of another job of the run. The result begins with the earlier of the two and has windows at
    /// least as long as the longer ones. If each window of both lies within one window of the result, the result
    /// is exact: it equals the timeline of a recorder that saw the I/Os of both. Otherwise, the I/Os of a window
    /// that crosses a boundary are divided in proportion to the time; the total is always exact.
    pub fn merge(&mut self, other: &IopsTimeline) {
        if other.ios.is_empty() {
            return;
        }
        if self.ios.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut sum = IopsTimeline {
            begin: self.begin.min(other.begin),
            window: self.window.max(other.window).max(Nanos(1)),
            ios: Vec::new(),
        };
        let end = self.end_ns().max(other.end_ns());
        while (end - u128::from(sum.begin.0)).div_ceil(sum.window.0.into()) >= MOST as u128 {
            sum.window = sum.window.saturating_mul(2);
        }
        for part in [&*self, other] {
            part.spread_over(&mut sum);
        }
        *self = sum;
    }

    /// When the last window ended, from the beginning of the run.
    #[must_use]
    pub fn end(&self) -> Nanos {
        Nanos(u64::try_from(self.end_ns()).unwrap_or(u64::MAX))
    }

    /// The I/Os from `begin` to `end`. A window that is only partly inside counts in proportion.
    ///
    /// ```
    /// use fiord_stat::timeline::IopsTimeline;
    /// use fiord_types::Nanos;
    ///
    /// let line = IopsTimeline { begin: Nanos(100), window: Nanos(10), ios: vec![40, 60, 80] };
    /// assert_eq!(line.ios_between(Nanos(105), Nanos(122)), 20.0 + 60.0 + 16.0);
    /// assert_eq!(line.ios_between(Nanos(0), Nanos(1000)), 180.0);
    /// ```
    #[must_use]
    pub fn ios_between(&self, begin: Nanos, end: Nanos) -> f64 {
        let mut sum = 0.0;
        let mut from = self.begin;
        for &ios in &self.ios {
            let to = from.saturating_add(self.window);
            let inside = to.min(end).saturating_sub(from.max(begin));
            // Whole windows count exactly.
            sum += match inside == self.window {
                true => ios as f64,
                false => ios as f64 * inside.as_f64() / self.window.as_f64(),
            };
            from = to;
        }
        sum
    }

    /// When the last window ended, ns since the run began.
    fn end_ns(&self) -> u128 {
        u128::from(self.begin.0) + self.ios.len() as u128 * u128::from(self.window.0)
    }

    /// Adds the I/Os to `sum`, which begins no later and whose windows are at least as long.
    fn spread_over(&self, sum: &mut IopsTimeline) {
        let long = u128::from(sum.window.0);
        let short = u128::from(self.window.0.max(1));
        let offset = u128::from(self.begin.0 - sum.begin.0);
        for (n, &ios) in self.ios.iter().enumerate() {
            let from = offset + n as u128 * short;
            // A window that is not longer crosses at most one boundary.
            let boundary = (from / long + 1) * long;
            let before = u128::from(ios) * (boundary - from).min(short) / short;
            // `merge` bounds the number of windows.
            let at = (from / long) as usize;
            sum.add(at, before as u64);
            sum.add(at + 1, ios - before as u64);
        }
    }

    fn add(&mut self, at: usize, ios: u64) {
        if ios == 0 && at >= self.ios.len() {
            return;
        }
        if self.ios.len() <= at {
            self.ios.resize(at + 1, 0);
        }
        self.ios[at] = self.ios[at].saturating_add(ios);
    }
}

/// The serialized form of an [`IopsTimeline`].
#[derive(Serialize, Deserialize)]
struct Stored {
    #[serde(default)]
    begin_ns: Nanos,
    window_ns: Nanos,
    ios: String,
}

impl From<IopsTimeline> for Stored {
    fn from(timeline: IopsTimeline) -> Stored {
        let ios = block::series_to_text(timeline.ios.into_iter());
        Stored { begin_ns: timeline.begin, window_ns: timeline.window, ios }
    }
}

impl TryFrom<Stored> for IopsTimeline {
    type Error = BlockError;
    fn try_from(stored: Stored) -> Result<IopsTimeline, BlockError> {
        let Stored { begin_ns: begin, window_ns: window, ios } = stored;
        Ok(IopsTimeline { begin, window, ios: block::series_from_text(&ios, MOST)? })
    }
}

/// Builds an [`IopsTimeline`] from totals that are sampled at irregular times.
#[derive(Debug, Clone)]
pub struct TimelineRecorder {
    timeline: IopsTimeline,
    began: Nanos,
    counted: u64,
}

impl TimelineRecorder {
    /// Starts with windows of length `window` at `began`.
    #[must_use]
    pub fn new(window: Nanos, began: Nanos) -> Self {
        let timeline = IopsTimeline { window: window.max(Nanos(1)), ..IopsTimeline::default() };
        TimelineRecorder { timeline, began, counted: 0 }
    }

    /// Takes the total number of I/Os at `now`. I/Os since the last sample count for the window that has just
    /// ended; if several windows have ended, they share them.
    pub fn sample(&mut self, now: Nanos, total: u64) {
        let mut left = total.saturating_sub(self.counted);
        loop {
            // Recompute for each window, because `push` may have doubled the window length.
            let elapsed = now.saturating_sub(self.began) / self.timeline.window;
            let passed = elapsed.saturating_sub(self.timeline.ios.len() as u64);
            if passed == 0 {
                break;
            }
            self.push(left / passed);
            left -= left / passed;
            self.counted = total - left;
        }
    }

    fn push(&mut self, ios: u64) {
        self.timeline.ios.push(ios);
        if self.timeline.ios.len() >= MOST {
            let pairs = self.timeline.ios.chunks_exact(2).map(|pair| pair[0] + pair[1]);
            self.timeline.ios = pairs.collect();
            self.timeline.window = self.timeline.window.saturating_mul(2);
        }
    }

    /// The timeline so far.
    #[must_use]
    pub fn timeline(&self) -> &IopsTimeline {
        &self.timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_equal_and_their_number_is_bounded() {
        let mut maker = TimelineRecorder::new(Nanos(100), Nanos(1000));
        maker.sample(Nanos(1099), 5);
        assert!(maker.timeline().ios.is_empty());
        maker.sample(Nanos(1100), 10);
        maker.sample(Nanos(1300), 30);
        assert_eq!(maker.timeline().ios, [10, 10, 10]);
        for i in 4..=200u64 {
            maker.sample(Nanos(1000 + i * 100), i * 10);
        }
        let timeline = maker.timeline();
        assert!(timeline.ios.len() < MOST && timeline.window == Nanos(400), "{timeline:?}");
        assert!(timeline.ios.iter().all(|ios| *ios == 40), "{timeline:?}");
    }

    #[test]
    fn a_sample_after_a_long_sleep_keeps_windows_equal() {
        let mut maker = TimelineRecorder::new(Nanos(100), Nanos(0));
        maker.sample(Nanos::from_secs(1), 1_000_000);
        let timeline = maker.timeline();
        let covered = timeline.ios.len() as u64 * timeline.window.0;
        assert!(timeline.ios.len() < MOST && covered <= 1_000_000_000, "{timeline:?}");
        assert_eq!(timeline.ios.iter().sum::<u64>(), 1_000_000);
    }
}
