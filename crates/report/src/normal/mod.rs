//! The report as text for people.

mod block_errors;
mod device;
mod distribution;
mod faults;
pub(crate) mod findings;
mod flash;
mod generator;
mod idleness;
mod job;
mod latency;
mod replay;
mod requests;
mod slices;
mod spec;
mod status;
mod verify;

use std::io::{self, Write};

use fiord_stat::report::{Report, RunStop};
use fiord_stat::wrap::wrapped;

use crate::plainly::plainly;

pub use idleness::unit_work;

/// Maximum number of reasons in the text why jobs did not run to their end.
const MAX_STOPS: usize = 5;

/// Writes the whole report: every job, the run status groups, the disks. The report begins with the
/// tables of slices, then an empty line, as in each of fio's status reports.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn normal(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    normal_within(report, None, out)
}

/// Like [`normal`], for a terminal with `columns` columns: lines that fio does not have are wrapped.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub(crate) fn normal_within(
    report: &Report,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    plainly(out, |out| {
        slices::write(&report.extras.slices, out)?;
        writeln!(out)?;
        results(report, columns, out)?;
        findings::write(&report.extras.findings, &report.extras.unchecked, columns, out)
    })
}

/// Writes the results of one host of many: all but its findings. As in fio, the name of the host is before the empty line
/// with which its results begin.
pub(crate) fn of_host(
    name: &str,
    report: &Report,
    columns: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    slices::write(&report.extras.slices, out)?;
    writeln!(out, "<{name}> ")?;
    results(report, columns, out)
}

/// Writes the entry of all hosts together.
pub(crate) fn all_clients(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let date = crate::date::words(report.written.as_secs(), report.utc_offset_s);
    report.jobs.iter().try_for_each(|job| job::write(job, &date, job::BlockKind::AllClients, out))
}

/// Writes what ended the run or a job before its end.
fn stops(stops: &[RunStop], columns: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    if !stops.is_empty() {
        writeln!(out)?;
    }
    for stop in stops.iter().take(MAX_STOPS) {
        let line = format!("Stopped: {}", stop.sentence());
        writeln!(out, "{}", wrapped(&line, columns, 2))?;
    }
    match stops.len().saturating_sub(MAX_STOPS) {
        0 => Ok(()),
        more => writeln!(out, "Stopped: and {more} more jobs (JSON output lists them)"),
    }
}

fn results(report: &Report, columns: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let date = crate::date::words(report.written.as_secs(), report.utc_offset_s);
    for job in &report.jobs {
        job::write(job, &date, job::BlockKind::Job, out)?;
    }
    for group in &report.groups {
        status::group(group, out)?;
    }
    status::cores(&report.extras.per_core, out)?;
    status::disks(&report.disks, out)?;
    idleness::write(report.extras.idleness.as_ref(), out)?;
    device::write(&report.extras.devices, out)?;
    spec::write(&report.extras.spec, out)?;
    generator::write(&report.extras, out)?;
    stops(&report.extras.stops, columns, out)
}
