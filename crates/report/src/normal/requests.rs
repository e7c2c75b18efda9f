//! The requests of a job to servers.

use std::io::{self, Write};

use fiord_stat::engine::{AnswerTimes, RequestCount, RequestSummary};
use fiord_types::Nanos;

pub(super) fn write(summary: &RequestSummary, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "  fiord: {} requests", summary.get(RequestCount::Sent))?;
    for (what, text) in [
        (RequestCount::Reconnects, "connections made again"),
        (RequestCount::Throttled, "answers to slow down"),
        (RequestCount::Retries, "retries"),
        (RequestCount::Listed, "names listed"),
        (RequestCount::Handshakes, "TLS handshakes"),
        (RequestCount::AbortedUploads, "uploads aborted"),
        (RequestCount::Unanswered, "without an answer"),
    ] {
        if summary.get(what) > 0 {
            write!(out, "; {} {text}", summary.get(what))?;
        }
    }
    if let Some(found) = summary.first_byte {
        write!(out, "; first byte (usec): ")?;
        times(found, out)?;
    }
    if let Some(found) = summary.parts {
        write!(out, "; {} parts (usec): ", found.answers.0)?;
        times(found, out)?;
    }
    writeln!(out)
}

fn times(times: AnswerTimes, out: &mut dyn Write) -> io::Result<()> {
    let micros = |time: Nanos| format!("{:.1}", time.0 as f64 / 1000.0);
    write!(
        out,
        "min={}, avg={}, p50={}, p99={}, p99.9={}, max={}",
        micros(times.min),
        micros(times.mean),
        micros(times.p50),
        micros(times.p99),
        micros(times.p999),
        micros(times.max)
    )
}
