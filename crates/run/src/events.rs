//! The events that a run emits. The run prints nothing itself; an [`Observer`] does.

use std::path::Path;

use fiord_stat::progress::Progress;
use fiord_stat::report::Report;

use crate::error::JobError;

/// An event of a run. All events come from one thread, in order.
#[derive(Debug)]
pub enum Event<'a> {
    /// The layout starts to create or extend files of a job.
    LayingOut {
        /// The job's name.
        job: &'a str,
        /// Number of files.
        files: usize,
        /// Total size of these files after the layout, bytes.
        bytes: u64,
    },
    /// The layout before the run is complete; no job has started.
    LaidOut,
    /// `exec_prerun` or `exec_postrun` starts. Its output goes to a file.
    Command {
        /// The job.
        job: &'a str,
        /// "prerun" or "postrun".
        when: &'static str,
        /// The file that receives its output.
        output: &'a Path,
    },
    /// A job was released and begins its I/O.
    JobStarted {
        /// Index in the plan.
        index: usize,
        /// Id of its thread.
        pid: u32,
    },
    /// A job has ended, with or without an error.
    JobEnded {
        /// Index in the plan.
        index: usize,
        /// Its name.
        job: &'a str,
        /// Id of its thread; 0 if it never had one.
        pid: u32,
        /// The error that stopped it.
        error: Option<&'a JobError>,
    },
    /// The run continues without something that the user asked for. The result contains this too
    /// (`Extras::warnings`).
    Warning {
        /// The job's name; `None` for the whole run.
        job: Option<&'a str>,
        /// What the run could not do.
        what: &'a str,
    },
    /// The numbers of the live line.
    Progress(&'a Progress),
    /// A report of the run so far (`--status-interval`, SIGUSR1).
    Status(&'a Report),
    /// A signal ends the run early.
    Terminating {
        /// Number of the signal.
        signal: i32,
    },
}

/// Receives the events of a run. The conductor's thread calls it, so it must not block for long.
pub trait Observer {
    /// Handles an event.
    fn event(&mut self, event: &Event<'_>);
}

/// An observer that ignores all events.
#[derive(Debug, Default, Clone, Copy)]
pub struct NullObserver;

impl Observer for NullObserver {
    fn event(&mut self, _: &Event<'_>) {}
}
