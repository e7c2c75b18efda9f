//! Communication between a worker and the rest of the run while a job runs.
//!
//! The worker reads [`JobControl::housekeeping_due`] once for each batch: one load of a cache line that no other thread
//! writes until the job must stop or deliver a snapshot.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use fiord_engine::EndSignal;
use fiord_load::pace::FlowTicket;
use fiord_types::Nanos;

use super::steady::SteadyMember;
use crate::worker_result::{DeliveredCounts, WorkerResult};

/// Flag in the stop byte while a snapshot is requested, so that the worker sees both with one load.
const SNAPSHOT_WANTED: u8 = 0x80;
/// Flag in the stop byte while counts are requested.
const COUNTS_WANTED: u8 = 0x40;
/// All flags in the stop byte. The other bits are the reason to stop.
const REQUESTS: u8 = SNAPSHOT_WANTED | COUNTS_WANTED;

/// Why a job must stop before its work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum StopReason {
    /// The run time is over. The monitor sets this if the worker takes no timestamps or is late.
    Runtime = 1,
    /// The user ended the run.
    Signal = 2,
    /// Another job's end ends this one (`exitall`).
    ExitAll = 3,
    /// Another job failed (`exitall_on_error`), or the run cannot continue.
    Failure = 4,
    /// The job's results have stopped changing (`steadystate`).
    Steady = 5,
    /// A trigger ends the run (`--trigger-file`).
    Trigger = 6,
}

/// The stage of a job's life, for the live line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// No thread yet.
    NotStarted = 0,
    /// The thread opens files and fills buffers.
    SetUp = 1,
    /// The job is set up and waits to be released.
    Waiting = 2,
    /// The job runs but is not measured yet.
    Ramp = 3,
    /// The job runs and is measured.
    Running = 4,
    /// All I/Os are issued; the last ones complete and files are flushed.
    Finishing = 5,
    /// The thread has ended.
    Ended = 6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Shut,
    Open,
    Cancelled,
}

/// The state through which the conductor controls one worker.
#[derive(Debug)]
pub(crate) struct JobControl {
    stop: AtomicU8,
    /// When the worker must do its housekeeping, ns of the engine's clock. The worker sets it; 0 while it must stop or
    /// deliver a snapshot, so that one comparison is enough for all.
    due: AtomicU64,
    phase: AtomicU8,
    /// When measuring began, ns of `CLOCK_MONOTONIC`; 0: it has not.
    measured: AtomicU64,
    /// When the run began, ns of `CLOCK_MONOTONIC`: where the time line of its samples begins.
    origin: AtomicU64,
    /// When the job begins its first I/O, ns of `CLOCK_MONOTONIC`; 0: as soon as it is released.
    start_at: AtomicU64,
    /// When the job proceeded to its first I/O after waiting for `start_at`, ns of `CLOCK_MONOTONIC`; 0: it has not.
    started: AtomicU64,
    gate: Mutex<Gate>,
    moved: Condvar,
    snapshot: Mutex<Option<Box<WorkerResult>>>,
    taken: Condvar,
    counts: Mutex<Option<Box<DeliveredCounts>>>,
    steady: Option<SteadyMember>,
    flow_ticket: Mutex<Option<FlowTicket>>,
    /// The worker was stopped and issues no more I/Os.
    quiet: AtomicBool,
    /// Tells the job's engine that the job ends.
    end: EndSignal,
}

impl Default for JobControl {
    fn default() -> Self {
        Self::new()
    }
}

impl JobControl {
    /// A job that has not started.
    pub(crate) fn new() -> Self {
        JobControl {
            stop: AtomicU8::new(0),
            due: AtomicU64::new(0),
            phase: AtomicU8::new(Phase::NotStarted as u8),
            measured: AtomicU64::new(0),
            origin: AtomicU64::new(0),
            start_at: AtomicU64::new(0),
            started: AtomicU64::new(0),
            gate: Mutex::new(Gate::Shut),
            moved: Condvar::new(),
            snapshot: Mutex::new(None),
            taken: Condvar::new(),
            counts: Mutex::new(None),
            steady: None,
            flow_ticket: Mutex::new(None),
            quiet: AtomicBool::new(false),
            end: EndSignal::default(),
        }
    }

