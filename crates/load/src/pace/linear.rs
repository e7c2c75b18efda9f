//! Evenly spaced I/Os. Due times are whole nanoseconds, and the remainder is carried over.

use fiord_plan::Rate;

use super::{MAX_STEP, fraction};

/// Schedule in which each I/O delays the next one by its length divided by the rate. The part of a
/// nanosecond that is left over is kept as a fraction with the rate as its denominator, so the
/// schedule is exact after any number of I/Os.
#[derive(Debug, Clone)]
pub struct Linear {
    rate: Rate,
    due: u64,
    /// Numerator of the fraction of a nanosecond to add to `due`; its denominator is `denominator`.
    rest: u64,
    /// Length that `step` and `step_rest` belong to.
    len: u32,
    step: u64,
    step_rest: u64,
    denominator: u64,
}

impl Linear {
    /// A schedule whose first I/O is due at `begin`.
    #[must_use]
    pub fn new(rate: Rate, begin: u64) -> Self {
        let mut linear =
            Linear { rate, due: begin, rest: 0, len: 0, step: 0, step_rest: 0, denominator: 1 };
        linear.measure(4096);
        linear
    }

    /// Computes the step for I/Os of this length. Needs a division, but only when the length
    /// changes.
    #[inline(never)]
    fn measure(&mut self, len: u32) {
        let (numerator, denominator) = fraction(self.rate, len);
        self.len = len;
        self.denominator = denominator;
        self.step = numerator / denominator;
        self.step_rest = numerator % denominator;
    }

    /// When the next I/O is due, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Nanoseconds from one I/O to the next.
    #[must_use]
    pub fn step(&self) -> u64 {
        self.step
    }

    /// An I/O of `len` bytes was issued.
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
        self.due = self.due.saturating_add(self.step + u64::from(carry)).min(MAX_STEP);
    }

    /// Sets the due time of the next I/O.
    pub fn set(&mut self, due: u64) {
        self.due = due;
    }
}
