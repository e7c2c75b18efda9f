//! The entry of a job.

use fiord_types::{Bytes, Errno, Nanos};
use serde::{Deserialize, Serialize};

use super::NumberStyle;
use super::direction::{DirKind, DirReport, LatencySummary};
use super::steady::SteadyState;
use crate::block_errors::BlockErrors;
use crate::delays::ThreadDelays;
use crate::engine::EngineSummary;
use crate::replay::ReplaySummary;
use crate::samples::Samples;
use crate::verify::VerifyResults;

/// One job entry of the report: a job, or several jobs that were merged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    pub name: String,
    pub description: Option<String>,
    /// The run status group of the entry.
    pub group_id: u32,
    /// Number of jobs in this entry.
    pub members: u32,
    /// Thread id of the first job.
    pub pid: u32,
    /// When the job began, in whole milliseconds since 1970 or of the clock of `job_start_clock_id`.
    pub start: Nanos,
    /// The error that ended the job, else the first error that it survived (`continue_on_error`).
    pub error: Option<Errno>,
    /// An error ended a job of this entry.
    #[serde(default)]
    pub failed: bool,
    /// Meaning of `error` and where it occurred, in words; empty without an error.
    pub error_text: String,
    /// Estimated time left, in whole seconds; `None` if unknown.
    pub eta: Option<Nanos>,
    /// Time since the run began, in whole seconds; a started second counts as a whole one.
    pub elapsed: Nanos,
    /// Options of the job: name and value, in the order of the job file.
    pub options: Vec<(String, String)>,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// The percentages of the reported percentiles, ascending; empty if neither completion nor total
    /// latencies have percentiles.
    pub percentile_list: Vec<f64>,
    /// Decimals of those percentages in the percentile block.
    pub percentile_decimals: u32,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// Rows for read, write, trim and mixed, as far as `unified` shows them; idle directions too.
    pub dirs: Vec<DirReport>,
    pub sync: SyncReport,
    /// Run time, in whole milliseconds; the sum if the entry has several jobs.
    pub runtime: Nanos,
    /// User time, percent of the runtime.
    pub usr_cpu: f64,
    /// System time, percent of the runtime.
    pub sys_cpu: f64,
    /// Context switches.
    pub ctx: u64,
    /// Page faults that needed I/O.
    pub majf: u64,
    /// Page faults without I/O.
    pub minf: u64,
    /// Percent of I/Os issued at depth 1, 2-3, 4-7, … 64 and more.
    pub depth_level: [f64; 7],
    /// Percent of submission calls with 0, 1-4, 5-8 … more than 64 I/Os.
    pub depth_submit: [f64; 7],
    /// Percent of completion calls with 0, 1-4, 5-8 … more than 64 I/Os.
    pub depth_complete: [f64; 7],
    /// I/Os issued: read, write, trim, sync.
    pub issued: [u64; 4],
    /// I/Os that were short: read, write, trim, sync.
    pub short: [u64; 4],
    /// I/Os dropped: read, write, trim, sync.
    pub dropped: [u64; 4],
    /// Percent of I/Os under 2, 4, 10 … 1000 ns.
    pub latency_ns: [f64; 10],
    /// Percent of I/Os under 2, 4, 10 … 1000 µs.
    pub latency_us: [f64; 10],
    /// Percent of I/Os under 2 µs, including those under 1000 ns.
    pub latency_under_2us: f64,
    /// Percent of I/Os under 2, 4, 10 … 2000 ms, and over.
    pub latency_ms: [f64; 12],
    /// Errors survived; `None` without `continue_on_error`.
    pub errors: Option<ErrorReport>,
    /// `iodepth`, or the depth that `latency_target` found; 0 if the job did not run.
    pub latency_depth: u32,
    pub latency_target: Nanos,
    pub latency_percentile: f64,
    /// `latency_window`, in whole microseconds.
    pub latency_window: Nanos,
    /// `steadystate`; `None` if it is not set.
    pub steady_state: Option<SteadyState>,
    /// Zones that were reset; `None` if the target is not zoned.
    pub zone_resets: Option<u64>,
    /// Times that a job which reads zones found no zone with data and therefore ended its pass over a file.
    #[serde(default)]
    pub nothing_to_read: u64,
    /// Latency from the time at which each I/O was due, for rows that have a rate. Unlike completion
    /// latency, it includes the delay of I/Os that were due while the device stalled (coordinated omission).
    #[serde(default)]
    pub intended: Vec<(DirKind, LatencySummary)>,
    /// Delays of the job's threads that the machine caused.
    #[serde(default)]
    pub delays: ThreadDelays,
    /// How it followed the trace that it replayed; `None` without `read_iolog`.
    pub replay: Option<ReplaySummary>,
    /// How many trims blocks survived; `None` without `block_error_percentiles`.
    #[serde(default)]
    pub block_errors: Option<BlockErrors>,
    /// Results of verification; `None` if the job does not verify.
    #[serde(default)]
    pub verify: Option<VerifyResults>,
    /// What the engines of the jobs counted.
    #[serde(default)]
    pub engine: EngineSummary,
    /// What the job did in windows of time, with latencies; empty if it did no I/O, or if the report is not from fiord.
    #[serde(default, skip_serializing_if = "Samples::is_empty")]
    pub samples: Samples,
}

impl JobReport {
    /// I/Os issued in the directions of a row, including those that failed.
    #[must_use]
    pub fn issued_in(&self, kind: DirKind) -> u64 {
        match kind {
            DirKind::Read => self.issued[0],
            DirKind::Write => self.issued[1],
            DirKind::Trim => self.issued[2],
            DirKind::Mixed => self.issued[..3].iter().sum(),
        }
    }
    /// Whether the job issued any I/O.
    #[must_use]
    pub fn did_io(&self) -> bool {
        self.issued_in(DirKind::Mixed) > 0 || self.dirs.iter().any(|d| d.io_bytes > Bytes::ZERO)
    }
}

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unified {
    /// Each direction separately.
    #[default]
    Separate,
    /// Only the sum.
    Mixed,
    /// Each direction, and the sum.
    Both,
}

/// Errors that a job survived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Number of errors.
    pub total: u64,
    pub first: Option<Errno>,
    /// Meaning of `first`, in words; `Success` without an error.
    pub first_text: String,
}

/// Completed fsync, fdatasync, sync_file_range and syncfs calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Syncs completed.
    pub total_ios: u64,
    pub lat: LatencySummary,
}
