//! The families of metrics. The labels of a job are called `job_name` and `job_index`, because Prometheus adds a label
//! `job` of its own to everything that it scrapes.

use std::collections::BTreeSet;

use fiord_stat::finding::Finding;
use fiord_stat::histogram::Histogram;
use fiord_stat::snapshot::JobSnapshot;
use fiord_stat::summary::Summary;
use fiord_types::{Dir, Nanos};

use super::{HostMetrics, JOB_PHASES, MetricsState, RunPhase, phase_word};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FamilyKind {
    /// The value only grows. Samples end in `_total`.
    Counter,
    /// The value goes up and down.
    Gauge,
    /// Info metric: always 1, the labels carry the information. Samples end in `_info`.
    Info,
    /// Counts of values by size. Samples end in `_bucket`, `_sum` and `_count`; a native histogram has one sample
    /// without an ending.
    Histogram,
}

/// The declaration of a family.
#[derive(Debug, Clone, Copy)]
pub struct FamilyDef {
    /// The name, without the endings of its samples.
    pub name: &'static str,
    /// What it is, with its unit.
    pub help: &'static str,
    pub kind: FamilyKind,
    /// The unit, with which the name ends; empty without one.
    pub unit: &'static str,
}

impl FamilyDef {
    const fn new(kind: FamilyKind, name: &'static str, help: &'static str) -> Self {
        FamilyDef { name, help, kind, unit: "" }
    }

    const fn unit(self, unit: &'static str) -> Self {
        FamilyDef { unit, ..self }
    }

    /// What the names of its samples end in.
    fn ending(&self) -> &'static str {
        match self.kind {
            FamilyKind::Counter => "_total",
            FamilyKind::Info => "_info",
            FamilyKind::Gauge | FamilyKind::Histogram => "",
        }
    }

    /// The name of its samples; of a histogram, without the endings of its parts.
    #[must_use]
    pub fn sample_name(&self) -> String {
        format!("{}{}", self.name, self.ending())
    }
}

use FamilyKind::{Counter, Gauge, Info};

const BUILD: FamilyDef = FamilyDef::new(Info, "fiord_build", "The program that runs the jobs.");
const RUN_PHASE: FamilyDef =
    FamilyDef::new(Gauge, "fiord_run_phase", "1 for the phase of the run, 0 for the others.");
const RUN_START: FamilyDef = FamilyDef::new(
    Gauge,
    "fiord_run_start_timestamp_seconds",
    "When the jobs of the run began, since 1970.",
)
.unit("seconds");
const RUN_ELAPSED: FamilyDef =
    FamilyDef::new(Gauge, "fiord_run_elapsed_seconds", "Time since the jobs of the run began.")
        .unit("seconds");
const RUN_PROGRESS: FamilyDef = FamilyDef::new(
    Gauge,
    "fiord_run_progress_ratio",
    "Share of the run that is done; absent if unknown.",
)
.unit("ratio");
const RUN_REMAINING: FamilyDef = FamilyDef::new(
    Gauge,
    "fiord_run_remaining_seconds",
    "Estimated time to the end of the run; absent if unknown.",
)
.unit("seconds");
const JOB_PHASE: FamilyDef =
    FamilyDef::new(Gauge, "fiord_job_phase", "1 for the phase of the job, 0 for the others.");
const JOB_PROGRESS: FamilyDef = FamilyDef::new(
    Gauge,
    "fiord_job_progress_ratio",
    "Share of the job that is done; absent if unknown.",
)
.unit("ratio");
const JOB_REMAINING: FamilyDef = FamilyDef::new(
    Gauge,
    "fiord_job_remaining_seconds",
    "Estimated time to the end of the job; absent if unknown.",
)
.unit("seconds");
const IOS: FamilyDef = FamilyDef::new(
    Counter,
    "fiord_ios",
    "I/Os completed since the job began, or since the end of its ramp.",
);
const IO_BYTES: FamilyDef = FamilyDef::new(
    Counter,
    "fiord_io_bytes",
    "Bytes moved since the job began, or since the end of its ramp.",
)
.unit("bytes");
const LATENCY: FamilyDef = FamilyDef::new(
    FamilyKind::Histogram,
    "fiord_latency_seconds",
    "Completion latency of the I/Os since the job began, or since the end of its ramp.",
)
.unit("seconds");
const IO_ERRORS: FamilyDef = FamilyDef::new(
    Counter,
    "fiord_io_errors",
    "Errors that did not end the job (continue_on_error).",
);
const BAD_BLOCKS: FamilyDef = FamilyDef::new(
    Counter,
    "fiord_bad_blocks",
    "Blocks that a job read and that differ from what was written (verify).",
);
const WARNINGS: FamilyDef =
    FamilyDef::new(Counter, "fiord_warnings", "Things that the run could not do as asked.");
const FINDING: FamilyDef = FamilyDef::new(
    Info,
    "fiord_finding",
    "Reasons to doubt a result. Most are known at the end of the run.",
);

/// All families, in the order in which they are written.
pub const FAMILIES: [FamilyDef; 16] = [
    BUILD,
    RUN_PHASE,
    RUN_START,
    RUN_ELAPSED,
    RUN_PROGRESS,
    RUN_REMAINING,
    JOB_PHASE,
    JOB_PROGRESS,
    JOB_REMAINING,
    IOS,
    IO_BYTES,
    LATENCY,
    IO_ERRORS,
    BAD_BLOCKS,
    WARNINGS,
    FINDING,
];

