//! How numbers are written on the page: three figures and a unit.

use fiord_stat::units::{self, Scaled, Units};

/// What a number counts, and in which base unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A latency, ns.
    Latency,
    /// Bytes per second.
    ByteRate,
    /// Operations per second.
    OpRate,
    /// Bytes.
    Size,
    /// Time since the run began, seconds.
    Clock,
    /// A share, per cent.
    Percent,
    /// A number of things.
    Count,
}

impl Quantity {
    /// The word for the script of the page, which formats the numbers under the pointer.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Quantity::Latency => "latency",
            Quantity::ByteRate => "byterate",
            Quantity::OpRate => "oprate",
            Quantity::Size => "size",
            Quantity::Clock => "clock",
            Quantity::Percent => "percent",
            Quantity::Count => "count",
        }
    }

    /// Formats a value with three figures.
    #[must_use]
    pub fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".into();
        }
        match self {
            Quantity::Latency => figures(units::TIME, value, true),
            Quantity::ByteRate => figures(units::BINARY_RATE, value, true),
            Quantity::Size => figures(units::BINARY, value, true),
            Quantity::OpRate | Quantity::Count => figures(units::COUNT, value, false),
            Quantity::Clock => clock(value),
            Quantity::Percent => percent(value),
        }
    }

    /// Formats a value for an axis: without trailing zeros.
    #[must_use]
    pub fn tick(self, value: f64) -> String {
        let text = self.text(value);
        let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        match number.contains('.') {
            true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
            false => text,
        }
    }

    /// The factor between two units of the quantity.
    #[must_use]
    pub fn base(self) -> f64 {
        match self {
            Quantity::ByteRate | Quantity::Size => 1024.0,
            _ => 1000.0,
        }
    }
}

fn figures(units: Units, value: f64, space: bool) -> String {
    let Scaled { value, unit, index } = units.of_rounded(value);
    let decimals = match value {
        _ if index == 0 && value.fract() == 0.0 => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    let unit = if unit == "us" { "µs" } else { unit };
    let gap = if space && !unit.is_empty() { "\u{202f}" } else { "" };
    format!("{value:.decimals$}{gap}{unit}")
}

fn percent(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 || v == 0.0 => 0,
        v if v >= 1.0 => 1,
        v if v >= 0.1 => 2,
        _ => 3,
    };
    format!("{value:.decimals$}\u{202f}%")
}

/// Formats a time in the largest unit in which it is a small number.
fn clock(seconds: f64) -> String {
    let (value, unit) = match seconds.abs() {
        0.0 => (0.0, "s"),
        s if s < 0.9995 => (seconds * 1e3, "ms"),
        s if s < 120.0 => (seconds, "s"),
        s if s < 7200.0 => (seconds / 60.0, "min"),
        s if s < 172_800.0 => (seconds / 3600.0, "h"),
        _ => (seconds / 86_400.0, "d"),
    };
    let decimals = match value {
        v if v.fract() == 0.0 || v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}\u{202f}{unit}")
}

#[cfg(test)]
mod tests {
    use super::Quantity::*;

    #[test]
    fn three_figures_and_a_unit() {
        let plain = |text: String| text.replace('\u{202f}', " ");
        assert_eq!(plain(Latency.text(81_920.0)), "81.9 µs");
        assert_eq!(plain(Latency.text(999_900.0)), "1.00 ms");
        assert_eq!(plain(ByteRate.text(168.0 * 1024.0 * 1024.0)), "168 MiB/s");
        assert_eq!(plain(OpRate.text(42_900.0)), "42.9k");
        assert_eq!(plain(OpRate.text(7.0)), "7");
        assert_eq!(plain(Clock.text(90.0)), "90 s");
        assert_eq!(plain(Clock.text(5400.0)), "90 min");
        assert_eq!(plain(Clock.text(0.25)), "250 ms");
        assert_eq!(plain(Percent.text(12.34)), "12.3 %");
        assert_eq!(plain(Latency.tick(200_000.0)), "200 µs");
        assert_eq!(plain(Latency.tick(1_500_000.0)), "1.5 ms");
        assert_eq!(Latency.text(f64::NAN), "–");
    }
}
