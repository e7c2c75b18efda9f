//! What a result tells about a run: its hosts, its jobs and their samples.

use std::collections::HashMap;

use fiord_stat::finding::Finding;
use fiord_stat::hosts::HostsReport;
use fiord_stat::progress::RunKind;
use fiord_stat::report::{JobReport, NumberStyle, Report, Unified};
use fiord_stat::samples::Samples;
use fiord_types::Dir;

use super::track::SampleTrack;
use crate::model::{LiveFinding, LiveSeverity};

/// A finished run.
#[derive(Debug, Clone)]
pub struct ReplayRun {
    pub(super) title: String,
    pub(super) total: SampleTrack,
    pub(super) hosts: Vec<ReplayHost>,
    pub(super) findings: Vec<LiveFinding>,
    pub(super) style: NumberStyle,
    pub(super) unified: bool,
}

/// A host of a finished run. A run on one machine has one without a name.
#[derive(Debug, Clone)]
pub(super) struct ReplayHost {
    pub(super) name: String,
    pub(super) track: SampleTrack,
    pub(super) jobs: Vec<ReplayJob>,
    pub(super) failed: bool,
}

/// A job of a finished run.
#[derive(Debug, Clone)]
pub(super) struct ReplayJob {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) kind: RunKind,
    pub(super) track: SampleTrack,
    /// The job has a ramp time. Without one, jobs that were merged are measured from different times on, too.
    pub(super) ramps: bool,
    pub(super) failed: bool,
    pub(super) failure: Option<String>,
}

/// A host and its report.
struct HostPart<'a> {
    name: &'a str,
    report: Option<&'a Report>,
    failure: Option<&'a str>,
}

impl ReplayRun {
    /// The run of a report. `None` if none of its jobs has samples.
    #[must_use]
    pub fn of_report(title: String, report: &Report) -> Option<ReplayRun> {
        ReplayRun::of(title, &[HostPart { name: "", report: Some(report), failure: None }], &[])
    }

    /// The run of a report of many hosts. `None` if no job has samples.
    #[must_use]
    pub fn of_hosts(title: String, report: &HostsReport) -> Option<ReplayRun> {
        let hosts: Vec<HostPart<'_>> = report
            .hosts
            .iter()
            .map(|host| HostPart {
                name: if host.name.is_empty() { "localhost" } else { &host.name },
                report: host.report.as_ref(),
                failure: host.failure.as_ref().map(|failure| failure.why.as_str()),
            })
            .collect();
        ReplayRun::of(title, &hosts, &report.all.extras.findings)
    }

    fn of(title: String, parts: &[HostPart<'_>], findings: &[Finding]) -> Option<ReplayRun> {
        let mut all = Samples::default();
        parts.iter().flat_map(jobs).for_each(|job| all.merge(&job.samples));
        if all.is_empty() {
            return None;
        }
        let total = SampleTrack::of_run(all);
        let style = parts.iter().flat_map(jobs).next().map(|job| job.style);
        let unified = parts.iter().flat_map(jobs).any(|job| job.unified == Unified::Mixed);
        let mut run = ReplayRun {
            hosts: parts.iter().map(|part| host(part, &total)).collect(),
            title,
            total,
            findings: findings.iter().map(LiveFinding::from).collect(),
            style: style.unwrap_or_default(),
            unified,
        };
        for (index, part) in parts.iter().enumerate() {
            run.findings_of(index, part);
        }
        Some(run)
    }

    /// Adds the findings of a host, its failure, and the jobs that the replay cannot show.
    fn findings_of(&mut self, index: usize, part: &HostPart<'_>) {
        let prefix = self.prefix(index);
        if let Some(why) = part.failure {
            let mut lines = why.trim().lines().map(|line| line.trim().to_owned());
            let what = format!("{prefix}{}", lines.next().unwrap_or_default());
            self.findings.push(LiveFinding {
                severity: LiveSeverity::Error,
                what,
                more: lines.collect(),
            });
        }
        let found = part.report.iter().flat_map(|report| &report.extras.findings);
        for mut finding in found.map(LiveFinding::from) {
            finding.what.insert_str(0, &prefix);
            self.findings.push(finding);
        }
        let without: Vec<&str> = all_jobs(part)
            .filter(|job| job.samples.is_empty())
            .map(|job| job.name.as_str())
            .collect();
        if !without.is_empty() {
            self.findings.push(LiveFinding {
                severity: LiveSeverity::Note,
                what: format!(
                    "{prefix}not shown, because the result has no samples of them: {}",
                    without.join(", ")
                ),
                more: vec!["A job without I/O has no samples.".to_owned()],
            });
        }
    }

    /// Whether the run is one on many hosts.
    pub(super) fn has_hosts(&self) -> bool {
        self.hosts.iter().any(|host| !host.name.is_empty())
    }

    /// The name of a host, for lines about several hosts.
    pub(super) fn prefix(&self, host: usize) -> String {
        match self.hosts.get(host) {
            Some(ReplayHost { name, .. }) if !name.is_empty() => format!("{name}: "),
            _ => String::new(),
        }
    }
}

fn all_jobs<'a>(part: &HostPart<'a>) -> impl Iterator<Item = &'a JobReport> + use<'a> {
    part.report.into_iter().flat_map(|report| &report.jobs)
}

