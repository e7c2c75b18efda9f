//! Starts and ends jobs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fiord_plan::JobPlan;
use fiord_sys::clock;

use super::{Conductor, MS, jobthread};
use crate::events::{EventKind, JobFailure};
use crate::job::control::{Phase, StopReason};
use crate::results::report;
use crate::shared::Finished;

impl Conductor<'_> {
    /// Ends all jobs if a log cannot be created, before the first I/O.
    pub(super) fn refuse_without_logs(&mut self) {
        let run = Arc::clone(&self.run);
        for (index, error) in run.logs.errors() {
            let finished = Finished { error: Some(error.clone()), ..Finished::default() };
            self.job_ended(*index, Box::new(finished));
        }
        if !run.logs.errors().is_empty() {
            (0..self.entries.len()).for_each(|index| self.stop(index, StopReason::Failure));
        }
    }

    /// Starts the threads of all jobs that may start now.
    pub(super) fn start_jobs(&mut self) {
        let elapsed = clock::monotonic().saturating_sub(self.began);
        for index in self.schedule.start(elapsed) {
            if let Err(error) = jobthread::spawn(&self.run, index, &self.sender) {
                self.job_ended(
                    index,
                    Box::new(Finished { error: Some(error), ..Finished::default() }),
                );
            } else if self.run.plan.jobs[index].start.prerun.is_some() {
                self.solo.push(index);
            } else {
                self.cohort.push(index);
            }
        }
    }

    /// Releases the jobs that are set up. Jobs that were started together are released together.
    pub(super) fn release_ready(&mut self) {
        let run = Arc::clone(&self.run);
        let set_up = |index: &usize| run.jobs[*index].control.phase() >= Phase::Waiting;
        let mut ready = Vec::new();
        if self.cohort.iter().all(set_up) {
            ready.append(&mut self.cohort);
        }
        self.solo.retain(|index| {
            let ready_now = set_up(index);
            if ready_now {
                ready.push(*index);
            }
            !ready_now
        });
        if ready.is_empty() {
            return;
        }
        ready.retain(|index| run.jobs[*index].control.phase() == Phase::Waiting);
        self.release(ready, clock::monotonic(), clock::wall());
    }

    /// Releases jobs that wait for it. They begin at `now` of `CLOCK_MONOTONIC`, which is `wall` of the wall clock.
    pub(super) fn release(&mut self, ready: Vec<usize>, now: u64, wall: u64) {
        let run = Arc::clone(&self.run);
        self.devices.release(&ready, now);
        // All jobs get one timestamp, and nothing happens between two wake-ups, so that they begin together.
        for &index in &ready {
            let entry = &mut self.entries[index];
            entry.watch.release(now);
            entry.start_ms = start_ms(&run.plan.jobs[index], wall);
        }
        for &index in &ready {
            run.jobs[index].control.go();
        }
        for index in ready {
            let pid = run.jobs[index].tid.load(Ordering::Relaxed);
            self.events.send(EventKind::JobStarted { index, pid });
        }
    }

    /// Records that a job has ended, reports it, and stops the jobs that end with it (`exitall`).
    pub(super) fn job_ended(&mut self, index: usize, mut finished: Box<Finished>) {
        let run = Arc::clone(&self.run);
        self.devices.ended(index);
        finished.error = finished.error.take().or(self.entries[index].ended_for.take());
        self.cohort.retain(|other| *other != index);
        self.solo.retain(|other| *other != index);
        let error = finished.first_error();
        let failed = error.is_some();
        // A job that only lays out its files has no start time yet.
        if self.entries[index].start_ms == 0 && !failed {
            self.entries[index].start_ms = start_ms(&run.plan.jobs[index], clock::wall());
        }
        let pid = run.jobs[index].tid.load(Ordering::Relaxed);
        let job = report::name(&run.plan, index).to_owned();
        let failure = error.map(JobFailure::from);
        self.events.send(EventKind::JobEnded { index, job, pid, failure });
        let others = self.schedule.ended_with(index, failed);
        self.schedule.ended(index);
        self.entries[index].finished = Some(finished);
        self.leave_steady_group(index);
        let reason = if failed { StopReason::Failure } else { StopReason::ExitAll };
        for other in others {
            self.stop(other, reason);
        }
        for other in self.schedule.ended_with_io() {
            self.stop(other, StopReason::ExitAll);
        }
    }

    /// Stops a job. A job that has not started never starts.
    pub(super) fn stop(&mut self, index: usize, reason: StopReason) {
        if self.entries[index].finished.is_some() {
            return;
        }
        self.run.jobs[index].control.stop(reason);
        if self.schedule.is_waiting(index) {
            self.schedule.ended(index);
            self.entries[index].finished = Some(Box::default());
            self.leave_steady_group(index);
        } else {
            self.entries[index].stopped_at.get_or_insert(clock::monotonic());
        }
    }

    /// Removes an ended job from its steady-state group, so that the others do not wait for it.
    fn leave_steady_group(&self, index: usize) {
        if let Some(steady) = self.run.jobs[index].control.steady() {
            steady.ended();
        }
    }
}

/// The start time of a job for `job_start`, ms: `wall`, or the time of the clock in `job_start_clock_id`.
fn start_ms(job: &JobPlan, wall: u64) -> u64 {
    job.record.start_clock_id.and_then(|id| clock::read_id(id).ok()).unwrap_or(wall) / MS
}
