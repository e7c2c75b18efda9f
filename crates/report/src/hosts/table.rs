//! The lines about hosts after the jobs: a table by finishing time, how closely they started, and their common rate.

use std::io::{self, Write};

use fiord_stat::hosts::{HostFailure, HostReport, HostsReport, HostsStart, TogetherRate};
use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Nanos};

use crate::style;

/// Maximum number of hosts that refused their jobs and are named.
const MAX_NAMES: usize = 8;

/// Writes the lines, or nothing if there is only one host, which succeeded.
pub(super) fn write(report: &HostsReport, out: &mut dyn Write) -> io::Result<()> {
    if report.refused {
        return refused(report, out);
    }
    if report.hosts.len() > 1 || report.is_partial() {
        rows(report, out)?;
    }
    report.start.iter().try_for_each(|start| started(start, out))?;
    if let Some(rate) = &report.together {
        together(rate, report, out)?;
    }
    if report.is_partial() {
        let lacking = report.hosts.iter().filter(|host| !host.complete).count();
        let all = report.hosts.len();
        writeln!(out, "Partial results: {lacking} of {all} hosts did not send all their results.")?;
    }
    match report.insecure {
        true => writeln!(
            out,
            "The connections were not protected (--insecure): other machines could read and change the run."
        ),
        false => Ok(()),
    }
}

/// Says that nothing was run. The messages about the jobs say why.
fn refused(report: &HostsReport, out: &mut dyn Write) -> io::Result<()> {
    let refused = |host: &&HostReport| host.failure.as_ref().is_some_and(|why| why.refused);
    let names: Vec<&str> = report
        .hosts
        .iter()
        .filter(refused)
        .map(|host| host.name.as_str())
        .take(MAX_NAMES)
        .collect();
    let names = names.join(", ");
    let more = match report.hosts.iter().filter(refused).count().saturating_sub(MAX_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    writeln!(out, "\nNo job ran on any host. Refused by: {names}{more}.")
}

/// How numbers are printed: as in the first entry of the first host.
fn number_style(report: &HostsReport) -> NumberStyle {
    let jobs = report.hosts.iter().filter_map(|host| host.report.as_ref()?.jobs.first());
    jobs.map(|job| job.style).next().unwrap_or_default()
}

fn rows(report: &HostsReport, out: &mut dyn Write) -> io::Result<()> {
    let style = number_style(report);
    let head = ["host", "first I/O", "finished", "IOPS", "BW", "io", "clock error"];
    let hosts = report.by_finish();
    let cells: Vec<[String; 7]> = hosts.iter().map(|host| cells(host, style)).collect();
    let width = |column: usize| {
        let widths = cells.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0).max(head[column].len())
    };
    let widths: [usize; 7] = std::array::from_fn(width);
    writeln!(out, "\nHosts by finishing time:")?;
    line(&head.map(str::to_owned), &widths, "", out)?;
    for (host, row) in hosts.iter().zip(&cells) {
        let state = failed(host, style).unwrap_or_default();
        line(row, &widths, &state, out)?;
    }
    Ok(())
}

fn line(
    row: &[String; 7],
    widths: &[usize; 7],
    state: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    write!(out, "  {:w$}", row[0], w = widths[0])?;
    for (cell, width) in row.iter().zip(widths).skip(1) {
        write!(out, "  {cell:>width$}")?;
    }
    match state {
        "" => writeln!(out),
        state => writeln!(out, "  {state}"),
    }
}

fn cells(host: &HostReport, style: NumberStyle) -> [String; 7] {
    let none = || "-".to_owned();
    let total = host.total.as_ref();
    [
        host.name.clone(),
        host.started.map_or_else(none, |at| format!("+{}", span(at))),
        host.finished.map_or_else(none, span),
        total.map_or_else(none, |total| style::count(total.iops as u64, style)),
        total.map_or_else(none, |total| style::rate(total.bw, style)),
        total.map_or_else(none, |total| style::size(total.bytes, style)),
        host.clock.map_or_else(none, |clock| span(clock.bound)),
    ]
}

/// Says in one line why a host has no complete result.
fn failed(host: &HostReport, style: NumberStyle) -> Option<String> {
    let failure = host.failure.as_ref()?;
    let HostFailure { stage, at, .. } = failure;
    let after = match *at {
        Nanos::ZERO => String::new(),
        at => format!(" after {}", span(at)),
    };
    let seen = host.seen.filter(|bytes| *bytes > Bytes::ZERO);
    let seen = seen.map(|bytes| format!(" (io={} until then)", style::size(bytes, style)));
    let what = if failure.refused { "failed" } else { "lost" };
    Some(format!(
        "{what}{after}{}, {}: {}",
        seen.unwrap_or_default(),
        stage.words(),
        failure.cause()
    ))
}

fn started(start: &HostsStart, out: &mut dyn Write) -> io::Result<()> {
    match start.clock_error {
        Some(error) => {
            writeln!(
                out,
                "Started within {}; clock error at most {}.",
                span(start.skew),
                span(error)
            )
        }
        None => writeln!(out, "Started within {}; clock error unknown.", span(start.skew)),
    }
}

fn together(rate: &TogetherRate, report: &HostsReport, out: &mut dyn Write) -> io::Result<()> {
    let style = number_style(report);
    let (own, other) = style::rates(rate.bw, style);
    let which = if report.is_partial() { " with complete results" } else { "" };
    writeln!(
        out,
        "While every host{which} was running ({} to {}): IOPS={}, BW={own} ({other})",
        span(rate.begin),
        span(rate.end),
        style::count(rate.iops as u64, style)
    )
}

/// Formats a time in the largest unit of which it has at least one.
fn span(time: Nanos) -> String {
    match time.0 {
        0..1_000_000 => format!("{:.1}us", time.0 as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.3}ms", time.0 as f64 / 1e6),
        _ => format!("{:.3}s", time.as_secs_f64()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        assert_eq!(span(Nanos(35_040)), "35.0us");
        assert_eq!(span(Nanos(1_250_000)), "1.250ms");
        assert_eq!(span(Nanos(10_000_600_000)), "10.001s");
    }
}
