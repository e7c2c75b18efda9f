//! How a job went: its I/Os over equal windows of time, in a bounded number of them.

use serde::{Deserialize, Serialize};

/// As many windows as are kept; then two become one.
const MOST: usize = 64;

/// I/Os over equal windows of time, from the beginning of the measured part.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// Length of a window, ns.
    pub window_ns: u64,
    /// I/Os completed in each.
    pub ios: Vec<u64>,
}

/// Makes a [`Course`] of totals that are looked at now and then.
#[derive(Debug, Clone)]
pub struct CourseMaker {
    course: Course,
    began_ns: u64,
    counted: u64,
}

impl CourseMaker {
    /// Windows of `window_ns` at first, from now on.
    pub fn new(window_ns: u64, began_ns: u64) -> Self {
        let course = Course { window_ns: window_ns.max(1), ios: Vec::new() };
        CourseMaker { course, began_ns, counted: 0 }
    }

    /// Takes the total at `now_ns`. What came since the last look counts for the window that has
    /// just ended; windows that passed without a look share it.
    pub fn look(&mut self, now_ns: u64, total: u64) {
        let mut left = total.saturating_sub(self.counted);
        loop {
            // Windows may just have become longer, so this is reckoned for each.
            let elapsed = now_ns.saturating_sub(self.began_ns) / self.course.window_ns;
            let passed = elapsed.saturating_sub(self.course.ios.len() as u64);
            if passed == 0 {
                break;
            }
            self.push(left / passed);
            left -= left / passed;
            self.counted = total - left;
        }
    }

    fn push(&mut self, ios: u64) {
        self.course.ios.push(ios);
        if self.course.ios.len() >= MOST {
            let pairs = self.course.ios.chunks_exact(2).map(|pair| pair[0] + pair[1]);
            self.course.ios = pairs.collect();
            self.course.window_ns *= 2;
        }
    }

    /// What it came to.
    pub fn course(&self) -> &Course {
        &self.course
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_equal_and_few() {
        let mut maker = CourseMaker::new(100, 1000);
        maker.look(1099, 5);
        assert!(maker.course().ios.is_empty());
        maker.look(1100, 10);
        maker.look(1300, 30);
        assert_eq!(maker.course().ios, [10, 10, 10]);
        for i in 4..=200u64 {
            maker.look(1000 + i * 100, i * 10);
        }
        let course = maker.course();
        assert!(course.ios.len() < MOST && course.window_ns == 400, "{course:?}");
        assert!(course.ios.iter().all(|ios| *ios == 40), "{course:?}");
    }

    #[test]
    fn a_look_after_a_long_sleep_keeps_windows_equal() {
        let mut maker = CourseMaker::new(100, 0);
        maker.look(1_000_000_000, 1_000_000);
        let course = maker.course();
        let covered = course.ios.len() as u64 * course.window_ns;
        assert!(course.ios.len() < MOST && covered <= 1_000_000_000, "{course:?}");
        assert_eq!(course.ios.iter().sum::<u64>(), 1_000_000);
    }
}
