//! Results that fiord adds to those of fio.

use fiord_types::{Bytes, FileIndex, JobIndex};
use serde::{Deserialize, Serialize};

use super::generator::GeneratorReport;
use super::idleness::CpuIdleness;
use super::machine::MachineReport;
use crate::device::DeviceView;
use crate::finding::{Finding, RunWarning, Unchecked};
use crate::maps::is_default;
use crate::slices::SliceTable;
use crate::zero_one;

/// Results that fiord adds to those of fio. Its keys are those below `"fiord"` in JSON, without the ones that begin with
/// `wire:`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Extras {
    /// Jobs still run: the report was requested by `--status-interval` or a signal.
    #[serde(with = "zero_one", skip_serializing_if = "is_default")]
    pub interim: bool,
    /// What ended the run before its jobs were done. The results cover only the time before that. Empty if all jobs ran to
    /// their end.
    #[serde(rename = "stopped", skip_serializing_if = "Vec::is_empty")]
    pub stops: Vec<RunStop>,
    /// The clock that timed the latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockReport>,
    /// The machine that ran the jobs, and the devices under their targets. `None` in reports of other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineReport>,
    /// The cost of the load generator itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generator: Option<GeneratorReport>,
    /// Bandwidth of each group per CPU core, if a job asks for it (`core_bandwidth`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub per_core: Vec<CoreBandwidth>,
    /// Latencies by time slice, with a verdict (`latency_limits`).
    #[serde(rename = "latency_slices", skip_serializing_if = "Vec::is_empty")]
    pub slices: Vec<SliceTable>,
    /// Results compared with the manufacturer's specification (`spec`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spec: Vec<SpecReport>,
    /// The run as the devices under the targets counted it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub devices: Vec<DeviceView>,
    /// Problems that make the results doubtful or invalid.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// The user switched findings off (`--findings=off`), so nothing was looked for.
    #[serde(with = "zero_one", skip_serializing_if = "is_default")]
    pub findings_off: bool,
    /// Findings that could not be checked.
    #[serde(rename = "not_checked", skip_serializing_if = "Vec::is_empty")]
    pub unchecked: Vec<Unchecked>,
    /// How idle the CPUs were (`--idle-prof`). fio reports it, too, outside of the key `fiord`.
    #[serde(rename = "wire:idleness")]
    pub idleness: Option<CpuIdleness>,
    /// Things that the run could not do as asked. Each becomes a finding.
    #[serde(rename = "wire:warnings")]
    pub warnings: Vec<RunWarning>,
    /// Pages in the page cache of the files of jobs with `direct=1`, when the jobs began and ended.
    #[serde(rename = "wire:cached")]
    pub cached: Vec<CachedUnderDirect>,
    /// The report was read from one of many hosts: its jobs ran on several of them.
    #[serde(rename = "wire:of_hosts")]
    pub of_hosts: bool,
}

/// What ended a run, or one of its jobs, before its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStop {
    /// The kind of the cause.
    pub by: StopCause,
    /// The signal, if one was the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// The job that an error ended; `None` if all jobs were stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// The cause in words, such as `signal 2 (SIGINT)`.
    pub what: String,
}

impl RunStop {
    /// The cause and what it means for the results, in one sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.job {
            Some(job) => format!("job {job} did not run to its end: {}", self.what),
            None => format!(
                "the run was stopped before its end: {}. The results cover only the time until then",
                self.what
            ),
        }
    }
}

/// The kind of what ended a run before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StopCause {
    /// A signal, such as that of Ctrl-C.
    Signal,
    /// A trigger (`--trigger-file`, `--trigger-timeout`).
    Trigger,
    /// An error ended a job.
    Error,
}

impl StopCause {
    /// Whether it stops all jobs of a run, and not only one.
    #[must_use]
    pub fn stops_all(self) -> bool {
        self != StopCause::Error
    }
}

/// Pages in the page cache of a file or device that a job used with `direct=1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedUnderDirect {
    /// Index of the job in the plan.
    pub job: JobIndex,
    /// Index of the file in the job.
    pub file: FileIndex,
    /// Cached pages when the job ended; `None` if the kernel does not report them.
    pub pages: Option<u64>,
    /// Cached pages just before the first I/O, after the job had opened its files and dropped their pages; `None`
    /// if the kernel does not report them.
    #[serde(default)]
    pub at_start: Option<u64>,
}

/// The bandwidth of a group, all directions together, per CPU core.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreBandwidth {
    /// The group's number.
    #[serde(rename = "groupid")]
    pub group_id: u32,
    /// Processor cores that the run could use.
    pub cores: u64,
    /// Bytes per second.
    #[serde(rename = "bw_bytes")]
    pub bw: Bytes,
    /// Bytes per second and core.
    #[serde(rename = "bw_bytes_per_core")]
    pub bw_per_core: f64,
}

/// A result compared with the manufacturer's specification.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpecReport {
    /// The I/O pattern, a value of `rw`.
    pub pattern: String,
    /// The target's path, or the number of targets.
    pub target: String,
    /// The rates are bytes per second, not I/Os per second.
    #[serde(rename = "unit", with = "rate_unit")]
    pub bytes: bool,
    /// The specified rate, I/Os or bytes per second.
    pub stated: f64,
    /// The measured rate, I/Os or bytes per second.
    pub achieved: f64,
    /// The measured rate as a percentage of the specified one; 0 if none is specified.
    pub percent: f64,
}

/// The unit of rates: `bytes/s` or `iops`.
mod rate_unit {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &bool, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(if *bytes { "bytes/s" } else { "iops" })
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<bool, D::Error> {
        Ok(String::deserialize(from)? == "bytes/s")
    }
}

/// The clock of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockReport {
    /// Name of the clock source: `tsc`, `clock_monotonic` …
    pub source: String,
    /// Cost of one clock read, ns.
    pub cost_ns: f64,
    pub resolution_ns: f64,
}
