//! Formats numbers for the sentences of findings.

use fiord_stat::units::{self, Scaled};
use fiord_types::Bytes;

/// Formats a number of bytes: `4.0 KiB`, `1.5 GiB`. Exact below 1 KiB.
pub(crate) fn bytes(amount: Bytes) -> String {
    text(units::BINARY.of(amount.as_f64()))
}

/// Formats a count: `950`, `12.3k`, `4.0M`.
pub(crate) fn count(n: f64) -> String {
    let scaled = units::COUNT.of(n);
    scaled.joined(decimals(scaled))
}

/// Formats a time in nanoseconds: `800 ns`, `4.7 us`, `1.2 s`.
pub(crate) fn time(ns: f64) -> String {
    text(units::TIME.of(ns))
}

/// Formats a share (1.0 is all) in per cent: `0.4 %`, `37 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

fn text(scaled: Scaled) -> String {
    scaled.text(decimals(scaled))
}

/// Returns the number of decimals: one, except for whole numbers that are large or have no unit
/// prefix.
fn decimals(scaled: Scaled) -> usize {
    usize::from(!(scaled.is_whole() && (scaled.index == 0 || scaled.value >= 10.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(bytes(Bytes(512)), "512 B");
        assert_eq!(bytes(Bytes(4096)), "4.0 KiB");
        assert_eq!(bytes(Bytes(3 << 29)), "1.5 GiB");
        assert_eq!(bytes(Bytes::from_mib(64)), "64 MiB");
        assert_eq!(count(950.0), "950");
        assert_eq!(count(12_345.0), "12.3k");
        assert_eq!(time(4_700.0), "4.7 us");
        assert_eq!(time(950e6), "950 ms");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(0.37), "37 %");
    }
}