    /// Adds the job's place in a steady-state group.
    pub(crate) fn with_steady(mut self, steady: Option<SteadyMember>) -> Self {
        self.steady = steady;
        self
    }

    /// The job's place in a steady-state group; `None` without `steadystate`.
    pub(crate) fn steady(&self) -> Option<&SteadyMember> {
        self.steady.as_ref()
    }

    /// A job that has not started, with its place in a flow.
    pub(crate) fn with_flow_ticket(flow_ticket: Option<FlowTicket>) -> Self {
        JobControl { flow_ticket: Mutex::new(flow_ticket), ..Self::new() }
    }

    /// Takes the job's place in its flow. Later calls return `None`.
    pub(crate) fn take_seat(&self) -> Option<FlowTicket> {
        self.flow_ticket.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stops the job. Only the first reason counts.
    pub(crate) fn stop(&self, reason: StopReason) {
        let _ = self.stop.fetch_update(Ordering::SeqCst, Ordering::Relaxed, |old| {
            (old & !REQUESTS == 0).then_some(old | reason as u8)
        });
        fiord_sys::interleaving::point();
        self.due.store(0, Ordering::SeqCst);
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if *gate == Gate::Shut {
            *gate = Gate::Cancelled;
        }
        self.moved.notify_all();
        match reason {
            StopReason::Signal | StopReason::Trigger => self.end.interrupt(),
            StopReason::Runtime
            | StopReason::ExitAll
            | StopReason::Failure
            | StopReason::Steady => self.end.stop(),
        }
    }

    /// Tells the job's engine that the job ends.
    pub(crate) fn end(&self) -> &EndSignal {
        &self.end
    }

    /// The worker has seen the stop and issues no more I/Os. The worker calls it.
    pub(crate) fn become_quiet(&self) {
        self.quiet.store(true, Ordering::Release);
    }

    /// Whether the job issues no more I/Os. I/Os may be in flight.
    pub(crate) fn is_quiet(&self) -> bool {
        let never_starts =
            || *self.gate.lock().unwrap_or_else(PoisonError::into_inner) == Gate::Cancelled;
        self.quiet.load(Ordering::Acquire) || self.phase() >= Phase::Finishing || never_starts()
    }

    /// Whether the job must stop. One relaxed load.
    #[inline]
    pub(crate) fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) & !REQUESTS != 0
    }

    /// Whether the worker must stop or deliver a snapshot. One relaxed load. If true, check
    /// [`stopped`](Self::stopped) and [`snapshot_wanted`](Self::snapshot_wanted).
    #[inline]
    pub(crate) fn attention(&self) -> bool {
        self.stop.load(Ordering::Relaxed) != 0
    }

    /// Whether a snapshot is requested.
    pub(crate) fn snapshot_wanted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) & SNAPSHOT_WANTED != 0
    }

    /// Requests a snapshot, the results of the job so far; [`take_snapshot`](Self::take_snapshot) fetches it.
    /// Discards a snapshot that came too late for an earlier request.
    pub(crate) fn request_snapshot(&self) {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = None;
        fiord_sys::interleaving::point();
        self.stop.fetch_or(SNAPSHOT_WANTED, Ordering::SeqCst);
        fiord_sys::interleaving::point();
        self.due.store(0, Ordering::SeqCst);
    }

    /// Whether the worker must do its housekeeping at `now`, stop or deliver a snapshot. One relaxed load.
    #[inline]
    pub(crate) fn housekeeping_due(&self, now: u64) -> bool {
        now >= self.due.load(Ordering::Relaxed)
    }

    /// Sets when the worker must do its housekeeping. The worker calls it.
    pub(crate) fn schedule_housekeeping(&self, due: u64) {
        self.due.store(due, Ordering::SeqCst);
        fiord_sys::interleaving::point();
        // A stop that came just before this must not be overwritten.
        if self.stop.load(Ordering::SeqCst) != 0 {
            self.due.store(0, Ordering::SeqCst);
        }
    }

    /// Delivers a requested snapshot. The worker calls it.
    pub(crate) fn deliver_snapshot(&self, snapshot: Box<WorkerResult>) {
        *self.snapshot.lock().unwrap_or_else(PoisonError::into_inner) = Some(snapshot);
        fiord_sys::interleaving::point();
        self.stop.fetch_and(!SNAPSHOT_WANTED, Ordering::Release);
        fiord_sys::interleaving::point();
        self.taken.notify_all();
    }

    /// The worker has ended: it delivers no more snapshots, because its result follows.
    pub(crate) fn end_snapshots(&self) {
        self.set_phase(Phase::Ended);
        // With the lock, so that a thread that has just looked at the phase does not miss the notification.
        drop(self.snapshot.lock().unwrap_or_else(PoisonError::into_inner));
        self.taken.notify_all();
    }

    /// Waits up to `patience` for the requested snapshot. `None` if the worker did not deliver one in time,
    /// because it is in a system call, or if it has ended.
    pub(crate) fn take_snapshot(&self, patience: Duration) -> Option<Box<WorkerResult>> {
        let slot = self.snapshot.lock().unwrap_or_else(PoisonError::into_inner);
        let missing = |slot: &mut Option<_>| slot.is_none() && self.phase() != Phase::Ended;
        let waited = self.taken.wait_timeout_while(slot, patience, missing);
        let (mut slot, _) = waited.unwrap_or_else(PoisonError::into_inner);
        slot.take()
    }

    /// Whether counts are requested.
    pub(crate) fn counts_wanted(&self) -> bool {
        self.stop.load(Ordering::Relaxed) & COUNTS_WANTED != 0
    }

    /// Requests the counts of the job so far, which are a small part of a snapshot;
    /// [`take_counts`](Self::take_counts) fetches them.
    pub(crate) fn request_counts(&self) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.stop.fetch_or(COUNTS_WANTED, Ordering::SeqCst);
        self.due.store(0, Ordering::SeqCst);
    }

    /// Delivers requested counts. The worker calls it.
    pub(crate) fn deliver_counts(&self, counts: Box<DeliveredCounts>) {
        *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = Some(counts);
        self.stop.fetch_and(!COUNTS_WANTED, Ordering::Release);
    }

    /// The requested counts. `None` if the worker has not delivered them, because it is in a system call or has ended.
    pub(crate) fn take_counts(&self) -> Option<Box<DeliveredCounts>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Why the job was stopped; `None` if it was not.
    #[cfg(test)]
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        match self.stop.load(Ordering::Acquire) & !REQUESTS {
            1 => Some(StopReason::Runtime),
            2 => Some(StopReason::Signal),
            3 => Some(StopReason::ExitAll),
            4 => Some(StopReason::Failure),
            5 => Some(StopReason::Steady),
            6 => Some(StopReason::Trigger),
            _ => None,
        }
    }

    /// Releases a worker that is set up.
    pub(crate) fn go(&self) {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if *gate == Gate::Shut {
            *gate = Gate::Open;
        }
        self.moved.notify_all();
    }

    /// Waits for [`go`](Self::go). The worker calls it when it is set up. False if the job was stopped
    /// instead.
    pub(crate) fn wait_for_go(&self) -> bool {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        while *gate == Gate::Shut {
            gate = self.moved.wait(gate).unwrap_or_else(PoisonError::into_inner);
        }
        *gate == Gate::Open
    }

    /// Makes the worker begin its first I/O at `time`, ns of `CLOCK_MONOTONIC`. Must precede [`go`](Self::go).
    pub(crate) fn start_at(&self, time: u64) {
        self.start_at.store(time.max(1), Ordering::Release);
    }

    /// Waits until the start time. The worker calls it right before its first I/O. Returns earlier if the job is stopped.
    pub(crate) fn wait_for_start(&self) {
        /// Before the start time the worker spins for so long, ns, because a sleep may end late.
        const SPIN: u64 = 100_000;
        /// Longest sleep, ns, so that a stopped job ends soon.
        const NAP: u64 = 20_000_000;
        let start = self.start_at.load(Ordering::Acquire);
        if start == 0 {
            return;
        }
        let mut now = fiord_sys::clock::monotonic();
        while now < start && !self.stopped() {
            match start - now {
                left if left > SPIN => {
                    let _ = fiord_sys::clock::sleep_until(now + (left - SPIN).min(NAP));
                }
                _ => std::hint::spin_loop(),
            }
            now = fiord_sys::clock::monotonic();
        }
        if now >= start {
            self.started.store(now, Ordering::Release);
        }
    }

    /// When the job proceeded to its first I/O; `None` if it has not waited for a start time.
    pub(crate) fn started(&self) -> Option<Nanos> {
        Some(self.started.load(Ordering::Acquire)).filter(|&ns| ns > 0).map(Nanos)
    }

    /// Sets the phase of the job.
    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Release);
    }

    /// Sets when the run began, ns of `CLOCK_MONOTONIC`. Called before the job is released.
    pub(crate) fn set_origin(&self, began: u64) {
        self.origin.store(began, Ordering::Relaxed);
    }

    /// When the run began, by a clock that shows `now` at this moment. A clock that does not follow `CLOCK_MONOTONIC`
    /// (`ioengine=sim`) begins with the job.
    pub(crate) fn origin(&self, now: u64, virtual_time: bool) -> u64 {
        let ago = fiord_sys::clock::monotonic().saturating_sub(self.origin.load(Ordering::Relaxed));
        if virtual_time { now } else { now.saturating_sub(ago) }
    }

    /// Starts the measured part: sets [`Phase::Running`] and records the time.
    pub(crate) fn begin_measuring(&self) {
        self.measured.store(fiord_sys::clock::monotonic(), Ordering::Relaxed);
        self.set_phase(Phase::Running);
    }

    /// When the measured part began, ns of `CLOCK_MONOTONIC` whichever clock times the job; `None` if it has not.
    pub(crate) fn measured_since(&self) -> Option<u64> {
        (self.phase() >= Phase::Running)
            .then(|| self.measured.load(Ordering::Relaxed))
            .filter(|&ns| ns > 0)
    }

    pub(crate) fn phase(&self) -> Phase {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_stop_reason_stays_and_a_snapshot_request_does_not_stop() {
        let control = JobControl::new();
        control.request_snapshot();
        assert!(control.attention() && control.snapshot_wanted() && !control.stopped());
        assert_eq!(control.stop_reason(), None);
        control.stop(StopReason::Signal);
        control.stop(StopReason::Runtime);
        assert_eq!(control.stop_reason(), Some(StopReason::Signal));
        control.deliver_snapshot(Box::new(WorkerResult {
            runtime: Nanos(7),
            ..WorkerResult::default()
        }));
        assert!(!control.snapshot_wanted() && control.stopped());
        let taken = control.take_snapshot(Duration::from_secs(1));
        assert_eq!(taken.map(|s| s.runtime), Some(Nanos(7)));
        assert!(control.take_snapshot(Duration::ZERO).is_none());
        // Too late for one request, and outdated for the next.
        control.deliver_snapshot(Box::default());
        control.request_snapshot();
        assert!(control.take_snapshot(Duration::ZERO).is_none());
        control.end_snapshots();
        // The worker delivers none now, so the conductor does not wait for one.
        let begin = std::time::Instant::now();
        assert!(control.take_snapshot(Duration::from_secs(60)).is_none());
        assert!(begin.elapsed() < Duration::from_secs(50));
    }

    #[test]
    fn counts_and_snapshots_are_requested_independently() {
        let control = JobControl::new();
        control.request_counts();
        control.request_snapshot();
        control.deliver_snapshot(Box::default());
        assert!(control.counts_wanted() && !control.snapshot_wanted() && !control.stopped());
        control.stop(StopReason::Signal);
        assert_eq!(control.stop_reason(), Some(StopReason::Signal));
        control.deliver_counts(Box::default());
        assert!(control.take_counts().is_some() && control.take_counts().is_none());
        assert!(control.stopped());
    }

    #[test]
    fn a_stopped_job_does_not_wait_at_the_gate() {
        let control = JobControl::new();
        control.stop(StopReason::Failure);
        assert!(!control.wait_for_go());
        let control = JobControl::new();
        control.go();
        assert!(control.wait_for_go());
    }
}
