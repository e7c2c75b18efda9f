//! Turns what the hosts sent into one report.
//!
//! The totals are exact: they equal those of one recorder that received all I/Os of all hosts. The entry
//! [`ALL_CLIENTS`] is computed as fio does: all bytes over the longest run time of a job, and the rates of windows summed.
//! The formulas of the rest are at [`HostTotal`] and [`TogetherRate`].

use fiord_stat::hosts::{
    ALL_CLIENTS, HostFailure, HostReport, HostSpan, HostTotal, HostsReport, HostsStart,
    TogetherRate,
};
use fiord_stat::job::{JobData, assemble};
use fiord_stat::report::{DirKind, DirReport, JobReport, Report, Unified};
use fiord_types::{Errno, HostIndex, Nanos};

use crate::outcome::{HostOutcome, HostsOutcome};

/// Builds the report of a run on many hosts. `head` has the version of the program, the time of the report, and findings
/// about the run as a whole. `error_text` returns the text of an errno.
///
/// ```
/// use fiord_fabric::merge::merged;
/// use fiord_fabric::outcome::{HostOutcome, HostsOutcome};
/// use fiord_stat::job::JobData;
/// use fiord_stat::report::Report;
/// use fiord_types::{Bytes, Dir};
///
/// let host = |name: &str| {
///     let mut data = JobData::default();
///     data.recorder.dirs[Dir::Read].bytes = Bytes(4096);
///     HostOutcome { name: name.into(), data: vec![data], ..HostOutcome::default() }
/// };
/// let outcome = HostsOutcome { hosts: vec![host("a"), host("b")], ..HostsOutcome::default() };
/// let report = merged(outcome, Report::default(), &|errno| errno.to_string());
/// assert_eq!(report.all.jobs[0].dirs[0].io_bytes, Bytes(8192));
/// ```
#[must_use]
pub fn merged(
    outcome: HostsOutcome,
    head: Report,
    error_text: &dyn Fn(Errno) -> String,
) -> HostsReport {
    let HostsOutcome { hosts, start, signal } = outcome;
    let starts = hosts_start(&hosts);
    let together = start.and_then(|base| together(&hosts, base));
    let is_refused = |host: &HostOutcome| host.failure.as_ref().is_some_and(|why| why.refused);
    let refused = start.is_none() && hosts.iter().any(is_refused);
    let all = all_clients(&hosts);
    let hosts: Vec<HostReport> =
        hosts.into_iter().map(|host| host_report(host, start, error_text)).collect();
    let entries = || hosts.iter().filter_map(|host| host.report.as_ref()).flat_map(|r| &r.jobs);
    let mut report = HostsReport {
        all: head,
        hosts: Vec::new(),
        start: starts,
        together,
        signal,
        refused,
        shares_targets: false,
        insecure: false,
    };
    if entries().count() > 1 {
        let total = all.map(|all| all_entry(&all, entries(), error_text));
        report.all.jobs = total.into_iter().collect();
    }
    report.hosts = hosts;
    report
}

/// The jobs of a host as they count for the totals.
fn counted(host: &HostOutcome) -> impl Iterator<Item = &JobData> {
    host.data.iter().filter(|job| job.settings.stats)
}

/// The sum of the data of all jobs of all hosts.
fn all_clients(hosts: &[HostOutcome]) -> Option<JobData> {
    let mut sum: Option<JobData> = None;
    for job in hosts.iter().flat_map(counted) {
        let mut job = job.clone();
        job.members = job.members.max(1);
        // A job that still runs has not called this yet; a second call changes nothing.
        job.recorder.finish();
        match &mut sum {
            Some(sum) => sum.merge(&job),
            None => sum = Some(job),
        }
    }
    sum
}

/// The entry of all hosts. `entries` are those of the hosts.
fn all_entry<'a>(
    all: &JobData,
    entries: impl Iterator<Item = &'a JobReport> + Clone,
    error_text: &dyn Fn(Errno) -> String,
) -> JobReport {
    let mut entry = JobReport {
        name: ALL_CLIENTS.into(),
        description: None,
        pid: 0,
        start: Nanos::ZERO,
        options: Vec::new(),
        // The hosts may have reached steady state at different times.
        steady_state: None,
        ..all.summarise(error_text)
    };
    for row in &mut entry.dirs {
        // As in fio, the share refers to the sum of the rates of the entries.
        let kind = row.kind;
        let rates = entries.clone().filter_map(|job| rate_of(job, kind));
        let sum: f64 = rates.sum();
        row.bw_samples.agg = match sum > 0.0 {
            true => (row.bw_samples.mean * 100.0 / (sum / 1024.0)).min(100.0),
            false => 0.0,
        };
    }
    entry
}

