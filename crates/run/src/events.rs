//! What a run says while it runs. It prints nothing: an [`Observer`] does.

use std::path::Path;

use fiord_stat::progress::Progress;
use fiord_stat::report::Report;

use crate::error::JobError;

/// One thing that happened. All events of a run come from one thread, in order.
#[derive(Debug)]
pub enum Event<'a> {
    /// Files of a job that are missing or too small are made.
    LayingOut {
        /// The job.
        job: &'a str,
        /// How many files.
        files: usize,
        /// How large they are together when done, bytes.
        bytes: u64,
    },
    /// Everything that is laid out before the run is there; no job has begun.
    LaidOut,
    /// `exec_prerun` or `exec_postrun` starts; what it prints goes to a file.
    Command {
        /// The job.
        job: &'a str,
        /// "prerun" or "postrun".
        when: &'static str,
        /// Where its output goes.
        output: &'a Path,
    },
    /// A job's measured thread was let go.
    JobStarted {
        /// Index in the plan.
        index: usize,
        /// Its thread's id.
        pid: u32,
    },
    /// A job has ended, well or not.
    JobEnded {
        /// Index in the plan.
        index: usize,
        /// Its name.
        job: &'a str,
        /// Its thread's id; 0 when it never had one.
        pid: u32,
        /// What stopped it.
        error: Option<&'a JobError>,
    },
    /// Something is not as asked for and the run goes on. The result has it too
    /// (`Extras::warnings`).
    Warning {
        /// The job; `None` for the whole run.
        job: Option<&'a str>,
        /// What.
        what: &'a str,
    },
    /// The live line's numbers.
    Progress(&'a Progress),
    /// A report of the run so far (`--status-interval`, SIGUSR1).
    Status(&'a Report),
    /// A signal ends the run.
    Terminating {
        /// Its number.
        signal: i32,
    },
}

/// Is told what happens. It is called from the run's own thread, so it must not block for long.
pub trait Observer {
    /// Something happened.
    fn event(&mut self, event: &Event<'_>);
}

/// Hears nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Deaf;

impl Observer for Deaf {
    fn event(&mut self, _: &Event<'_>) {}
}
