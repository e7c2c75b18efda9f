//! `steadystate` in a run: workers take samples, and a group of jobs reaches steady state together.
//!
//! A worker samples its own counters during housekeeping, with the clock of its engine. So the times are exact,
//! and a simulated device uses its virtual time. The virtual clocks of several jobs differ, so the samples of
//! a group are paired by number, not by time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fiord_plan::{JobPlan, SteadyPlan};
use fiord_stat::recorder::Recorder;
use fiord_stat::report::SteadyState;
use fiord_stat::steady::{Criterion, Group, IntervalCounts};
use fiord_types::{Bytes, Nanos};

/// Jobs that reach steady state, and end, together.
#[derive(Debug)]
struct SteadyGroup {
    samples: Mutex<Group>,
    attained: AtomicBool,
    plan: SteadyPlan,
}

impl SteadyGroup {
    fn lock(&self) -> MutexGuard<'_, Group> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job's membership in a steady-state group.
#[derive(Debug, Clone)]
pub(crate) struct SteadyMember {
    group: Arc<SteadyGroup>,
    member: usize,
}

impl SteadyMember {
    /// Whether the group has reached steady state, so that the job must end.
    pub(crate) fn attained(&self) -> bool {
        self.group.attained.load(Ordering::Relaxed)
    }
    /// Records that the job has ended or will never begin.
    pub(crate) fn ended(&self) {
        self.group.lock().ended(self.member);
    }
    /// The result for the report.
    pub(crate) fn report(&self) -> SteadyState {
        let plan = &self.group.plan;
        let duration = plan.interval.saturating_mul(plan.samples.into());
        self.group
            .lock()
            .report(plan.spec.clone(), Nanos::from_secs(duration.0.div_ceil(1_000_000_000)))
    }
}

/// The memberships of all jobs, in plan order. Jobs that share a report entry form one group with the criterion
/// of the first of them.
pub(crate) fn memberships(jobs: &[JobPlan]) -> Vec<Option<SteadyMember>> {
    let mut out: Vec<Option<SteadyMember>> = vec![None; jobs.len()];
    for (index, job) in jobs.iter().enumerate() {
        let Some(plan) = &job.end.steady else { continue };
        if out[index].is_some() {
            continue;
        }
        let joins = |other: &JobPlan| {
            let same = other.identity.group == job.identity.group;
            same && other.reporting.group && other.end.steady.is_some()
        };
        let members: Vec<usize> = match job.reporting.group {
            true => (index..jobs.len()).filter(|i| joins(&jobs[*i])).collect(),
            false => vec![index],
        };
        let criterion = Criterion { measure: plan.measure, rule: plan.rule };
        let samples = Group::new(criterion, plan.samples as usize, members.len());
        let group = Arc::new(SteadyGroup {
            samples: Mutex::new(samples),
            attained: AtomicBool::new(false),
            plan: plan.clone(),
        });
        for (member, index) in members.into_iter().enumerate() {
            out[index] = Some(SteadyMember { group: Arc::clone(&group), member });
        }
    }
    out
}

/// Totals of a recorder at one time.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    ios: u64,
    bytes: u64,
    latency: u64,
}

impl Counted {
    fn of(recorder: &Recorder) -> Self {
        recorder.dirs.values().zip(recorder.totals().values()).fold(
            Counted::default(),
            |all, (dir, (bytes, ios))| Counted {
                ios: all.ios + ios,
                bytes: all.bytes + bytes.0,
                latency: all.latency.wrapping_add(dir.clat.sum()),
            },
        )
    }
}

/// Samples the counters of one worker for `steadystate`.
#[derive(Debug)]
pub(crate) struct Sampler<'a> {
    membership: &'a SteadyMember,
    /// When the next interval ends; before the first interval, when that begins.
    due: u64,
    /// When the current interval began, and the totals at that time.
    last: Option<(u64, Counted)>,
}

impl<'a> Sampler<'a> {
    /// Starts sampling when the measured part of the job begins.
    pub(crate) fn begin(membership: &'a SteadyMember, now: u64) -> Self {
        membership.group.lock().begin(membership.member);
        let due = now.saturating_add(membership.group.plan.ramp.0);
        Sampler { membership, due, last: None }
    }

    /// When the next sample is due.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Takes a sample if it is due. True if the group has reached steady state.
    pub(crate) fn look(&mut self, now: u64, recorder: &Recorder) -> bool {
        if now < self.due {
            return self.membership.attained();
        }
        let interval = self.membership.group.plan.interval;
        let counted = Counted::of(recorder);
        if let Some((from, before)) = self.last {
            self.deposit(now - from, interval.0, &before, &counted);
        }
        self.last = Some((now, counted));
        self.due += ((now - self.due) / interval.0 + 1) * interval.0;
        self.membership.attained()
    }

    /// Adds the I/Os of the last `ns` to the group.
    fn deposit(&self, ns: u64, interval: u64, before: &Counted, now: &Counted) {
        let group = &self.membership.group;
        let mut samples = group.lock();
        // No sample for longer than an interval: no I/O completed in the intervals before the last.
        let idle = (ns / interval).saturating_sub(1).min(u64::from(group.plan.samples));
        let mut attained = false;
        for _ in 0..idle {
            let nothing = IntervalCounts { length: Nanos(interval), ..IntervalCounts::default() };
            attained |= samples.take(self.membership.member, nothing);
        }
        let part = IntervalCounts {
            length: Nanos(ns - idle * interval),
            ios: now.ios - before.ios,
            bytes: Bytes(now.bytes - before.bytes),
            latency: Nanos(now.latency.wrapping_sub(before.latency)),
        };
        attained |= samples.take(self.membership.member, part);
        if attained {
            group.attained.store(true, Ordering::Relaxed);
        }
    }
}
