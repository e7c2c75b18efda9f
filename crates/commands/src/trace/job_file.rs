//! The text of the job file that approximates a trace.

use std::fmt::Write as _;
use std::path::Path;

use fiord_formats::trace::{TraceName, TraceTarget};

use super::approximate::Approximation;
use super::summary::TraceSummary;
use crate::amount;

/// The path in a job for a target of a trace: a file in the current directory.
///
/// The path in the trace, or the number of its device, can name other data on this machine, which a job that writes would
/// destroy.
pub(super) fn path(name: &TraceName) -> String {
    format!("{}.data", plain(name.to_string().trim_start_matches('/')))
}

/// The name of the job for a target of a trace.
pub(super) fn job_name(name: &TraceName, target: TraceTarget) -> String {
    format!("{}-{}", target.index(), plain(&name.to_string()))
}

/// Letters and digits that every file system and job file accepts.
fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

pub(super) fn text(trace: &Path, summary: &TraceSummary, jobs: &[Approximation]) -> String {
    let profile = &summary.profile;
    let mut out = String::new();
    let one_line = trace.display().to_string().replace(['\n', '\r'], "?");
    let _ = writeln!(
        out,
        "; Approximates the trace {one_line} ({}, {} I/Os in {}).",
        summary.format,
        profile.all_ios(),
        amount::latency(profile.length().0 as f64),
    );
    out.push_str(
        "; Each job lays out a file of its own. To use a device, change its filename: writes destroy the data there.\n\
         [global]\nioengine=io_uring\n",
    );
    for Approximation { job, differences } in jobs {
        out.push('\n');
        for difference in differences {
            let _ = writeln!(out, "; {}: differs by {:.1} %", difference.what, difference.percent);
        }
        out.push_str(&job.text());
    }
    out
}
