//! The report of a run on many hosts, as text, JSON and terse.
//!
//! All formats follow fio's (`--client`): the jobs of each host, then the entry `All clients`. Unlike fio, the hosts are in
//! the order of their ranks, each percentile of `All clients` keeps its decimals, and `All clients` is written with
//! `group_reporting`, too. What fio does not have comes last.
//!
//! | question | module |
//! |---|---|
//! | which lines introduce a host | this one |
//! | what does the text contain after the jobs | `table.rs` |
//! | how do the findings of many hosts become one list | `findings.rs` |
//! | what does the JSON contain | `json/hosts.rs` |

mod findings;
mod table;

use std::io::{self, Write};

use fiord_stat::hosts::{HostFacts, HostReport, HostsReport};
use fiord_stat::report::Report;

use crate::output::Formats;
use crate::plainly::plainly;

/// Formats the line that introduces a host, with a line end.
///
/// ```
/// use fiord_stat::hosts::HostFacts;
///
/// let facts = HostFacts {
///     hostname: "n1".into(), os: "Linux".into(), arch: "x86-64".into(), version: "fio-3.42".into(), wide: true,
///     ..HostFacts::default()
/// };
/// let line = fiord_report::hosts::greeting(&facts);
/// assert_eq!(line, "hostname=n1, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.42, flags=0\n");
/// ```
#[must_use]
pub fn greeting(facts: &HostFacts) -> String {
    let HostFacts { hostname, os, arch, version, .. } = facts;
    let (be, bits) = (u8::from(facts.big_endian), if facts.wide { 64 } else { 32 });
    // fio's flags say how it compresses its messages.
    format!(
        "hostname={hostname}, be={be}, {bits}-bit, os={os}, arch={arch}, fio={version}, flags=0\n"
    )
}

/// Puts the own name of a host in front of each line that it prints before its jobs run.
///
/// ```
/// let text = fiord_report::hosts::introduction("n1", "a: (g=0): rw=read\nStarting 1 process\n");
/// assert_eq!(text, "<n1> a: (g=0): rw=read\n<n1> Starting 1 process\n");
/// ```
#[must_use]
pub fn introduction(hostname: &str, text: &str) -> String {
    text.lines().map(|line| format!("<{hostname}> {line}\n")).collect()
}

/// Writes the report of all hosts in the requested formats: terse lines, the JSON document, then the text.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn write(report: &HostsReport, formats: Formats, out: &mut dyn Write) -> io::Result<()> {
    if formats.terse {
        for host in reports(report) {
            crate::terse(&dated(host.1, report), formats.terse_version, out)?;
        }
        crate::terse(&report.all, formats.terse_version, out)?;
    }
    if formats.json_plus || formats.json {
        crate::json::hosts::write(report, formats.json_plus, out)?;
    }
    match formats.normal {
        true => plainly(out, |out| normal(report, formats.columns, out)),
        false => Ok(()),
    }
}

fn reports(report: &HostsReport) -> impl Iterator<Item = (&HostReport, &Report)> {
    report.hosts.iter().filter_map(|host| Some((host, host.report.as_ref()?)))
}

/// The report of a host as a part of the whole: all parts name the version of the coordinator.
fn dated(host: &Report, report: &HostsReport) -> Report {
    Report { version: report.all.version.clone(), ..host.clone() }
}

fn normal(report: &HostsReport, columns: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    for (host, own) in reports(report) {
        crate::normal::of_host(host.own_name(), own, columns, out)?;
    }
    crate::normal::all_clients(&report.all, out)?;
    table::write(report, out)?;
    let (findings, unchecked) = findings::of_all(report);
    crate::normal::findings::write(&findings, &unchecked, columns, out)
}
