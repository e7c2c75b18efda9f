//! Formats bytes, rates and times, and parses sizes.

use fiord_job::number;
use fiord_job::option::value::{Bases, ValueError};
use fiord_stat::units::{self, BINARY, DECIMAL, Scaled, Units};
use fiord_types::{Bytes, Nanos};

/// Formats `bytes` as a whole number in the largest possible binary unit: for configured sizes.
#[must_use]
pub fn exact(bytes: Bytes) -> String {
    let unit = if bytes.0 == 0 { 0 } else { (bytes.0.trailing_zeros() / 10) as usize };
    format!("{} {}", bytes.0 >> (10 * unit), BINARY.name(unit))
}

/// Formats `bytes` with two decimals in the largest binary unit in which the value is at least 1:
/// for sums.
#[must_use]
pub fn rounded(bytes: Bytes) -> String {
    let scaled = BINARY.of(bytes.0 as f64);
    scaled.text(if bytes.0.is_multiple_of(1 << (10 * scaled.index)) { 0 } else { 2 })
}

/// Formats bytes with a binary unit and three digits: `128 KiB`.
#[must_use]
pub fn binary(bytes: Bytes) -> String {
    three_digits(BINARY.of_rounded(bytes.0 as f64))
}

/// Formats bytes with a decimal unit and three digits, as in data sheets: `1.92 TB`.
#[must_use]
pub fn decimal(bytes: u128) -> String {
    three_digits(DECIMAL.of_rounded(bytes as f64))
}

/// Formats bytes with a decimal unit and at most one decimal: `3.1 MB`.
#[must_use]
pub fn decimal_short(bytes: Bytes) -> String {
    let scaled = DECIMAL.of_rounded(bytes.0 as f64);
    scaled.text(usize::from(scaled.index > 0 && scaled.value < 99.95))
}

fn three_digits(scaled: Scaled) -> String {
    scaled.text(match scaled.value {
        v if scaled.index == 0 || scaled.is_whole() || v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    })
}

/// Formats a value with four digits and a unit.
#[must_use]
pub fn scaled(value: f64, units: Units) -> String {
    let scaled = units.of(value);
    scaled.joined(match scaled.value {
        v if scaled.index == 0 && scaled.is_whole() || v >= 1000.0 => 0,
        v if v >= 100.0 => 1,
        _ => 2,
    })
}

/// Formats a latency in nanoseconds with four digits and a unit: `101.5us`.
#[must_use]
pub fn latency(ns: f64) -> String {
    scaled(ns, units::TIME)
}

/// Formats a duration, rounded up to seconds: `90 s`, `12:30 min`, `2:05 h`.
#[must_use]
pub fn clock(time: Nanos) -> String {
    let s = time.0.div_ceil(1_000_000_000);
    match s {
        0..=99 => format!("{s} s"),
        100..=5999 => format!("{}:{:02} min", s / 60, s % 60),
        _ => format!("{}:{:02} h", s / 3600, s / 60 % 60),
    }
}

/// Formats a remaining time in seconds: `59 s`, `1 min 01 s`, `2 h 01 min`.
#[must_use]
pub fn remaining(seconds: u64) -> String {
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (h, m) {
        (0, 0) => format!("{s} s"),
        (0, m) => format!("{m} min {s:02} s"),
        (h, m) => format!("{h} h {m:02} min"),
    }
}

/// Parses a size such as `64k` into bytes, as in job files.
///
/// # Errors
/// The text is not a size.
pub fn parse(text: &str) -> Result<u64, ValueError> {
    number::bytes(text, &Bases::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_sizes() {
        assert_eq!(exact(Bytes::ZERO), "0 B");
        assert_eq!(exact(Bytes(512)), "512 B");
        assert_eq!(exact(Bytes(96 << 20)), "96 MiB");
        assert_eq!(exact(Bytes((1 << 30) + 4096)), "1048580 KiB");
        assert_eq!(rounded(Bytes((1 << 30) + (1 << 29))), "1.50 GiB");
        assert_eq!(rounded(Bytes(7 << 20)), "7 MiB");
        assert_eq!((rounded(Bytes::ZERO), rounded(Bytes::MAX)), ("0 B".into(), "16.00 EiB".into()));
        assert_eq!(
            (binary(Bytes(131_072)), binary(Bytes(1_310_720))),
            ("128 KiB".into(), "1.25 MiB".into())
        );
    }

    #[test]
    fn decimal_sizes() {
        assert_eq!(decimal(1_000_204_886_016), "1.00 TB");
        assert_eq!(decimal(15_360_950_534_144), "15.4 TB");
        assert_eq!(decimal(999_999_999_999), "1.00 TB");
        assert_eq!(decimal(0), "0 B");
        assert_eq!(decimal_short(Bytes(3_147_776)), "3.1 MB");
        assert_eq!(
            (decimal_short(Bytes(512)), decimal_short(Bytes(256_000_000))),
            ("512 B".into(), "256 MB".into())
        );
    }

    #[test]
    fn times() {
        let s = 1_000_000_000;
        assert_eq!(
            [s + 1, 100 * s, 7500 * s].map(|ns| clock(Nanos(ns))),
            ["2 s", "1:40 min", "2:05 h"]
        );
        assert_eq!(
            [remaining(59), remaining(61), remaining(7_260)],
            ["59 s", "1 min 01 s", "2 h 01 min"]
        );
        assert_eq!(latency(101_500.0), "101.5us");
    }
}
