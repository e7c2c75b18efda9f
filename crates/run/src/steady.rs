//! `steadystate` in a run: workers take samples, those of a group are judged together.
//!
//! A worker samples its own counters, by the clock of its engine, when it looks around: the moments
//! are exact, and a simulated device is judged in its own time. On simulated devices the clocks of
//! several jobs go apart; their samples are paired by number, not by moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fiord_plan::{JobPlan, SteadyMeasure, SteadyPlan, SteadyRule};
use fiord_stat::recorder::Recorder;
use fiord_stat::report::SteadyState;
use fiord_stat::steady::window::Limit;
use fiord_stat::steady::{Criterion, Group, Measure, Part, Rule};

/// Jobs that are judged, and end, together.
#[derive(Debug)]
struct Jury {
    group: Mutex<Group>,
    attained: AtomicBool,
    plan: SteadyPlan,
}

impl Jury {
    fn group(&self) -> MutexGuard<'_, Group> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A job's place among those it is judged with.
#[derive(Debug, Clone)]
pub struct Membership {
    jury: Arc<Jury>,
    member: usize,
}

impl Membership {
    /// Whether steady state is attained: the job is to end.
    pub fn attained(&self) -> bool {
        self.jury.attained.load(Ordering::Relaxed)
    }
    /// The job has ended, or will never begin.
    pub fn ended(&self) {
        self.jury.group().ended(self.member);
    }
    /// What the report shows.
    pub fn report(&self) -> SteadyState {
        let plan = &self.jury.plan;
        let duration = plan.interval.saturating_mul(plan.samples.into());
        self.jury.group().report(plan.spec.clone(), duration.div_ceil(1_000_000_000))
    }
}

/// The memberships of all jobs, in their order. Jobs that are reported as one are judged as one, by
/// the criterion of the first of them.
pub(crate) fn memberships(jobs: &[JobPlan]) -> Vec<Option<Membership>> {
    let mut out: Vec<Option<Membership>> = vec![None; jobs.len()];
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
        let group = Group::new(criterion(plan), plan.samples as usize, members.len());
        let jury = Arc::new(Jury {
            group: Mutex::new(group),
            attained: AtomicBool::new(false),
            plan: plan.clone(),
        });
        for (member, index) in members.into_iter().enumerate() {
            out[index] = Some(Membership { jury: Arc::clone(&jury), member });
        }
    }
    out
}

fn criterion(plan: &SteadyPlan) -> Criterion {
    Criterion {
        measure: match plan.measure {
            SteadyMeasure::Iops => Measure::Iops,
            SteadyMeasure::Bandwidth => Measure::Bandwidth,
            SteadyMeasure::Latency => Measure::Latency,
        },
        rule: match plan.rule {
            SteadyRule::Deviation { limit: value, percent } => {
                Rule::Deviation(Limit { value, percent })
            }
            SteadyRule::Slope { limit: value, percent } => Rule::Slope(Limit { value, percent }),
            SteadyRule::Pts => Rule::Pts,
        },
    }
}

/// What a recorder had counted.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    ios: u64,
    bytes: u64,
    latency: u64,
}

impl Counted {
    fn of(recorder: &Recorder) -> Self {
        recorder.dirs.iter().zip(recorder.totals()).fold(
            Counted::default(),
            |all, (dir, (bytes, ios))| Counted {
                ios: all.ios + ios,
                bytes: all.bytes + bytes,
                latency: all.latency.wrapping_add(dir.clat.sum()),
            },
        )
    }
}

/// A worker's part in it.
#[derive(Debug)]
pub(crate) struct Sampler<'a> {
    membership: &'a Membership,
    /// When the next interval ends; before the first, when that begins.
    due: u64,
    /// When the running interval began, and what had been counted then.
    last: Option<(u64, Counted)>,
}

impl<'a> Sampler<'a> {
    /// The measured part of the job begins now.
    pub fn begin(membership: &'a Membership, now: u64) -> Self {
        membership.jury.group().begin(membership.member);
        let due = now.saturating_add(membership.jury.plan.ramp);
        Sampler { membership, due, last: None }
    }

    /// When to look next.
    pub fn due(&self) -> u64 {
        self.due
    }

    /// Looks at what was counted. True when steady state is attained.
    pub fn look(&mut self, now: u64, recorder: &Recorder) -> bool {
        if now < self.due {
            return self.membership.attained();
        }
        let interval = self.membership.jury.plan.interval;
        let counted = Counted::of(recorder);
        if let Some((from, before)) = self.last {
            self.deposit(now - from, interval, &before, &counted);
        }
        self.last = Some((now, counted));
        self.due += ((now - self.due) / interval + 1) * interval;
        self.membership.attained()
    }

    /// Hands in what was done in the last `ns`.
    fn deposit(&self, ns: u64, interval: u64, before: &Counted, now: &Counted) {
        let jury = &self.membership.jury;
        let mut group = jury.group();
        // Nobody looked for longer than an interval: nothing completed in the ones before the last.
        let idle = (ns / interval).saturating_sub(1).min(u64::from(jury.plan.samples));
        let mut attained = false;
        for _ in 0..idle {
            let nothing = Part { ns: interval, ..Part::default() };
            attained |= group.take(self.membership.member, nothing);
        }
        let part = Part {
            ns: ns - idle * interval,
            ios: now.ios - before.ios,
            bytes: now.bytes - before.bytes,
            latency: now.latency.wrapping_sub(before.latency),
        };
        attained |= group.take(self.membership.member, part);
        if attained {
            jury.attained.store(true, Ordering::Relaxed);
        }
    }
}