/// The bandwidth of a row of a job, bytes per second. A job that reports only the sum counts in the row of the sum.
fn rate_of(job: &JobReport, kind: DirKind) -> Option<f64> {
    let row = |kind: DirKind| job.dirs.iter().find(|row: &&DirReport| row.kind == kind);
    match (kind, job.unified) {
        (DirKind::Mixed, Unified::Separate) => {
            Some(job.dirs.iter().map(|row| row.bw.as_f64()).sum())
        }
        _ => row(kind).map(|row| row.bw.as_f64()),
    }
}

fn host_report(
    host: HostOutcome,
    base: Option<Nanos>,
    error_text: &dyn Fn(Errno) -> String,
) -> HostReport {
    let since = |at: Nanos| base.map(|base| at.saturating_sub(base));
    let started = host.started.iter().min().and_then(|at| since(*at));
    let jobs: Vec<&JobData> = counted(&host).collect();
    let total = HostTotal::of(&jobs);
    // A host that was lost early sent no report, and one with very many jobs left them out.
    let sent = host.report.as_ref().is_some_and(|report| !report.jobs.is_empty());
    let built = (!sent && !jobs.is_empty())
        .then(|| unfinished(jobs.into_iter().cloned().collect(), error_text));
    let report = match (host.report, built) {
        (Some(sent), Some(built)) => {
            Some(Report { jobs: built.jobs, groups: built.groups, ..sent })
        }
        (sent, built) => sent.or(built),
    };
    let complete = host.failure.is_none() && host.ended.is_some();
    let failure = host.failure.map(|failure| HostFailure {
        at: base.map_or(Nanos::ZERO, |base| failure.at.saturating_sub(base)),
        ..failure
    });
    let (status, errors) = host.ended.map_or((None, Vec::new()), |end| (end.status, end.errors));
    HostReport {
        name: host.name,
        port: host.port,
        facts: host.facts,
        targets: host.checked.map_or_else(Vec::new, |checked| checked.targets),
        report,
        clock: host.clock,
        started,
        finished: host.finished.and_then(since),
        total,
        seen: host.seen.filter(|_| total.is_none()).map(|seen| seen.all_bytes()),
        complete,
        status,
        errors,
        failure,
    }
}

/// The report of a host that sent none of its jobs, from the jobs whose results have arrived.
fn unfinished(jobs: Vec<JobData>, error_text: &dyn Fn(Errno) -> String) -> Report {
    let (jobs, groups) = assemble(jobs, error_text);
    Report { schema: fiord_stat::report::SCHEMA, jobs, groups, ..Report::default() }
}

fn hosts_start(hosts: &[HostOutcome]) -> Option<HostsStart> {
    let ranked = || hosts.iter().enumerate().map(|(rank, host)| (HostIndex::at(rank), host));
    let begun = || ranked().filter(|(_, host)| !host.started.is_empty());
    if begun().count() < 2 {
        return None;
    }
    let firsts = begun().flat_map(|(rank, host)| host.started.iter().map(move |at| (*at, rank)));
    let (earliest, (latest, last)) = (firsts.clone().min()?.0, firsts.max()?);
    let bounds: Option<Vec<_>> =
        begun().map(|(rank, host)| host.clock.map(|clock| (clock.bound, rank))).collect();
    let worst = bounds.and_then(|bounds| bounds.into_iter().max());
    Some(HostsStart {
        skew: latest.saturating_sub(earliest),
        clock_error: worst.map(|(bound, _)| bound),
        last,
        worst_clock: worst.map_or_else(HostIndex::default, |(_, rank)| rank),
    })
}

/// The rates while every host was running. Hosts that failed do not count.
fn together(hosts: &[HostOutcome], base: Nanos) -> Option<TogetherRate> {
    let complete = hosts.iter().filter(|host| host.failure.is_none() && !host.data.is_empty());
    let spans: Option<Vec<HostSpan<'_>>> = complete
        .map(|host| {
            let started = host.started.iter().min()?.saturating_sub(base);
            let finished = host.finished?.saturating_sub(base);
            Some(HostSpan { jobs: counted(host).collect(), started, finished })
        })
        .collect();
    spans.filter(|spans| spans.len() > 1).and_then(|spans| TogetherRate::of(&spans))
}

#[cfg(test)]
#[path = "merge_tests.rs"]
mod tests;
