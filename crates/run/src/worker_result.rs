//! What a worker has measured.

use fiord_stat::delays::ThreadDelays;
use fiord_stat::engine::EngineReport;
use fiord_stat::live::Totals;
use fiord_stat::recorder::Recorder;
use fiord_stat::samples::Samples;
use fiord_stat::shares::TimeShares;
use fiord_stat::snapshot::JobCounts;
use fiord_stat::windows::Windows;
use fiord_sys::usage::ResourceUsage;
use fiord_types::Nanos;

use crate::error::JobError;
use crate::hook::HookResults;

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
    /// What the hooks of the job add.
    pub hooks: HookResults,
    /// What the engine counted; empty before the job's end.
    pub engine: EngineReport,
    /// What it did in windows of time.
    pub samples: Samples,
    /// Rates of the job in windows of time.
    pub windows: Windows,
    /// Counts of the job, if they have latencies that the job did not ask for and the recorder has dropped.
    pub counts: Option<Box<JobCounts>>,
}
