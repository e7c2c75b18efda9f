//! The sides of a comparison and their runs.

use std::collections::BTreeMap;

use fiord_stat::finding::{Finding, Severity};
use fiord_stat::report::{DirKind, JobReport, MachineReport, Report};
use fiord_types::Nanos;

use crate::run_values::RunValues;

#[derive(Debug, Clone)]
pub struct ComparedRun {
    /// The file that it was read from.
    pub file: String,
    pub result: RunValues,
    /// When its report was written; 0 if unknown.
    pub written: Nanos,
    /// Findings of the run that doubt the results.
    pub findings: Vec<Finding>,
    /// The user switched findings off (`--findings=off`).
    pub findings_off: bool,
    /// Jobs that an error ended.
    pub failed: Vec<String>,
    /// What stopped the run before its end, in words: a signal or a trigger.
    pub stopped: Option<String>,
    /// What the run was: subject and value, such as `iodepth of job a` and `16`.
    pub facts: BTreeMap<String, String>,
}

/// Options that do not change what is measured.
const IMMATERIAL: [&str; 18] = [
    "name",
    "description",
    "output",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "log_hist_msec",
    "bwavgtime",
    "iopsavgtime",
    "sim_seed",
    "randseed",
    "percentile_list",
    "write_slat_log",
    "write_clat_log",
    "per_job_logs",
    "group_reporting",
];

impl ComparedRun {
    /// Takes out of a report what a comparison needs. `file`: where the report was read.
    #[must_use]
    pub fn new(file: String, report: &Report) -> Self {
        let doubtful = |finding: &&Finding| finding.severity > Severity::Note;
        let failed = report.jobs.iter().filter(|job| job.failed);
        ComparedRun {
            file,
            result: RunValues::of(report),
            written: report.written,
            findings: report.extras.findings.iter().filter(doubtful).cloned().collect(),
            findings_off: report.extras.findings_off,
            failed: failed.map(|job| job.name.clone()).collect(),
            stopped: stopped(report),
            facts: facts(report),
        }
    }

    /// Whether this job ran to its end.
    #[must_use]
    pub fn ran_to_end(&self, job: &str) -> bool {
        self.stopped.is_none() && !self.failed.iter().any(|failed| failed == job)
    }

    /// The names of its jobs, each once.
    #[must_use]
    pub fn jobs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for direction in &self.result.directions {
            if !names.contains(&direction.job.as_str()) {
                names.push(&direction.job);
            }
        }
        names
    }
}

/// What stopped all jobs of a run. Errors that ended single jobs do not count.
fn stopped(report: &Report) -> Option<String> {
    let whole = report.extras.stops.iter().find(|stop| stop.by.stops_all())?;
    Some(whole.what.clone())
}

fn facts(report: &Report) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    facts.insert("program".to_owned(), report.version.clone());
    if let Some(machine) = &report.extras.machine {
        self::machine(machine, &mut facts);
    }
    let join = |names: Vec<&str>| names.join(", ");
    let disks = join(report.disks.iter().map(|disk| disk.name.as_str()).collect());
    let devices = join(report.extras.devices.iter().map(|view| view.name.as_str()).collect());
    let device = if disks.is_empty() { devices } else { disks };
    facts.insert("device".into(), device);
    if let Some(clock) = &report.extras.clock {
        facts.insert("clock".into(), clock.source.clone());
    }
    for job in &report.jobs {
        options(job, &report.global_options, &mut facts);
    }
    facts
}

/// What ran the jobs. Facts that are unknown are left out.
fn machine(machine: &MachineReport, facts: &mut BTreeMap<String, String>) {
    let mut add = |subject: String, value: &str| {
        if !value.is_empty() {
            facts.insert(subject, value.to_owned());
        }
    };
    add("host".into(), &machine.hostname);
    add("kernel".into(), &machine.kernel);
    add("processor".into(), &machine.processor);
    add("CPUs".into(), &machine.cpus.map(|cpus| cpus.to_string()).unwrap_or_default());
    for device in &machine.devices {
        let name = &device.name;
        add(format!("model of {name}"), &device.model);
        add(format!("firmware of {name}"), &device.firmware);
        add(format!("link of {name}"), &device.link);
        add(format!("scheduler of {name}"), &device.scheduler);
        add(format!("write cache of {name}"), &device.write_cache);
    }
}

fn options(job: &JobReport, globals: &[(String, String)], facts: &mut BTreeMap<String, String>) {
    for (name, value) in globals.iter().chain(&job.options) {
        if !IMMATERIAL.contains(&name.as_str()) {
            facts.insert(format!("{name} of job {}", job.name), value.clone());
        }
    }
}

/// A side: runs of one setting.
#[derive(Debug, Clone)]
pub struct ComparedSide {
    /// Letter of the side: A for the first one.
    pub letter: char,
    /// Name of the side, as the user typed it.
    pub name: String,
    /// Runs of the side, in the order of time as far as it is known.
    pub runs: Vec<ComparedRun>,
}

impl ComparedSide {
    /// A side of some runs. Its letter depends on its place, from 0.
    #[must_use]
    pub fn new(place: u8, name: String, mut runs: Vec<ComparedRun>) -> Self {
        runs.sort_by_key(|run| run.written);
        ComparedSide { letter: char::from(b'A'.saturating_add(place)), name, runs }
    }

    /// The names of the jobs of all runs, each once.
    #[must_use]
    pub fn jobs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.runs.iter().flat_map(ComparedRun::jobs) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The directions in which some run of a job did I/O.
    #[must_use]
    pub fn kinds(&self, job: &str) -> Vec<DirKind> {
        let mut kinds = Vec::new();
        let all = self.runs.iter().flat_map(|run| &run.result.directions);
        for direction in all.filter(|direction| direction.job == job) {
            if !kinds.contains(&direction.kind) {
                kinds.push(direction.kind);
            }
        }
        kinds
    }

    /// Removes runs that are copies of earlier ones. Returns their files, each with that of the earlier one.
    pub(crate) fn remove_copies(&mut self) -> Vec<(String, String)> {
        let mut copies = Vec::new();
        let mut kept: Vec<ComparedRun> = Vec::new();
        for run in self.runs.drain(..) {
            match kept.iter().find(|have| run.result.is_copy_of(&have.result)) {
                Some(have) => copies.push((run.file, have.file.clone())),
                None => kept.push(run),
            }
        }
        self.runs = kept;
        copies
    }

    /// The different values of a fact, in the order of the runs; empty values for runs without it.
    pub(crate) fn values(&self, subject: &str) -> Vec<&str> {
        let mut values = Vec::new();
        for run in &self.runs {
            let value = run.facts.get(subject).map_or("", String::as_str);
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

/// The jobs to compare: those with equal names. If there are none and both sides have as many, those in the same place.
pub(crate) fn job_pairs<'a>(a: &'a ComparedSide, b: &'a ComparedSide) -> Vec<(&'a str, &'a str)> {
    let (names_a, names_b) = (a.jobs(), b.jobs());
    let common: Vec<(&str, &str)> =
        names_a.iter().filter(|name| names_b.contains(name)).map(|name| (*name, *name)).collect();
    match common.is_empty() && names_a.len() == names_b.len() {
        true => names_a.into_iter().zip(names_b).collect(),
        false => common,
    }
}
