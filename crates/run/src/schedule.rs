//! Which job may start when, and which end with another. Pure bookkeeping: no clock, no thread.
//!
//! Jobs are looked at in the order of the plan. A job with `stonewall` holds back itself and all
//! after it until every job before it has ended; `wait_for` and `startdelay` hold back only the job
//! itself. Delays count from the start of the run.

use fiord_plan::{ExitWhat, JobPlan};

/// Where a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Waiting,
    Started,
    Ended,
}

/// The order of a run.
#[derive(Debug)]
pub struct Schedule<'p> {
    jobs: &'p [JobPlan],
    states: Vec<State>,
    delays: Vec<u64>,
}

impl<'p> Schedule<'p> {
    /// Of these jobs; delays are drawn from each job's seed.
    pub fn new(jobs: &'p [JobPlan]) -> Self {
        Schedule {
            jobs,
            states: vec![State::Waiting; jobs.len()],
            delays: jobs.iter().map(delay).collect(),
        }
    }

    /// Takes the jobs that may start now, `elapsed` nanoseconds into the run.
    pub fn start(&mut self, elapsed: u64) -> Vec<usize> {
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

    /// When (nanoseconds into the run) a job that only waits for its delay may start.
    pub fn next_start(&self) -> Option<u64> {
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

    /// A job has ended, or will never start.
    pub fn ended(&mut self, index: usize) {
        if let Some(state) = self.states.get_mut(index) {
            *state = State::Ended;
        }
    }

    /// The jobs that a job's end takes along: those that `exit_what` names, if it has `exitall`, or
    /// `exitall_on_error` and `failed`. Those that have not started are among them; those that have
    /// ended are not.
    pub fn taken_along(&self, index: usize, failed: bool) -> Vec<usize> {
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

    /// Whether a job waits to be started.
    pub fn is_waiting(&self, index: usize) -> bool {
        self.states.get(index) == Some(&State::Waiting)
    }

    /// Whether every job has ended.
    pub fn over(&self) -> bool {
        self.states.iter().all(|s| *s == State::Ended)
    }

    fn behind_wall(&self, index: usize) -> bool {
        self.jobs[index].start.stonewall
            && self.states[..index].iter().any(|state| *state != State::Ended)
    }

    fn waited_for(&self, index: usize) -> bool {
        let ended = |i: &usize| self.states.get(*i).is_none_or(|s| *s == State::Ended);
        self.jobs[index].start.wait_for.iter().all(ended)
    }
}

/// Draws a job's `startdelay`.
fn delay(job: &JobPlan) -> u64 {
    let (low, high) = job.start.delay;
    let width = u128::from(high.saturating_sub(low)) + 1;
    let mut state = job.load.seed ^ job.identity.index as u64;
    let x = fiord_load::rng::splitmix(&mut state);
    low + u64::try_from((u128::from(x) * width) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests;
