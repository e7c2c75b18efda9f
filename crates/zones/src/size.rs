//! Bytes with a binary unit.

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// In the largest unit in which it is a whole number: for sizes that somebody chose.
pub fn exact(bytes: u64) -> String {
    let unit = if bytes == 0 { 0 } else { (bytes.trailing_zeros() / 10) as usize };
    let unit = unit.min(UNITS.len() - 1);
    format!("{} {}", bytes >> (10 * unit), UNITS[unit])
}

/// In the largest unit in which it is at least 1, with two decimals: for sums.
pub fn rounded(bytes: u64) -> String {
    let unit = (bytes.max(1).ilog2() / 10) as usize;
    let whole = 1u64 << (10 * unit);
    if bytes.is_multiple_of(whole) {
        return format!("{} {}", bytes / whole, UNITS[unit]);
    }
    format!("{:.2} {}", bytes as f64 / whole as f64, UNITS[unit])
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
