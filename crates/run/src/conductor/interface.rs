//! The inputs and results of a run.

use std::path::PathBuf;
use std::sync::Arc;

use fiord_stat::job::JobData;
use fiord_stat::report::Report;
use fiord_types::Nanos;

use super::gate::StartGate;
use crate::debug::DebugOutput;
use crate::error::JobError;
use crate::events::TriggerCause;
use crate::files::kept::FileKeeper;
use crate::idleness::IdleProfile;

/// A request from outside of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interrupt {
    /// End the run in an orderly way because of this signal. A second request ends it without the jobs that hang.
    End(i32),
    /// End the run in an orderly way, as if its jobs had done their work: the report is a normal one, with a note that
    /// the user ended the run.
    Finish,
    /// Create a status report.
    Status,
    /// Fire the trigger ([`RunOptions::trigger`]).
    Trigger,
}

/// A source of interrupts.
///
/// ```
/// use fiord_run::{Interrupt, Interrupts};
///
/// /// Asks for one status report.
/// struct OneReport(bool);
///
/// impl Interrupts for OneReport {
///     fn next(&mut self) -> Option<Interrupt> {
///         std::mem::take(&mut self.0).then_some(Interrupt::Status)
///     }
/// }
///
/// let mut source = OneReport(true);
/// assert_eq!((source.next(), source.next()), (Some(Interrupt::Status), None));
/// ```
pub trait Interrupts {
    /// The next pending interrupt; `None` if there is none. Must not block.
    fn next(&mut self) -> Option<Interrupt>;
}

/// A source without any interrupts.
#[derive(Debug, Default, Clone, Copy)]
pub struct NoInterrupts;

impl Interrupts for NoInterrupts {
    fn next(&mut self) -> Option<Interrupt> {
        None
    }
}

/// Options of a run that are not part of the plan.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Time between two [`EventKind::Progress`](crate::events::EventKind::Progress), ns; `None`: no such events.
    pub progress: Option<u64>,
    /// Progress contains the latencies since the last event. Each running job then copies its histograms for
    /// each event.
    pub latencies: bool,
    /// Time between two [`EventKind::Snapshot`](crate::events::EventKind::Snapshot) (`--series`, `--metrics`); `None`:
    /// no such events. Each running job then copies its histograms for each event.
    pub snapshots: Option<Nanos>,
    /// Time between two [`EventKind::Status`](crate::events::EventKind::Status) (`--status-interval`), ns; `None`:
    /// no such events.
    pub status: Option<u64>,
    /// Directory for files that the run itself creates (`--aux-path`).
    pub aux_path: PathBuf,
    /// How the names of the logs of the bandwidth of all jobs together begin (`--bandwidth-log`); `None`: no such logs.
    pub bandwidth_log: Option<String>,
    /// Name and version of the program, for the report.
    pub version: String,
    /// Offset of local time from UTC, seconds.
    pub utc_offset_s: i32,
    /// Destination and categories of `--debug`.
    pub debug: Option<DebugOutput>,
    /// What ends the run early (`--trigger-file`).
    pub trigger: Trigger,
    /// Which CPUs' idleness to measure (`--idle-prof`); `None`: not measured.
    pub idle_profile: Option<IdleProfile>,
    /// Decides when the first jobs start, so that they start together with those of other hosts. `None`: they start as
    /// soon as they are set up.
    pub gate: Option<Arc<dyn StartGate>>,
    /// The result contains the raw data of the jobs, which can be merged with those of other hosts.
    pub keep_data: bool,
    /// Keeps the verify states and the journals on another machine. `None`: they are files of this one.
    pub keeper: Option<Arc<dyn FileKeeper>>,
}

/// Ends a run: stops the jobs, saves their verify states, and runs a command.
#[derive(Debug, Clone, Default)]
pub struct Trigger {
    /// The trigger fires when this file exists, and removes the file.
    pub file: Option<PathBuf>,
    /// The trigger fires this long after the start of the jobs.
    pub timeout: Option<Nanos>,
    /// The trigger fires when [`Interrupts`] say so.
    pub from_outside: bool,
    /// The shell command that it runs.
    pub command: Option<String>,
    /// The output of the command goes to standard error instead of standard output.
    pub to_standard_error: bool,
}

impl Trigger {
    #[must_use]
    pub fn can_fire(&self) -> bool {
        self.file.is_some() || self.timeout.is_some() || self.from_outside
    }
}

impl RunOptions {
    /// Neither progress nor status events, nor debug output. Files of the run itself are in the current directory.
    /// `version`: name and version of the program, for the report.
    #[must_use]
    pub fn new(version: impl Into<String>) -> Self {
        RunOptions {
            progress: None,
            latencies: false,
            snapshots: None,
            status: None,
            aux_path: PathBuf::from("."),
            bandwidth_log: None,
            version: version.into(),
            utc_offset_s: 0,
            debug: None,
            trigger: Trigger::default(),
            idle_profile: None,
            gate: None,
            keep_data: false,
            keeper: None,
        }
    }
}

#[derive(Debug)]
pub struct RunResult {
    /// Everything that was measured.
    pub report: Report,
    /// The errors that ended jobs, by index in the plan.
    pub errors: Vec<(usize, JobError)>,
    /// The signal that ended the run.
    pub signal: Option<i32>,
    /// Why a trigger stopped the run, if one did.
    pub trigger: Option<TriggerCause>,
    /// Jobs that did not end in time, so that the run ended without them: index in the plan, and what they hang in.
    pub stuck: Vec<(usize, JobError)>,
    /// The raw data of the jobs, in the order of the plan. Empty unless [`RunOptions::keep_data`] asks for them.
    pub data: Vec<JobData>,
    /// When each job that waited at the start gate proceeded to its first I/O, by `CLOCK_MONOTONIC`, in the order of
    /// the plan. `None` for jobs that did not wait there.
    pub started: Vec<Option<Nanos>>,
}
