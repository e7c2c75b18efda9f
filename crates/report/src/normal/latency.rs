//! Latency lines and percentile blocks.

use std::io::{self, Write};

use fiord_stat::report::LatencySummary;
use fiord_types::Nanos;

use crate::number::{NumberShape, NumberUnit, scaled};

const UNITS: [&str; 3] = ["nsec", "usec", "msec"];

/// Writes `    clat (nsec): min=…`, or nothing if nothing was recorded.
pub(super) fn line(name: &str, summary: &LatencySummary, out: &mut dyn Write) -> io::Result<()> {
    if summary.n == 0 {
        return Ok(());
    }
    let (mut min, mut max) = (summary.min.0, summary.max.0);
    let (mut mean, mut dev) = (summary.mean, summary.stddev);
    let mut unit = 0;
    // Use a coarser unit only if little precision is lost.
    while unit < 2 && min > 2000 && max > 99_999 && dev > 1000.0 {
        (min, max, mean, dev) = (min / 1000, max / 1000, mean / 1000.0, dev / 1000.0);
        unit += 1;
    }
    let short = |n| scaled(n, NumberShape { figures: 6, base: 1000, unit: NumberUnit::None });
    writeln!(
        out,
        "{name:>8} ({}): min={}, max={}, avg={mean:5.2}, stdev={dev:5.2}",
        UNITS[unit],
        short(min),
        short(max)
    )
}

/// Writes the block of percentiles, or nothing if there are none.
pub(super) fn percentiles(
    name: &str,
    summary: &LatencySummary,
    decimals: u32,
    out: &mut dyn Write,
) -> io::Result<()> {
    let list = &summary.percentiles;
    let (Some(first), Some(last)) = (list.first(), list.last()) else {
        return Ok(());
    };
    let unit = match (first.1.0, last.1.0) {
        (min, max) if min > 2_000_000 && max > 99_999_999 => 2,
        (min, max) if min > 2000 && max > 99_999 => 1,
        _ => 0,
    };
    let value = |time: Nanos| time.0.div_ceil([1, 1000, 1_000_000][unit]);
    let digits = value(last.1).to_string().len().max(5);
    let decimals = decimals as usize;
    // 80 columns minus the margin, divided by the width of an entry.
    let per_line = ((80 - 7) / (decimals + 10 + digits)).max(1);
    writeln!(out, "    {name} percentiles ({}):", UNITS[unit])?;
    for (i, row) in list.chunks(per_line).enumerate() {
        let entries: Vec<String> = row
            .iter()
            .map(|(p, time)| {
                format!("{p:w$.decimals$}th=[{:digits$}]", value(*time), w = decimals + 3)
            })
            .collect();
        let more = if (i + 1) * per_line < list.len() { "," } else { "" };
        writeln!(out, "     | {}{more}", entries.join(", "))?;
    }
    Ok(())
}
