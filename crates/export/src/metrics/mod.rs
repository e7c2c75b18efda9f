//! The metrics of a run: what is known of it, and how it becomes families of metrics.
//!
//! | question | module |
//! |---|---|
//! | which metrics are there | `families.rs` |
//! | how are they written as text | `text.rs` |
//! | how are they written as Prometheus' protocol buffers | `protobuf.rs` |
//! | which buckets do the histograms have | `buckets.rs` |

mod buckets;
mod families;
mod protobuf;
mod text;

use std::collections::BTreeMap;

use fiord_stat::finding::Finding;
use fiord_stat::progress::JobPhase;
use fiord_stat::snapshot::RunSnapshot;
use fiord_types::{HostIndex, Nanos};

pub use families::{FAMILIES, FamilyDef, FamilyKind};

/// How metrics are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpositionFormat {
    /// Prometheus' text format 0.0.4, which the node exporter and `promtool` read.
    Text,
    /// OpenMetrics 1.0.
    OpenMetrics,
    /// Prometheus' protocol buffers, with native histograms.
    Protobuf,
}

impl ExpositionFormat {
    /// The value of `Content-Type`.
    #[must_use]
    pub fn content_type(self) -> &'static str {
        match self {
            ExpositionFormat::Text => "text/plain; version=0.0.4; charset=utf-8",
            ExpositionFormat::OpenMetrics => {
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            }
            ExpositionFormat::Protobuf => {
                "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited"
            }
        }
    }
}

/// What a run is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RunPhase {
    /// The run prepares files, or waits for its hosts.
    #[default]
    Preparing,
    /// The jobs run.
    Running,
    /// The run is over, and its findings are known.
    Ended,
}

impl RunPhase {
    const ALL: [RunPhase; 3] = [RunPhase::Preparing, RunPhase::Running, RunPhase::Ended];

    fn word(self) -> &'static str {
        match self {
            RunPhase::Preparing => "preparing",
            RunPhase::Running => "running",
            RunPhase::Ended => "ended",
        }
    }
}

/// The words for the phases of a job, in their order.
const JOB_PHASES: [&str; 7] =
    ["waiting", "setup", "ramp", "running", "finishing", "ended", "failed"];

/// The word for the phase of a job. Several phases of the live line are one word here.
pub(crate) fn phase_word(phase: JobPhase) -> &'static str {
    match phase {
        JobPhase::Waiting => "waiting",
        JobPhase::Created | JobPhase::Initialized | JobPhase::PreReading => "setup",
        JobPhase::Ramping => "ramp",
        JobPhase::Running(_) | JobPhase::Syncing | JobPhase::Verifying => "running",
        JobPhase::Finishing => "finishing",
        JobPhase::Exited | JobPhase::Reaped => "ended",
        JobPhase::Failed | JobPhase::Killed => "failed",
    }
}

/// What is known of a run.
#[derive(Debug, Clone, Default)]
pub struct MetricsState {
    /// Name and version of the program.
    version: String,
    hosts: Vec<HostMetrics>,
    /// Findings about the whole run on many hosts.
    findings: Vec<Finding>,
}

/// What is known of one host.
#[derive(Debug, Clone, Default)]
struct HostMetrics {
    name: String,
    phase: RunPhase,
    /// When its run began, since 1970 (UTC).
    began: Option<Nanos>,
    snapshot: Option<RunSnapshot>,
    /// By name of the job.
    bad_blocks: BTreeMap<String, u64>,
    warnings: u64,
    findings: Vec<Finding>,
}

impl MetricsState {
    /// A run that has not begun. `version`: name and version of the program.
    #[must_use]
    pub fn new(version: impl Into<String>, hosts: impl IntoIterator<Item = String>) -> Self {
        let host = |name| HostMetrics { name, ..HostMetrics::default() };
        MetricsState {
            version: version.into(),
            hosts: hosts.into_iter().map(host).collect(),
            findings: Vec::new(),
        }
    }

    fn host(&mut self, host: HostIndex) -> Option<&mut HostMetrics> {
        self.hosts.get_mut(host.get())
    }

    /// A host has sent a snapshot. `began`: when its run began, since 1970 (UTC).
    pub fn snapshot(&mut self, host: HostIndex, began: Nanos, snapshot: RunSnapshot) {
        if let Some(host) = self.host(host) {
            host.phase = RunPhase::Running;
            host.began = Some(began);
            host.snapshot = Some(snapshot);
        }
    }

    /// A job of a host has read data that differ from what was written.
    pub fn bad_block(&mut self, host: HostIndex, job: &str) {
        if let Some(host) = self.host(host) {
            *host.bad_blocks.entry(job.to_owned()).or_default() += 1;
        }
    }

    /// The run of a host continues without something that the user asked for.
    pub fn warning(&mut self, host: HostIndex) {
        if let Some(host) = self.host(host) {
            host.warnings += 1;
        }
    }

    /// The findings about a host, which replace those so far.
    pub fn findings(&mut self, host: HostIndex, findings: Vec<Finding>) {
        if let Some(host) = self.host(host) {
            host.findings = findings;
        }
    }

    /// The findings about all hosts together.
    pub fn findings_of_all(&mut self, findings: Vec<Finding>) {
        self.findings = findings;
    }

    /// The run is over on all hosts, and all findings are known.
    pub fn ended(&mut self) {
        self.hosts.iter_mut().for_each(|host| host.phase = RunPhase::Ended);
    }

    /// The metrics as a document.
    #[must_use]
    pub fn written(&self, format: ExpositionFormat) -> Vec<u8> {
        let families = families::of(self);
        match format {
            ExpositionFormat::Text => text::write(&families, false).into_bytes(),
            ExpositionFormat::OpenMetrics => text::write(&families, true).into_bytes(),
            ExpositionFormat::Protobuf => protobuf::write(&families),
        }
    }
}

#[cfg(test)]
mod tests;
