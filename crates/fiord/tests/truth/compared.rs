//! Counts and compares numbers.

use std::fmt::Display;

/// What a comparison of two numbers allows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rounding {
    /// Six decimals, as JSON and terse output print numbers with a fraction.
    SixDecimals,
    /// The number is printed with fewer digits, rounded or cut: it differs by less than this.
    Digits(f64),
    /// The number differs by at most this share of the expected one.
    Share(f64),
}

/// The comparisons of a job.
#[derive(Debug, Default)]
pub(crate) struct Comparisons {
    pub made: u64,
    pub wrong: Vec<String>,
}

impl Comparisons {
    pub(crate) fn same<T: PartialEq + Display>(&mut self, what: &str, found: T, expected: T) {
        self.made += 1;
        if found != expected {
            self.wrong.push(format!("{what}: {found}, and the record says {expected}"));
        }
    }

    pub(crate) fn close(&mut self, what: &str, found: f64, expected: f64, rounding: Rounding) {
        self.made += 1;
        // Sums of squares of many numbers in binary floating point.
        let arithmetic = expected.abs() * 1e-9;
        let allowed = match rounding {
            Rounding::SixDecimals => 0.51e-6,
            Rounding::Digits(step) => step,
            Rounding::Share(share) => share * expected.abs(),
        };
        let off = (found - expected).abs();
        if off.is_nan() || off > allowed + arithmetic {
            self.wrong.push(format!("{what}: {found}, and the record says {expected}"));
        }
    }

    pub(crate) fn holds(&mut self, what: &str, holds: bool) {
        self.made += 1;
        if !holds {
            self.wrong.push(format!("{what} does not hold"));
        }
    }
}
