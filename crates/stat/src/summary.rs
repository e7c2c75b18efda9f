//! Minimum, maximum, mean and deviation from integers only.

use serde::{Deserialize, Serialize};

/// Minimum, maximum, mean and standard deviation of a series of integers. Recording uses integers only; the
/// mean and deviation are computed on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Summary {
    n: u64,
    min: u64,
    /// Largest minus smallest value, so that one comparison detects both a new minimum and a new maximum.
    span: u64,
    sum: u64,
    sum_of_squares: u128,
}

impl Default for Summary {
    fn default() -> Self {
        Self::new()
    }
}

impl Summary {
    /// An empty summary.
    #[must_use]
    pub const fn new() -> Self {
        Summary { n: 0, min: u64::MAX, span: 0, sum: 0, sum_of_squares: 0 }
    }
    #[inline]
    pub fn record(&mut self, value: u64) {
        // For a value below the minimum, the difference wraps around to more than any span.
        if value.wrapping_sub(self.min) > self.span {
            self.widen(value, value);
        }
        self.n += 1;
        self.sum = self.sum.wrapping_add(value);
        self.sum_of_squares =
            self.sum_of_squares.wrapping_add(u128::from(value) * u128::from(value));
    }
    #[cold]
    #[inline(never)]
    fn widen(&mut self, min: u64, max: u64) {
        let (min, max) = match self.min {
            // Nothing recorded yet.
            u64::MAX => (min, max),
            smallest => (smallest.min(min), (smallest + self.span).max(max)),
        };
        self.min = min;
        self.span = max - min;
    }
    /// Records one value `n` times.
    #[inline]
    pub fn record_n(&mut self, value: u64, n: u64) {
        if n == 0 {
            return;
        }
        if value.wrapping_sub(self.min) > self.span {
            self.widen(value, value);
        }
        self.n += n;
        self.sum = self.sum.wrapping_add(value.wrapping_mul(n));
        let square = u128::from(value) * u128::from(value);
        self.sum_of_squares = self.sum_of_squares.wrapping_add(square.wrapping_mul(n.into()));
    }
    /// Adds the values of another summary. The result is exact.
    pub fn merge(&mut self, other: &Summary) {
        if other.n > 0 {
            self.widen(other.min, other.min + other.span);
        }
        self.n = self.n.saturating_add(other.n);
        self.sum = self.sum.wrapping_add(other.sum);
        self.sum_of_squares = self.sum_of_squares.wrapping_add(other.sum_of_squares);
    }
    /// Number of values.
    #[must_use]
    pub fn n(&self) -> u64 {
        self.n
    }
    /// The smallest value; 0 if there is none.
    #[must_use]
    pub fn min(&self) -> u64 {
        if self.n == 0 { 0 } else { self.min }
    }
    /// The largest value; 0 if there is none.
    #[must_use]
    pub fn max(&self) -> u64 {
        if self.n == 0 { 0 } else { self.min + self.span }
    }
    /// The sum of all values, modulo 2^64.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.sum
    }
    /// The mean; 0 without values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.n == 0 { 0.0 } else { self.sum as f64 / self.n as f64 }
    }
    /// The sample standard deviation (divided by n - 1); 0 for fewer than two values.
    #[must_use]
    pub fn stddev(&self) -> f64 {
        if self.n < 2 {
            return 0.0;
        }
        // Compute n·Σx² - (Σx)² in integers if it fits, to avoid cancellation.
        let n = u128::from(self.n);
        let square_of_sum = u128::from(self.sum) * u128::from(self.sum);
        let scaled = match self.sum_of_squares.checked_mul(n) {
            Some(product) => product.saturating_sub(square_of_sum) as f64,
            None => self.sum_of_squares as f64 * n as f64 - square_of_sum as f64,
        };
        (scaled.max(0.0) / n as f64 / (self.n - 1) as f64).sqrt()
    }
}

/// The serialized form of a [`Summary`]. Not every JSON reader has integers of 128 bits, so these are text.
#[derive(Serialize, Deserialize)]
struct Stored {
    n: u64,
    min: u64,
    max: u64,
    sum: u64,
    sum_of_squares: String,
}

impl From<Summary> for Stored {
    fn from(s: Summary) -> Stored {
        let sum_of_squares = s.sum_of_squares.to_string();
        Stored { n: s.n, min: s.min(), max: s.max(), sum: s.sum, sum_of_squares }
    }
}

impl TryFrom<Stored> for Summary {
    type Error = &'static str;
    fn try_from(stored: Stored) -> Result<Summary, &'static str> {
        let Stored { n, min, max, sum, sum_of_squares } = stored;
        if n == 0 {
            return Ok(Summary::new());
        }
        let span = max.checked_sub(min).ok_or("the smallest value is larger than the largest")?;
        let sum_of_squares =
            sum_of_squares.parse().map_err(|_| "the sum of squares is not an integer")?;
        Ok(Summary { n, min, span, sum, sum_of_squares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_sample_deviation() {
        let mut s = Summary::new();
        for v in [2, 4, 4, 4, 5, 5, 7, 9] {
            s.record(v);
        }
        assert_eq!((s.n(), s.min(), s.max(), s.sum()), (8, 2, 9, 40));
        assert_eq!(s.mean(), 5.0);
        assert!((s.stddev() - (32.0f64 / 7.0).sqrt()).abs() < 1e-12);
    }
    #[test]
    fn an_empty_summary_is_zero() {
        let s = Summary::new();
        assert_eq!((s.min(), s.max(), s.mean(), s.stddev()), (0, 0, 0.0, 0.0));
    }
}
