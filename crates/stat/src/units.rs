//! Scales numbers to readable units: `1.50 GiB`, `355.6KiB`, `12.3k`.
//!
//! The caller chooses the number of decimals. fio's output has its own rules, which are in the report crate.

/// A series of units with a constant ratio between neighbours.
#[derive(Debug, Clone, Copy)]
pub struct Units {
    step: f64,
    names: &'static [&'static str],
}

/// Bytes in powers of 1024.
pub const BINARY: Units =
    Units { step: 1024.0, names: &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] };
/// Bytes in powers of 1000, as drive manufacturers count them.
pub const DECIMAL: Units =
    Units { step: 1000.0, names: &["B", "kB", "MB", "GB", "TB", "PB", "EB"] };
/// Bytes per second in powers of 1024.
pub const BINARY_RATE: Units =
    Units { step: 1024.0, names: &["B/s", "KiB/s", "MiB/s", "GiB/s", "TiB/s"] };
/// Counts in powers of 1000.
pub const COUNT: Units = Units { step: 1000.0, names: &["", "k", "M", "G", "T"] };
/// Times; the value is in nanoseconds.
pub const TIME: Units = Units { step: 1000.0, names: &["ns", "us", "ms", "s"] };

/// A number in one of its units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scaled {
    /// The number in the unit `unit`.
    pub value: f64,
    /// Index of the unit: 0 is the smallest.
    pub index: usize,
    pub unit: &'static str,
}

impl Units {
    /// Scales a number to the largest unit in which it is at least 1.
    #[must_use]
    pub fn of(self, value: f64) -> Scaled {
        self.below(value, self.step)
    }

    /// Scales a number to the largest unit in which it is at least 1 when rounded to a whole number, so that
    /// 999.5 is not printed as 1000.
    #[must_use]
    pub fn of_rounded(self, value: f64) -> Scaled {
        self.below(value, self.step - 0.5)
    }

    /// The name of a unit: 0 is the smallest.
    #[must_use]
    pub fn name(self, index: usize) -> &'static str {
        self.names[index.min(self.names.len() - 1)]
    }

    fn below(self, mut value: f64, limit: f64) -> Scaled {
        let mut index = 0;
        while value >= limit && index + 1 < self.names.len() {
            value /= self.step;
            index += 1;
        }
        Scaled { value, index, unit: self.names[index] }
    }
}

impl Scaled {
    /// Whether the value is a whole number.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.value.fract() == 0.0
    }

    /// Formats the value with this many decimals and a space before the unit.
    #[must_use]
    pub fn text(&self, decimals: usize) -> String {
        format!("{:.decimals$} {}", self.value, self.unit)
    }

    /// Formats the value with this many decimals and no space before the unit.
    #[must_use]
    pub fn joined(&self, decimals: usize) -> String {
        format!("{:.decimals$}{}", self.value, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_scaled_to_the_largest_unit_that_it_fills() {
        assert_eq!(BINARY.of(0.0), Scaled { value: 0.0, index: 0, unit: "B" });
        assert_eq!(BINARY.of(1023.0).text(0), "1023 B");
        assert_eq!(BINARY.of(1024.0).text(1), "1.0 KiB");
        assert_eq!(DECIMAL.of(1.5e9).joined(2), "1.50GB");
        assert_eq!(BINARY.of(u64::MAX as f64).text(2), "16.00 EiB");
        assert_eq!(TIME.of(9e15).text(0), "9000000 s");
        assert_eq!(
            (DECIMAL.of(999.6).text(0), DECIMAL.of_rounded(999.6).text(2)),
            ("1000 B".into(), "1.00 kB".into())
        );
        assert!(BINARY.of(4096.0).is_whole() && !BINARY.of(5000.0).is_whole());
    }
}
