//! Formats numbers of bytes with binary units.

use fiord_stat::units::BINARY;

/// Formats `bytes` as a whole number in the largest possible unit: for configured sizes.
pub fn exact(bytes: u64) -> String {
    let unit = if bytes == 0 { 0 } else { (bytes.trailing_zeros() / 10) as usize };
    format!("{} {}", bytes >> (10 * unit), BINARY.name(unit))
}

/// Formats `bytes` with two decimals in the largest unit in which the value is at least 1: for
/// sums.
pub fn rounded(bytes: u64) -> String {
    let scaled = BINARY.of(bytes as f64);
    scaled.text(if bytes.is_multiple_of(1 << (10 * scaled.index)) { 0 } else { 2 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units() {
        assert_eq!(exact(0), "0 B");
        assert_eq!(exact(512), "512 B");
        assert_eq!(exact(96 << 20), "96 MiB");
        assert_eq!(exact((1 << 30) + 4096), "1048580 KiB");
        assert_eq!(rounded((1 << 30) + (1 << 29)), "1.50 GiB");
        assert_eq!(rounded(7 << 20), "7 MiB");
        assert_eq!((rounded(0), rounded(u64::MAX)), ("0 B".into(), "16.00 EiB".into()));
    }
}
