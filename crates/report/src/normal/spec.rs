//! Compares results with the data sheet (`spec=`).

use std::io::{self, Write};

use fiord_stat::report::SpecReport;

/// Writes the block, or nothing without `spec=`.
pub(super) fn write(specs: &[SpecReport], out: &mut dyn Write) -> io::Result<()> {
    if specs.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nCompared with the specification:")?;
    for spec in specs {
        writeln!(
            out,
            "  {} on {}: {} of {}: {:.1}%",
            spec.pattern,
            spec.target,
            figure(spec.achieved, spec.bytes),
            figure(spec.stated, spec.bytes),
            spec.percent
        )?;
    }
    Ok(())
}

/// Formats a value as in data sheets: `780.0k IOPS`, `7000 MB/s`.
fn figure(value: f64, bytes: bool) -> String {
    match (bytes, value) {
        (true, value) => format!("{:.0} MB/s", value / 1e6),
        (false, value) if value >= 1e6 => format!("{:.2}M IOPS", value / 1e6),
        (false, value) if value >= 1e4 => format!("{:.1}k IOPS", value / 1e3),
        (false, value) => format!("{value:.0} IOPS"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_each() {
        let spec = |stated, achieved, bytes| SpecReport {
            pattern: "randread".into(),
            target: "/dev/nvme0n1".into(),
            stated,
            achieved,
            percent: achieved * 100.0 / stated,
            bytes,
        };
        let mut out = Vec::new();
        write(&[spec(780e3, 702e3, false), spec(7e9, 6.3e9, true)], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nCompared with the specification:\n  randread on /dev/nvme0n1: 702.0k IOPS of 780.0k IOPS: \
             90.0%\n  randread on /dev/nvme0n1: 6300 MB/s of 7000 MB/s: 90.0%\n"
        );
    }
}
