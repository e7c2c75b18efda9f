//! Numbers for people: a few digits and a unit prefix; numbers of errors.

use fiord_types::Errno;

/// The number of an error in every format: 0 without an error.
pub(crate) fn errno(error: Option<Errno>) -> i32 {
    error.map_or(0, Errno::raw)
}

/// How a number is shortened, and its suffix.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NumberShape {
    /// Number of digits to keep.
    pub figures: u32,
    /// 1000, or 1024 (then `Ki` follows instead of `k`).
    pub base: u32,
    /// Suffix after the unit letter.
    pub unit: NumberUnit,
}

/// The counted quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NumberUnit {
    /// A number without a unit.
    None,
    Bytes,
    BytesPerSecond,
    /// Bits per second (the number is in bits).
    BitsPerSecond,
}

impl NumberUnit {
    fn text(self) -> &'static str {
        match self {
            NumberUnit::None => "",
            NumberUnit::Bytes => "B",
            NumberUnit::BytesPerSecond => "B/s",
            NumberUnit::BitsPerSecond => "bit/s",
        }
    }
}

const LETTERS: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
const BINARY_LETTERS: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Formats the number with the smallest unit prefix for which its whole part has at most `figures` digits,
/// and with as many decimals as fit into `figures` characters together with the point.
pub(crate) fn scaled(number: u64, shape: NumberShape) -> String {
    let base = u128::from(shape.base);
    let figures = shape.figures.clamp(1, 20);
    let (mut divisor, mut step) = (1u128, 0);
    let number = u128::from(number);
    while digits(number / divisor) > figures && step + 1 < LETTERS.len() {
        divisor *= base;
        step += 1;
    }
    let letters = if shape.base == 1024 { &BINARY_LETTERS } else { &LETTERS };
    let decimals = match step {
        0 => 0,
        _ => figures.saturating_sub(1 + digits(number / divisor)),
    };
    // Round half up, in integers.
    let tenths = 10u128.pow(decimals);
    let parts = (number * tenths * 2 + divisor) / (divisor * 2);
    let text = match decimals {
        0 => format!("{parts}"),
        _ => format!("{}.{:0w$}", parts / tenths, parts % tenths, w = decimals as usize),
    };
    format!("{text}{}{}", letters[step], shape.unit.text())
}

fn digits(mut number: u128) -> u32 {
    let mut n = 1;
    while number >= 10 {
        number /= 10;
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(number: u64, figures: u32) -> String {
        scaled(number, NumberShape { figures, base: 1024, unit: NumberUnit::Bytes })
    }

    #[test]
    fn four_figures() {
        for (number, text) in [
            (512, "512B"),
            (9999, "9999B"),
            (10000, "9.77KiB"),
            (10239, "10.00KiB"),
            (10240, "10.0KiB"),
            (102399, "100.0KiB"),
            (102400, "100KiB"),
            (1048575, "1024KiB"),
            (1572864, "1536KiB"),
            (10240000, "9.77MiB"),
            (10484736, "10.00MiB"),
            (104857599, "100.0MiB"),
            (134217728, "128MiB"),
        ] {
            assert_eq!(bytes(number, 4), text);
        }
    }
    #[test]
    fn other_figures() {
        assert_eq!(bytes(512, 1), "1KiB");
        assert_eq!(bytes(10240, 1), "0MiB");
        assert_eq!(bytes(1048575, 3), "1.0MiB");
        assert_eq!(bytes(100000, 5), "97.66KiB");
        assert_eq!(bytes(8388608, 6), "8192.0KiB");
        assert_eq!(bytes(134217728, 10), "134217728B");
    }
    #[test]
    fn decimal_units() {
        let shape = NumberShape { figures: 4, base: 1000, unit: NumberUnit::Bytes };
        assert_eq!(scaled(10000, shape), "10.0kB");
        assert_eq!(scaled(9999999, shape), "10000kB");
        let count = |n| scaled(n, NumberShape { figures: 6, base: 1000, unit: NumberUnit::None });
        assert_eq!(count(1_182_400), "1182.4k");
        assert_eq!(count(2_000_000_000), "2000.0M");
        assert_eq!(count(20_000_000_000), "20000M");
        assert_eq!(count(999_999), "999999");
    }
}
