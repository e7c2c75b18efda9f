//! The trigger (`--trigger-file`, `--trigger-timeout`): stops the jobs, saves their verify states, and runs a command.
//!
//! The command may cut the power, so the order matters: no job issues another I/O, the states are durable, then the
//! command starts. The I/Os in flight continue meanwhile, and the states list them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fiord_formats::verify::state::VerifyState;
use fiord_plan::JobPlan;
use fiord_sys::clock;
use fiord_sys::file::{self, FileGuard};
use fiord_sys::process::{CommandOutput, ProcessEnding};
use fiord_types::{Errno, Nanos};

use super::{Conductor, MIN_SLEEP, MS, SECOND};
use crate::error::JobError;
use crate::events::{EventKind, TriggerCause};
use crate::job::command;
use crate::job::command::Stop;
use crate::job::control::StopReason;
use crate::shared::{Message, Run, Shared, send};
use crate::verify::WriteProgress;

/// Time between two checks for the file, ns.
const LOOK: u64 = 50 * MS;
/// How long the trigger waits for workers that are in a system call, ns. A worker that has not answered by then hangs in
/// an I/O, and issues no other one after it.
const PATIENCE: u64 = SECOND;

/// What the conductor knows about the trigger.
#[derive(Debug, Default)]
pub(super) struct TriggerWatch {
    /// The layout is over, so that the trigger may fire.
    armed: bool,
    next_look: u64,
    /// When the time of `--trigger-timeout` is over, ns.
    deadline: Option<u64>,
    fired: Option<TriggerCause>,
    /// The command runs.
    running: bool,
}

impl TriggerWatch {
    /// Arms the trigger, and starts the time of `--trigger-timeout`.
    pub(super) fn begin(&mut self, now: u64, timeout: Option<Nanos>) {
        self.armed = true;
        self.deadline = timeout.map(|timeout| now.saturating_add(timeout.0));
    }

    /// When the time is over.
    pub(super) fn due(&self) -> Option<u64> {
        self.deadline.filter(|_| self.fired.is_none())
    }

    /// Why it fired; `None` if it did not.
    pub(super) fn fired(&self) -> Option<TriggerCause> {
        self.fired
    }

    /// Whether the command runs.
    pub(super) fn is_running(&self) -> bool {
        self.running
    }
}

impl Conductor<'_> {
    /// Fires the trigger if its file exists or its time is over.
    pub(super) fn watch_trigger(&mut self) {
        if !self.trigger.armed || self.trigger.fired.is_some() || self.run.is_cancelled() {
            return;
        }
        let now = clock::monotonic();
        if self.trigger.deadline.is_some_and(|at| now >= at) {
            self.fire(TriggerCause::Timeout);
        } else if now >= self.trigger.next_look && self.options.trigger.file.is_some() {
            self.trigger.next_look = now + LOOK;
            self.look_for_file();
        }
    }

    /// Fires the trigger because the coordinator of the run says so.
    pub(super) fn fire_from_outside(&mut self) {
        if self.trigger.armed && self.trigger.fired.is_none() && !self.run.is_cancelled() {
            self.fire(TriggerCause::Coordinator);
        }
    }

    fn look_for_file(&mut self) {
        let Some(path) = self.options.trigger.file.as_deref() else { return };
        if !file::exists(path).unwrap_or(false) {
            return;
        }
        let removed = FileGuard::typed().remove(path);
        self.fire(TriggerCause::File);
        if let Err(error) = removed {
            let what = format!(
                "the trigger file could not be removed: {error}. To fix: remove it before the next run, or that run \
                 ends at once"
            );
            self.warn(None, &what);
        }
    }

    fn fire(&mut self, cause: TriggerCause) {
        let run = Arc::clone(&self.run);
        self.trigger.fired = Some(cause);
        run.cancelled.store(true, Ordering::Relaxed);
        for index in 0..self.entries.len() {
            self.stop(index, StopReason::Trigger);
        }
        let until = clock::monotonic() + PATIENCE;
        let quiet = |job: &Shared| job.control.is_quiet();
        while !run.jobs.iter().all(quiet) && clock::monotonic() < until {
            std::thread::sleep(Duration::from_nanos(MIN_SLEEP));
        }
        let states = self.save_states();
        let command = self.options.trigger.command.clone();
        self.events.send(EventKind::Triggered { cause, states, command: command.clone() });
        if let Some(command) = command {
            self.start_command(command);
        }
    }

    /// Saves the states of all jobs that write and verify. Returns their number.
    fn save_states(&mut self) -> usize {
        let run = Arc::clone(&self.run);
        run.triggered.store(true, Ordering::Release);
        let mut saved = 0;
        for (job, shared) in run.plan.jobs.iter().zip(&run.jobs) {
            if !job.verify.as_ref().is_some_and(|verify| verify.pass.writes()) {
                continue;
            }
            let result = match state(job, shared) {
                Ok(state) => run.state_store().save_durably(job, &state).map_err(|e| e.to_string()),
                Err(error) => Err(error.to_string()),
            };
            match result {
                Ok(()) => saved += 1,
                Err(what) => self.warn(Some(&job.identity.name), &what),
            }
        }
        saved
    }

    /// Runs the command on a thread of its own, so that the conductor handles signals and the ends of jobs meanwhile.
    fn start_command(&mut self, line: String) {
        let (run, sender) = (Arc::clone(&self.run), self.sender.clone());
        let output = match self.options.trigger.to_standard_error {
            true => CommandOutput::StandardError,
            false => CommandOutput::Inherited,
        };
        let body = move || {
            run.commands.fetch_add(1, Ordering::AcqRel);
            let ending = command::shell(&line, output, &|| stop(&run));
            run.commands.fetch_sub(1, Ordering::AcqRel);
            send(&sender, Message::TriggerEnded { line, ending });
        };
        match std::thread::Builder::new().name("trigger".into()).spawn(body) {
            Ok(_) => self.trigger.running = true,
            Err(error) => {
                let why = Errno::explain(&error);
                let what = format!(
                    "the command of the trigger did not run: cannot create a thread: {why}. To fix: raise the limit \
                     on threads (ulimit -u, pids.max)"
                );
                self.warn(None, &what);
            }
        }
    }

    /// The command of the trigger has ended.
    pub(super) fn trigger_ended(&mut self, line: &str, ending: fiord_sys::Result<ProcessEnding>) {
        self.trigger.running = false;
        let what = match ending {
            Ok(ending) if ending.is_success() || stop(&self.run) != Stop::No => return,
            Ok(ending) => format!("the command of the trigger `{line}` ended with {ending}"),
            Err(error) => format!("the command of the trigger `{line}` did not run: {error}"),
        };
        self.warn(None, &what);
    }
}

/// The state of a job: of its writes so far, or of none.
fn state(job: &JobPlan, shared: &Shared) -> Result<VerifyState, JobError> {
    match shared.writes.get() {
        Some(progress) => Ok(progress.state()),
        None => Ok(WriteProgress::of(job)?.state()),
    }
}

/// Whether the command may continue.
fn stop(run: &Run) -> Stop {
    match (run.abandoned.load(Ordering::Relaxed), run.signalled.load(Ordering::Relaxed)) {
        (true, _) => Stop::Now,
        (false, true) => Stop::Soon,
        (false, false) => Stop::No,
    }
}
