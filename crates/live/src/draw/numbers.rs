//! Formats latencies, rates and shares for columns.

use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Nanos};

/// Formats a latency with three digits: `12.3us`.
pub(super) fn latency(time: Nanos) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
    let ns = time.as_f64();
    // Three digits round up to the next unit from 999.5 on.
    let (divisor, unit) = UNITS.into_iter().find(|(d, _)| ns >= d * 0.9995).unwrap_or((1.0, "ns"));
    let value = ns / divisor;
    let decimals = match value {
        _ if unit == "ns" => 0,
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}{unit}")
}

/// Formats bytes per second.
pub(super) fn rate(bytes: f32, style: NumberStyle) -> String {
    fiord_report::style::rate(Bytes(bytes as u64), style)
}

/// Formats a number.
pub(super) fn count(number: f32, style: NumberStyle) -> String {
    fiord_report::style::count(number as u64, style)
}

/// Formats a share of 0 to 1 in percent.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.0}%", share.clamp(0.0, 1.0) * 100.0))
}

/// Formats the time left.
pub(super) fn left(time: Option<Nanos>) -> String {
    time.map_or_else(|| "-".to_owned(), fiord_report::live::time_left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_have_three_digits() {
        let all = [0, 7, 999, 1_000, 1_234, 12_345, 99_960, 123_456, 999_600, 1_000_000];
        let texts =
            ["0ns", "7ns", "999ns", "1.00us", "1.23us", "12.3us", "100us", "123us", "1.00ms"];
        for (ns, text) in all.into_iter().zip(texts) {
            assert_eq!(latency(Nanos(ns)), text);
        }
        assert_eq!(latency(Nanos::from_secs(1234)), "1234s");
    }
}
