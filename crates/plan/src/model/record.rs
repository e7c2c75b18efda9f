//! What a job measures, and how reports show it.

use std::path::PathBuf;

use fiord_types::{Errno, Nanos};

use super::{ClockSource, Stated, Unified};

/// What a job measures.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Measure completion latency (off: `disable_clat`).
    pub clat: bool,
    /// Measure submission latency (off: `disable_slat`).
    pub slat: bool,
    /// Measure total latency (off: `disable_lat`).
    pub lat: bool,
    /// Measure bandwidth and IOPS over windows (off: `disable_bw_measurement`).
    pub bandwidth: bool,
    /// `bwavgtime`: length of a bandwidth window.
    pub bandwidth_window: Nanos,
    /// `iopsavgtime`: length of an IOPS window.
    pub iops_window: Nanos,
    /// `clat_percentiles`: report percentiles of completion latency.
    pub clat_percentiles: bool,
    /// `lat_percentiles`: report percentiles of total latency.
    pub lat_percentiles: bool,
    /// `slat_percentiles`: report percentiles of submission latency.
    pub slat_percentiles: bool,
    /// `generator_shares`: sample what the thread spends its time on.
    pub shares: bool,
    /// `percentile_list`: the percentiles to report, in per cent, ascending.
    pub percentiles: Vec<f64>,
    /// Number of decimals of printed percentiles: the most that any value of `percentile_list` has.
    pub percentile_decimals: u32,
    /// `latency_limits`: limits on the latency in each slice of the run.
    pub slices: Option<LatencySlices>,
    /// `block_error_percentiles`: count the trims of each block before its first error.
    pub block_errors: bool,
    /// `clocksource`: the clock that measures latencies. `None`: the best available clock.
    pub clock: Option<ClockSource>,
    /// `gtod_cpu`: the CPU that only keeps the time.
    pub clock_cpu: Option<u32>,
    /// `job_start_clock_id`: the clock id (`clock_gettime(2)`) of `job_start` in JSON.
    pub start_clock_id: Option<i32>,
}

/// `latency_limits` and related options: the share of I/Os in each slice of time that may exceed a
/// latency.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencySlices {
    /// `latency_test`: the name of the test. Jobs of a group with the same name, slice and limits
    /// are judged together.
    pub name: String,
    pub length: Nanos,
    /// Pairs of a latency and the share of I/Os, in per cent, that may exceed it;
    /// ascending by latency.
    pub limits: Vec<(Nanos, f64)>,
}

/// How reports show a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Reporting {
    /// `group_reporting`: report the sum of the group instead of each job.
    pub group: bool,
    /// `unified_rw_reporting`: report directions separately, their sum, or both.
    pub unified: Unified,
    /// `significant_figures`: number of significant digits, 1 to 10.
    pub significant_figures: u8,
    /// `stats`: the job appears in the report.
    pub stats: bool,
    /// `disk_util`: report the utilization of the disks.
    pub disk_util: bool,
    /// `core_bandwidth`: report the bandwidth of the group per core, too.
    pub per_core: bool,
    /// `kb_base`: bytes per kilobyte, 1000 or 1024.
    pub kb_base: u32,
    /// `unit_base`: 0 (chosen by the engine), 1 (bits) or 8 (bytes).
    pub unit_base: u8,
    /// `continue_on_error`, `ignore_error`: the errors after which the job continues.
    pub continue_on_error: ContinueOnError,
    /// `error_dump`: print each of these errors.
    pub error_dump: bool,
    /// `verify_extents`: file for a list of all corrupt extents.
    pub verify_extents: Option<PathBuf>,
    /// `verify_complete`: the run fails if the job verified less than it wrote.
    pub verify_complete: bool,
    /// `spec`: the numbers of the device's data sheet.
    pub spec: Vec<Stated>,
    /// `ignore_findings`: ids of findings that reports omit for this job.
    pub ignore_findings: Vec<String>,
}

/// `continue_on_error`, `ignore_error`: the errors after which a job continues. By default every error ends the job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ContinueOnError {
    pub reads: Tolerance,
    /// Errors of writes, trims and flushes.
    pub writes: Tolerance,
    pub verification: Tolerance,
}

/// The errors of one kind of I/O after which a job continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Tolerance {
    /// No error.
    #[default]
    None,
    /// Errors that concern one location on the medium: `EIO`, `EILSEQ`, and some statuses of devices.
    Medium,
    /// Errors with these numbers: of errno, or statuses of NVMe (type and code).
    Listed(Vec<i32>),
}

impl Tolerance {
    /// Whether errors of this kind of I/O are counted.
    #[must_use]
    pub fn counts(&self) -> bool {
        *self != Tolerance::None
    }

    /// Whether the job continues after bad data.
    #[must_use]
    pub fn accepts_bad_data(&self) -> bool {
        match self {
            Tolerance::None => false,
            Tolerance::Medium => true,
            Tolerance::Listed(list) => list.contains(&Errno::EILSEQ.raw()),
        }
    }
}

impl ContinueOnError {
    /// The job continues after all errors of the medium.
    pub const ALL: ContinueOnError = ContinueOnError {
        reads: Tolerance::Medium,
        writes: Tolerance::Medium,
        verification: Tolerance::Medium,
    };

    /// Whether the job continues after any kind of error.
    #[must_use]
    pub fn any(&self) -> bool {
        self.reads.counts() || self.writes.counts() || self.verification.counts()
    }
}
