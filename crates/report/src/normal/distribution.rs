//! Latency buckets, I/O depths and issued I/Os.

use std::io::{self, Write};

use fiord_stat::report::JobReport;

use crate::names::{BATCHES, DEPTHS, LATENCIES, MSEC};

/// Writes the latency buckets that are not empty, five per line.
pub(super) fn latencies(job: &JobReport, out: &mut dyn Write) -> io::Result<()> {
    let msec = job.latency_ms.iter();
    bucket_lines("nsec", LATENCIES.iter().zip(&job.latency_ns), out)?;
    bucket_lines("usec", LATENCIES.iter().zip(&job.latency_us), out)?;
    bucket_lines("msec", MSEC.iter().zip(msec), out)
}

fn bucket_lines<'a>(
    unit: &str,
    buckets: impl Iterator<Item = (&'a &'a str, &'a f64)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let filled: Vec<String> =
        buckets.filter(|(_, share)| **share > 0.0).map(|(b, s)| format!("{b}={s:.2}%")).collect();
    for row in filled.chunks(5) {
        writeln!(out, "  lat ({unit})   : {}", row.join(", "))?;
    }
    Ok(())
}

/// Writes the lines about depths and issued I/Os.
pub(super) fn depths(job: &JobReport, out: &mut dyn Write) -> io::Result<()> {
    let list = |names: &[&str], shares: &[f64]| -> String {
        let entries = names.iter().zip(shares).map(|(n, s)| format!("{n}={s:.1}%"));
        entries.collect::<Vec<_>>().join(", ")
    };
    writeln!(out, "  IO depths    : {}", list(&DEPTHS, &job.depth_level))?;
    writeln!(out, "     submit    : {}", list(&BATCHES, &job.depth_submit))?;
    writeln!(out, "     complete  : {}", list(&BATCHES, &job.depth_complete))?;
    let four = |n: &[u64; 4]| format!("{},{},{},{}", n[0], n[1], n[2], n[3]);
    writeln!(
        out,
        "     issued rwts: total={} short={} dropped={}",
        four(&job.issued),
        four(&job.short),
        four(&job.dropped)
    )
}