/// A family with its samples.
#[derive(Debug)]
pub(super) struct Family<'a> {
    pub(super) def: FamilyDef,
    pub(super) samples: Vec<MetricSample<'a>>,
}

#[derive(Debug)]
pub(super) struct MetricSample<'a> {
    pub(super) labels: Vec<(&'static str, String)>,
    pub(super) value: MetricValue<'a>,
}

#[derive(Debug)]
pub(super) enum MetricValue<'a> {
    Number(f64),
    /// Latencies, and their number and sum in ns.
    Latencies(&'a Histogram, &'a Summary),
}

/// The metrics of a run. Families without samples are left out.
pub(super) fn of(state: &MetricsState) -> Vec<Family<'_>> {
    let mut all = Families(FAMILIES.map(|def| Family { def, samples: Vec::new() }).into());
    all.number(&BUILD, [("version", state.version.clone())], 1.0);
    for host in &state.hosts {
        all.run(host);
        let jobs = host.snapshot.iter().flat_map(|snapshot| &snapshot.jobs);
        for (index, job) in jobs.enumerate() {
            all.job(host, index, job);
        }
        for (job, blocks) in &host.bad_blocks {
            let labels = [("host", host.name.clone()), ("job_name", job.clone())];
            all.number(&BAD_BLOCKS, labels, *blocks as f64);
        }
        all.findings(Some(&host.name), &host.findings);
    }
    all.findings(None, &state.findings);
    all.0.retain(|family| !family.samples.is_empty());
    all.0
}

struct Families<'a>(Vec<Family<'a>>);

impl<'a> Families<'a> {
    fn add<const N: usize>(
        &mut self,
        def: &FamilyDef,
        labels: [(&'static str, String); N],
        value: MetricValue<'a>,
    ) {
        if let Some(family) = self.0.iter_mut().find(|family| family.def.name == def.name) {
            family.samples.push(MetricSample { labels: labels.into(), value });
        }
    }

    fn number<const N: usize>(
        &mut self,
        def: &FamilyDef,
        labels: [(&'static str, String); N],
        value: f64,
    ) {
        self.add(def, labels, MetricValue::Number(value));
    }

    fn run(&mut self, host: &HostMetrics) {
        let of_host = || ("host", host.name.clone());
        for phase in RunPhase::ALL {
            let is_it = f64::from(u8::from(phase == host.phase));
            self.number(&RUN_PHASE, [of_host(), ("phase", phase.word().into())], is_it);
        }
        self.number(&WARNINGS, [of_host()], host.warnings as f64);
        let Some(snapshot) = &host.snapshot else { return };
        let seconds = |time: Option<Nanos>| time.map(Nanos::as_secs_f64);
        let values = [
            (&RUN_START, seconds(host.began)),
            (&RUN_ELAPSED, Some(snapshot.elapsed.as_secs_f64())),
            (&RUN_PROGRESS, snapshot.done),
            (&RUN_REMAINING, seconds(snapshot.eta)),
        ];
        for (def, value) in values {
            if let Some(value) = value {
                self.number(def, [of_host()], value);
            }
        }
    }

    fn job(&mut self, host: &HostMetrics, index: usize, job: &'a JobSnapshot) {
        let labels = || {
            [
                ("host", host.name.clone()),
                ("job_name", job.name.clone()),
                ("job_index", index.to_string()),
            ]
        };
        let and = |name: &'static str, value: &str| {
            let [host, job, index] = labels();
            [host, job, index, (name, value.to_owned())]
        };
        let word = phase_word(job.phase);
        for phase in JOB_PHASES {
            let is_it = f64::from(u8::from(phase == word));
            self.number(&JOB_PHASE, and("phase", phase), is_it);
        }
        if let Some(done) = job.done {
            self.number(&JOB_PROGRESS, labels(), done);
        }
        if let Some(eta) = job.eta {
            self.number(&JOB_REMAINING, labels(), eta.as_secs_f64());
        }
        self.number(&IO_ERRORS, labels(), job.counts.errors() as f64);
        for dir in job.dirs() {
            self.direction(job, dir, || and("direction", dir.name()));
        }
    }

    fn direction(
        &mut self,
        job: &'a JobSnapshot,
        dir: Dir,
        labels: impl Fn() -> [(&'static str, String); 4],
    ) {
        self.number(&IOS, labels(), job.totals.ios[dir] as f64);
        self.number(&IO_BYTES, labels(), job.totals.bytes[dir].as_f64());
        let latency = &job.counts.latencies[dir];
        self.add(&LATENCY, labels(), MetricValue::Latencies(&latency.histogram, &latency.summary));
    }

    /// Findings that differ only in their texts are one sample.
    fn findings(&mut self, host: Option<&str>, findings: &[Finding]) {
        let key = |finding: &Finding| {
            let job = finding.job.clone().unwrap_or_default();
            (finding.id.clone(), finding.severity.word(), job)
        };
        for (id, severity, job) in findings.iter().map(key).collect::<BTreeSet<_>>() {
            let labels = [
                ("host", host.unwrap_or_default().to_owned()),
                ("job_name", job),
                ("id", id),
                ("severity", severity.to_owned()),
            ];
            self.number(&FINDING, labels, 1.0);
        }
    }
}
