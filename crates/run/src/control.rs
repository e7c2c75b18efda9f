//! What a worker and the rest of the run say to each other while a job runs.
//!
//! The worker reads [`JobControl::stop_reason`] once a batch: a load of a cache line that nobody
//! writes until the job is to end.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

/// Why a job is to end before its work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum StopReason {
    /// Its run time is over (told by the monitor when the worker has no clock stamps of its own, or
    /// is late).
    Runtime = 1,
    /// The user ended the run.
    Signal = 2,
    /// Another job's end ends this one (`exitall`).
    ExitAll = 3,
    /// Another job failed (`exitall_on_error`), or the run can't go on.
    Failure = 4,
}

/// Where a job is in its life, for the live line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Phase {
    /// No thread yet.
    NotStarted = 0,
    /// Opens files, fills buffers.
    SetUp = 1,
    /// Waits for the others of its group.
    Waiting = 2,
    /// Runs, not measured yet.
    Ramp = 3,
    /// Runs.
    Running = 4,
    /// Its I/Os are issued; the last ones complete, files are flushed.
    Finishing = 5,
    /// The thread is gone.
    Ended = 6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Shut,
    Open,
    Cancelled,
}

/// Shared by one worker and those who steer it.
#[derive(Debug)]
pub struct JobControl {
    stop: AtomicU8,
    phase: AtomicU8,
    gate: Mutex<Gate>,
    moved: Condvar,
}

impl Default for JobControl {
    fn default() -> Self {
        Self::new()
    }
}

impl JobControl {
    /// A job that has not started.
    pub fn new() -> Self {
        JobControl {
            stop: AtomicU8::new(0),
            phase: AtomicU8::new(Phase::NotStarted as u8),
            gate: Mutex::new(Gate::Shut),
            moved: Condvar::new(),
        }
    }

    /// Tells the job to end. The first reason stays.
    pub fn stop(&self, reason: StopReason) {
        let _ = self.stop.compare_exchange(0, reason as u8, Ordering::Release, Ordering::Relaxed);
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if *gate == Gate::Shut {
            *gate = Gate::Cancelled;
        }
        self.moved.notify_all();
    }

    /// Whether it was told to end. One relaxed load.
    #[inline]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) != 0
    }

    /// Why it was told to end.
    pub fn stop_reason(&self) -> Option<StopReason> {
        match self.stop.load(Ordering::Acquire) {
            1 => Some(StopReason::Runtime),
            2 => Some(StopReason::Signal),
            3 => Some(StopReason::ExitAll),
            4 => Some(StopReason::Failure),
            _ => None,
        }
    }

    /// Lets a worker that is set up begin.
    pub fn go(&self) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if *gate == Gate::Shut {
            *gate = Gate::Open;
        }
        self.moved.notify_all();
    }

    /// Called by the worker when it is set up: waits for [`go`](Self::go). False when the job was
    /// stopped instead.
    pub fn wait_for_go(&self) -> bool {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        while *gate == Gate::Shut {
            gate = self.moved.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        *gate == Gate::Open
    }

    /// Says where the job is.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Where the job is.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::Acquire) {
            0 => Phase::NotStarted,
            1 => Phase::SetUp,
            2 => Phase::Waiting,
            3 => Phase::Ramp,
            4 => Phase::Running,
            5 => Phase::Finishing,
            _ => Phase::Ended,
        }
    }
}
