//! What a worker has measured.

use fiord_formats::verify::state::VerifyState;
use fiord_stat::block_errors::BlockErrors;
use fiord_stat::delays::ThreadDelays;
use fiord_stat::engine::EngineReport;
use fiord_stat::live::Totals;
use fiord_stat::recorder::Recorder;
use fiord_stat::replay::ReplayResults;
use fiord_stat::samples::Samples;
use fiord_stat::shares::TimeShares;
use fiord_stat::snapshot::JobCounts;
use fiord_stat::verify::VerifyResults;
use fiord_stat::windows::Windows;
use fiord_sys::usage::ResourceUsage;
use fiord_types::Nanos;

use crate::error::JobError;
use crate::zones::Counts;

/// What a job has counted so far, for observers that export it.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveredCounts {
    /// When the counts were taken, by `CLOCK_MONOTONIC`.
    pub at: Nanos,
    /// The job was in its ramp then.
    pub in_ramp: bool,
    /// Bytes and I/Os.
    pub totals: Totals,
    /// Latencies and errors.
    pub counts: JobCounts,
}

/// What a worker has measured: its results at its end, or so far (`--status-interval`, SIGUSR1).
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkerResult {
    /// The recorder with all measurements.
    pub recorder: Box<Recorder>,
    /// The error that ended it early, if any.
    pub error: Option<JobError>,
    /// The first error that it survived (`continue_on_error`).
    pub survived: Option<JobError>,
    /// Length of the measured part, by the engine's clock: from the end of the ramp to the last completion or
    /// flush, or to now.
    pub runtime: Nanos,
    /// Resource usage of the thread in the measured part.
    pub usage: ResourceUsage,
    /// Delays that the machine caused in the measured part.
    pub delays: ThreadDelays,
    /// How the thread spent its time; `None` without samples, and before its end.
    pub shares: Option<TimeShares>,
    /// The depth that `latency_target` has found; `None` without it.
    pub depth_found: Option<u32>,
    /// What the job did to zones; `None` without `zonemode=zbd`.
    pub zones: Option<Counts>,
    /// Part of `runtime` in which the job only read its writes back (`verify`).
    pub read_back: Nanos,
    /// The job has also read some of its writes back while it wrote (`verify_backlog`).
    pub reads_between: bool,
    /// How many trims blocks survived; `None` without `block_error_percentiles`.
    pub block_errors: Option<BlockErrors>,
    /// What the job verified; `None` without `verify`.
    pub verify: Option<VerifyResults>,
    /// Warnings about its I/Os.
    pub warnings: Vec<String>,
    /// What the engine counted; empty before the job's end.
    pub engine: EngineReport,
    /// How it followed its trace; `None` without `read_iolog`.
    pub replay: Option<Box<ReplayResults>>,
    /// What it did in windows of time.
    pub samples: Samples,
    /// Rates of the job in windows of time.
    pub windows: Windows,
    /// Counts of the job, if they have latencies that the job did not ask for and the recorder has dropped.
    pub counts: Option<Box<JobCounts>>,
    /// What it saves about its writes; `None` without `verify_state_save`.
    pub verify_state: Option<VerifyState>,
}