/// The jobs with samples.
fn jobs<'a>(part: &HostPart<'a>) -> impl Iterator<Item = &'a JobReport> + use<'a> {
    all_jobs(part).filter(|job| !job.samples.is_empty())
}

fn host(part: &HostPart<'_>, run: &SampleTrack) -> ReplayHost {
    let global = part.report.map(|report| report.global_options.as_slice()).unwrap_or_default();
    let mut sum = Samples::default();
    jobs(part).for_each(|job| sum.merge(&job.samples));
    let mut shown: Vec<ReplayJob> = jobs(part).map(|of| job(of, global, run)).collect();
    number(&mut shown);
    ReplayHost {
        name: part.name.to_owned(),
        track: SampleTrack::part_of(run, sum),
        jobs: shown,
        failed: part.failure.is_some(),
    }
}

/// Numbers the jobs of one name (`numjobs`), as the view of a run does. A result does not say how many jobs an entry
/// contains if a report has merged them.
fn number(jobs: &mut [ReplayJob]) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for job in jobs.iter() {
        *counts.entry(job.name.clone()).or_default() += 1;
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    for job in jobs {
        if counts.get(&job.name).is_some_and(|count| *count > 1) {
            let number = seen.entry(job.name.clone()).or_default();
            *number += 1;
            job.name = format!("{} ({number})", job.name);
        }
    }
}

fn job(job: &JobReport, global: &[(String, String)], run: &SampleTrack) -> ReplayJob {
    let own = |name: &str| job.options.iter().any(|(other, _)| other == name);
    let inherited = global.iter().filter(|(name, _)| !own(name));
    let options = || inherited.clone().chain(&job.options);
    let about: Vec<String> = options()
        .map(|(name, value)| match value.is_empty() {
            true => name.clone(),
            false => format!("{name}={value}"),
        })
        .collect();
    let rw = options().rfind(|(name, _)| name == "rw" || name == "readwrite");
    let text = job.error_text.trim();
    let failure = if text.is_empty() { "it failed" } else { text };
    ReplayJob {
        name: job.name.clone(),
        about: about.join(", "),
        kind: rw.and_then(|(_, value)| kind_of_word(value)).unwrap_or_else(|| kind_in_use(job)),
        track: SampleTrack::part_of(run, job.samples.clone()),
        ramps: options().any(|(name, _)| name == "ramp_time"),
        failed: job.failed,
        failure: job.failed.then(|| failure.to_owned()),
    }
}

/// The kind of a value of `rw`.
fn kind_of_word(value: &str) -> Option<RunKind> {
    Some(match value.split(':').next().unwrap_or_default().trim() {
        "read" => RunKind::Read,
        "randread" => RunKind::RandRead,
        "write" => RunKind::Write,
        "randwrite" => RunKind::RandWrite,
        "rw" | "readwrite" => RunKind::Mixed,
        "randrw" => RunKind::RandMixed,
        "trim" => RunKind::Trim,
        "randtrim" => RunKind::RandTrim,
        _ => return None,
    })
}

/// The kind of a job whose options say nothing, from the directions in which it did I/O.
fn kind_in_use(job: &JobReport) -> RunKind {
    let uses = |dir| job.samples.dir(dir).iter().any(|sample| sample.ios() > 0);
    match (uses(Dir::Read), uses(Dir::Write), uses(Dir::Trim)) {
        (true, false, false) => RunKind::Read,
        (false, true, false) => RunKind::Write,
        (false, false, true) => RunKind::Trim,
        _ => RunKind::Mixed,
    }
}
