//! Decides which job may start when, and which jobs end together. It uses no clock and no thread.
//!
//! Jobs are considered in plan order. `stonewall` delays the job and all jobs after it until every job before
//! it has ended; `wait_for` and `startdelay` delay only the job itself. Delays count from the start of the
//! run.

use fiord_plan::{ExitWhat, JobPlan};
use fiord_types::JobIndex;

/// State of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Started,
    Ended,
}

/// The start order of the jobs of a run.
#[derive(Debug)]
pub(crate) struct Schedule<'p> {
    jobs: &'p [JobPlan],
    states: Vec<State>,
    delays: Vec<u64>,
}

impl<'p> Schedule<'p> {
    /// A schedule of `jobs`. Random delays derive from each job's seed.
    pub(crate) fn new(jobs: &'p [JobPlan]) -> Self {
        Schedule {
            jobs,
            states: vec![State::Waiting; jobs.len()],
            delays: jobs.iter().map(delay).collect(),
        }
    }

    /// Returns the jobs that may start `elapsed` ns into the run, and marks them as started.
    pub(crate) fn start(&mut self, elapsed: u64) -> Vec<usize> {
        let mut now = Vec::new();
        for index in 0..self.jobs.len() {
            if self.states[index] != State::Waiting {
                continue;
            }
            if self.behind_wall(index) {
                break;
            }
            if self.delays[index] <= elapsed && self.waited_for(index) {
                now.push(index);
            }
        }
        for &index in &now {
            self.states[index] = State::Started;
        }
        now
    }

    /// When the next job that waits only for its delay may start, ns into the run.
    pub(crate) fn next_start(&self) -> Option<u64> {
        let mut next: Option<u64> = None;
        for index in 0..self.jobs.len() {
            if self.states[index] != State::Waiting {
                continue;
            }
            if self.behind_wall(index) {
                break;
            }
            if self.waited_for(index) {
                let delay = self.delays[index];
                next = Some(next.map_or(delay, |other| other.min(delay)));
            }
        }
        next
    }

    /// Records that a job has ended or will never start.
    pub(crate) fn ended(&mut self, index: usize) {
        if let Some(state) = self.states.get_mut(index) {
            *state = State::Ended;
        }
    }

    /// The jobs that must stop because this job ended: those that `exit_what` names, if it has `exitall`, or if it
    /// has `exitall_on_error` and `failed`. Includes jobs that have not started, but none that have ended.
    pub(crate) fn ended_with(&self, index: usize, failed: bool) -> Vec<usize> {
        let Some(job) = self.jobs.get(index) else { return Vec::new() };
        if !(job.end.exitall || failed && job.end.exitall_on_error) {
            return Vec::new();
        }
        let same = |other: &JobPlan| match job.end.exit_what {
            ExitWhat::All => true,
            ExitWhat::Group => other.identity.group == job.identity.group,
            ExitWhat::Stonewall => other.identity.stonewall_group == job.identity.stonewall_group,
        };
        let others = self.jobs.iter().enumerate();
        others
            .filter(|(i, other)| *i != index && self.states[*i] != State::Ended && same(other))
            .map(|(i, _)| i)
            .collect()
    }

    /// The jobs that must stop because all jobs that do I/O have ended (`exit_on_io_done`).
    pub(crate) fn ended_with_io(&self) -> Vec<usize> {
        let mut working = self.jobs.iter().enumerate().filter(|(_, job)| job.engine.def().does_io);
        let ended = |index: usize| self.states[index] == State::Ended;
        if working.clone().next().is_none() || working.any(|(index, _)| !ended(index)) {
            return Vec::new();
        }
        let jobs = self.jobs.iter().enumerate();
        jobs.filter(|(i, job)| job.end.with_io && !ended(*i)).map(|(i, _)| i).collect()
    }

    /// Whether a job waits to be started.
    pub(crate) fn is_waiting(&self, index: usize) -> bool {
        self.states.get(index) == Some(&State::Waiting)
    }

    /// Whether every job has ended.
    pub(crate) fn over(&self) -> bool {
        self.states.iter().all(|s| *s == State::Ended)
    }

    fn behind_wall(&self, index: usize) -> bool {
        self.jobs[index].start.stonewall
            && self.states[..index].iter().any(|state| *state != State::Ended)
    }

    fn waited_for(&self, index: usize) -> bool {
        let ended = |job: &JobIndex| self.states.get(job.get()).is_none_or(|s| *s == State::Ended);
        self.jobs[index].start.wait_for.iter().all(ended)
    }
}

/// Draws the `startdelay` of a job from its range, ns.
fn delay(job: &JobPlan) -> u64 {
    let (low, high) = job.start.delay;
    let width = u128::from(high.saturating_sub(low).0) + 1;
    let mut state = job.load.seed ^ job.identity.index.get() as u64;
    let x = fiord_load::rng::splitmix(&mut state);
    low.0 + u64::try_from((u128::from(x) * width) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests;
