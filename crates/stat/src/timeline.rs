//! The IOPS timeline of a job: its I/Os in equal windows of time, with a bounded number of windows.

use serde::{Deserialize, Serialize};

/// At this number of windows, each two are merged into one.
const MOST: usize = 64;

/// I/Os over equal windows of time, from the beginning of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IopsTimeline {
    /// Length of a window, ns.
    pub window_ns: u64,
    /// I/Os completed in each window.
    pub ios: Vec<u64>,
}

/// Builds an [`IopsTimeline`] from totals that are sampled at irregular times.
#[derive(Debug, Clone)]
pub struct TimelineRecorder {
    timeline: IopsTimeline,
    began_ns: u64,
    counted: u64,
}

impl TimelineRecorder {
    /// Starts with windows of `window_ns` at `began_ns`.
    pub fn new(window_ns: u64, began_ns: u64) -> Self {
        let timeline = IopsTimeline { window_ns: window_ns.max(1), ios: Vec::new() };
        TimelineRecorder { timeline, began_ns, counted: 0 }
    }

    /// Takes the total number of I/Os at `now_ns`. I/Os since the last sample count for the window that has just
    /// ended; if several windows have ended, they share them.
    pub fn sample(&mut self, now_ns: u64, total: u64) {
        let mut left = total.saturating_sub(self.counted);
        loop {
            // Recompute for each window, because `push` may have doubled the window length.
            let elapsed = now_ns.saturating_sub(self.began_ns) / self.timeline.window_ns;
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
            self.timeline.window_ns *= 2;
        }
    }

    /// The timeline so far.
    pub fn timeline(&self) -> &IopsTimeline {
        &self.timeline
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_equal_and_their_number_is_bounded() {
        let mut maker = TimelineRecorder::new(100, 1000);
        maker.sample(1099, 5);
        assert!(maker.timeline().ios.is_empty());
        maker.sample(1100, 10);
        maker.sample(1300, 30);
        assert_eq!(maker.timeline().ios, [10, 10, 10]);
        for i in 4..=200u64 {
            maker.sample(1000 + i * 100, i * 10);
        }
        let timeline = maker.timeline();
        assert!(timeline.ios.len() < MOST && timeline.window_ns == 400, "{timeline:?}");
        assert!(timeline.ios.iter().all(|ios| *ios == 40), "{timeline:?}");
    }

    #[test]
    fn a_sample_after_a_long_sleep_keeps_windows_equal() {
        let mut maker = TimelineRecorder::new(100, 0);
        maker.sample(1_000_000_000, 1_000_000);
        let timeline = maker.timeline();
        let covered = timeline.ios.len() as u64 * timeline.window_ns;
        assert!(timeline.ios.len() < MOST && covered <= 1_000_000_000, "{timeline:?}");
        assert_eq!(timeline.ios.iter().sum::<u64>(), 1_000_000);
    }
}
