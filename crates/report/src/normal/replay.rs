//! How a job followed the trace that it replayed, after fio's block of the job.

use std::io::{self, Write};

use fiord_stat::replay::{ReplayCount, ReplaySummary};
use fiord_types::Nanos;

/// Writes the lateness, the depths, and what was skipped.
pub(super) fn write(replay: &ReplaySummary, out: &mut dyn Write) -> io::Result<()> {
    let count = |which| replay.counts.get(which);
    let all = count(ReplayCount::Issued);
    if let Some(lateness) = &replay.lateness {
        let late = |percent| micros(replay.percentile(percent).unwrap_or(Nanos::ZERO));
        writeln!(
            out,
            "  fiord: replay: {all} I/Os in {:.3} s, recorded in {:.3} s; late by (usec): 50%={}, 99%={}, 99.9%={}, \
             max={}",
            replay.took.as_secs_f64(),
            replay.recorded.as_secs_f64(),
            late(50.0),
            late(99.0),
            late(99.9),
            micros(lateness.max)
        )?;
    } else {
        writeln!(
            out,
            "  fiord: replay: {all} I/Os in {:.3} s, recorded in {:.3} s; recorded times were ignored",
            replay.took.as_secs_f64(),
            replay.recorded.as_secs_f64()
        )?;
    }
    write!(out, "  fiord: replay: most I/Os in flight: {}", count(ReplayCount::Depth))?;
    if let Some(depth) = replay.trace_depth {
        write!(out, ", in the trace: {depth}")?;
    }
    for (which, what) in [
        (ReplayCount::Blocked, "waited for a free slot"),
        (ReplayCount::Skipped, "skipped"),
        (ReplayCount::Invalid, "invalid lines skipped"),
        (ReplayCount::Backwards, "timestamps went backwards"),
    ] {
        if count(which) > 0 {
            write!(out, "; {} {what}", count(which))?;
        }
    }
    writeln!(out)?;
    match &replay.first_invalid {
        Some(line) => writeln!(out, "    first invalid line: {line}"),
        None => Ok(()),
    }
}

fn micros(time: Nanos) -> String {
    format!("{:.1}", time.0 as f64 / 1000.0)
}
