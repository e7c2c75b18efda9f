//! How jobs start and end.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use fiord_plan::JobPlan;
use fiord_sys::clock;

use super::{Conductor, MS};
use crate::control::{Phase, StopReason};
use crate::events::Event;
use crate::shared::Finished;
use crate::{jobthread, report};

impl Conductor<'_> {
    /// Starts the threads of all jobs whose time has come.
    pub(super) fn start_jobs(&mut self) {
        let elapsed = clock::monotonic().saturating_sub(self.began);
        for index in self.schedule.start(elapsed) {
            if let Err(error) = jobthread::spawn(&self.run, index, &self.sender) {
                self.job_ended(
                    index,
                    Box::new(Finished { error: Some(error), ..Finished::default() }),
                );
            } else if self.run.plan.jobs[index].start.prerun.is_some() {
                self.loners.push(index);
            } else {
                self.gathering.push(index);
            }
        }
    }

    /// Opens the gate for jobs that are set up: together with those they were started with.
    pub(super) fn let_go(&mut self) {
        let run = Arc::clone(&self.run);
        let set_up = |index: &usize| run.jobs[*index].control.phase() >= Phase::Waiting;
        let mut ready = Vec::new();
        if self.gathering.iter().all(set_up) {
            ready.append(&mut self.gathering);
        }
        self.loners.retain(|index| {
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
        // One stamp for all, and nothing between two wake-ups: they begin together.
        let now = clock::monotonic();
        let wall = clock::wall();
        for &index in &ready {
            let book = &mut self.books[index];
            book.watch.go(now);
            book.start_ms = start_ms(&run.plan.jobs[index], wall);
        }
        for &index in &ready {
            run.jobs[index].control.go();
        }
        for index in ready {
            let pid = run.jobs[index].tid.load(Ordering::Relaxed);
            self.observer.event(&Event::JobStarted { index, pid });
        }
    }

    /// A job is over: it is told, and those go with it that it takes along.
    pub(super) fn job_ended(&mut self, index: usize, mut finished: Box<Finished>) {
        let run = Arc::clone(&self.run);
        finished.error = finished.error.take().or(self.books[index].ended_for.take());
        self.gathering.retain(|other| *other != index);
        self.loners.retain(|other| *other != index);
        let error = finished.first_error();
        let failed = error.is_some();
        // Of a job that only lays out its files this is all there was.
        if self.books[index].start_ms == 0 && !failed {
            self.books[index].start_ms = start_ms(&run.plan.jobs[index], clock::wall());
        }
        let pid = run.jobs[index].tid.load(Ordering::Relaxed);
        let job = report::name(&run.plan, index);
        self.observer.event(&Event::JobEnded { index, job, pid, error });
        let along = self.schedule.taken_along(index, failed);
        self.schedule.ended(index);
        self.books[index].finished = Some(finished);
        self.leaves_jury(index);
        let reason = if failed { StopReason::Failure } else { StopReason::ExitAll };
        for other in along {
            self.stop(other, reason);
        }
    }

    /// Ends a job: one that runs is told, one that has not started never will.
    pub(super) fn stop(&mut self, index: usize, reason: StopReason) {
        if self.books[index].finished.is_some() {
            return;
        }
        self.run.jobs[index].control.stop(reason);
        if self.schedule.is_waiting(index) {
            self.schedule.ended(index);
            self.books[index].finished = Some(Box::default());
            self.leaves_jury(index);
        } else {
            self.books[index].stopped_at.get_or_insert(clock::monotonic());
        }
    }

    /// Those a job is judged with wait for it no longer.
    fn leaves_jury(&self, index: usize) {
        if let Some(steady) = self.run.jobs[index].control.steady() {
            steady.ended();
        }
    }
}

/// The start of a job as `job_start` shows it: `wall`, or by the clock that the job names.
fn start_ms(job: &JobPlan, wall: u64) -> u64 {
    job.record.start_clock_id.and_then(|id| clock::read_id(id).ok()).unwrap_or(wall) / MS
}
