//! Evenly spaced I/Os, in whole nanoseconds that carry their remainder.

use fiord_plan::Rate;

use super::{LONGEST, fraction};

/// When the next I/O is due: each one moves it by its length over the rate. What whole nanoseconds
/// leave over is kept as a fraction with the rate as its denominator, so after any number of I/Os
/// the schedule is exact.
#[derive(Debug, Clone)]
pub struct Linear {
    rate: Rate,
    due: u64,
    /// The fraction of a nanosecond that `due` lacks: over `denominator`.
    rest: u64,
    /// The length that `step` and `step_rest` are for.
    len: u32,
    step: u64,
    step_rest: u64,
    denominator: u64,
}

impl Linear {
    /// The first I/O is due at `begin`.
    pub fn new(rate: Rate, begin: u64) -> Self {
        let mut linear =
            Linear { rate, due: begin, rest: 0, len: 0, step: 0, step_rest: 0, denominator: 1 };
        linear.measure(4096);
        linear
    }

    /// Works out what I/Os of this length stand for: a division where the length changes, none
    /// where it does not.
    #[inline(never)]
    fn measure(&mut self, len: u32) {
        let (numerator, denominator) = fraction(self.rate, len);
        self.len = len;
        self.denominator = denominator;
        self.step = numerator / denominator;
        self.step_rest = numerator % denominator;
    }

    /// When the next I/O is due.
    #[inline]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// An I/O of so many bytes was made.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        if len != self.len {
            self.measure(len);
        }
        self.rest += self.step_rest;
        let carry = self.rest >= self.denominator;
        if carry {
            self.rest -= self.denominator;
        }
        self.due = self.due.saturating_add(self.step + u64::from(carry)).min(LONGEST);
    }

    /// The next I/O is due at this time instead.
    pub fn set(&mut self, due: u64) {
        self.due = due;
    }
}
