//! Which jobs run, or ran, at the same time, according to the plan and the report.

use fiord_plan::{JobPlan, Plan};
use fiord_stat::samples::Samples;
use fiord_types::Nanos;

use crate::check::After;
use crate::check::Entry;

/// A printed job that ran for this share of the run counts as running for all of it.
const SHARE: f64 = 0.9;
/// Jobs that end within this many seconds of each other count as ending together.
const TOGETHER: f64 = 0.1;

/// Returns the mean run time of the instances of a printed job, in seconds.
pub(crate) fn seconds(entry: &Entry<'_>) -> f64 {
    entry.report.runtime.as_secs_f64() / f64::from(entry.report.members.max(1))
}

/// Returns whether a printed job ran for all of a run of `run` seconds, so that a mean over the run is
/// a mean over the job. It is not if, for example, three jobs ran one after the other.
pub(crate) fn fills(entry: &Entry<'_>, run: f64) -> bool {
    seconds(entry) >= run * SHARE
}

/// Returns whether a printed job was the last to end: no other job started after it or ran longer. The
/// state of the machine after the run is then the state that this job left.
pub(crate) fn ends_the_run(known: &After<'_>, entry: &Entry<'_>) -> bool {
    let entries = known.entries();
    let ended = |other: &JobPlan| {
        let of_other = entries.iter().find(|one| has(one, other));
        of_other.is_some_and(|one| seconds(one) <= seconds(entry) + TOGETHER)
    };
    let others = known.plan.jobs.iter().filter(|job| !has(entry, job));
    let before = |other: &JobPlan| entry.jobs.iter().all(|job| follows(job, other));
    let along =
        |other: &JobPlan| at_once(other) && entry.jobs.iter().all(|job| starts_with(job, other));
    // All instances must start together: instances that wait for each other end at different times.
    entry.jobs.iter().all(|job| at_once(job) && starts_with(job, entry.jobs[0]))
        && entry.jobs.iter().all(|job| job.start.postrun.is_none())
        && others.into_iter().all(|other| before(other) || along(other) && ended(other))
}

fn has(entry: &Entry<'_>, job: &JobPlan) -> bool {
    entry.jobs.iter().any(|mine| mine.identity.index == job.identity.index)
}

/// Returns whether a job starts only after another job has ended.
fn follows(job: &JobPlan, other: &JobPlan) -> bool {
    job.identity.stonewall_group > other.identity.stonewall_group
        || job.start.wait_for.contains(&other.identity.index)
}

/// Returns whether a job starts without a delay of its own.
fn at_once(job: &JobPlan) -> bool {
    job.start.delay == (Nanos::ZERO, Nanos::ZERO)
}

/// Returns whether two jobs start at the same time.
fn starts_with(a: &JobPlan, b: &JobPlan) -> bool {
    a.identity.stonewall_group == b.identity.stonewall_group && a.start.wait_for == b.start.wait_for
}

/// What the plan and the report say about two jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concurrency {
    /// The jobs run at the same time.
    Yes,
    /// One of them starts after the other has ended.
    No,
    /// `startdelay`: it depends on how long the earlier one takes.
    Unknown,
}

/// Returns whether two jobs run at the same time, according to the plan.
pub(crate) fn concurrent(plan: &Plan, a: &JobPlan, b: &JobPlan) -> Concurrency {
    if a.identity.stonewall_group != b.identity.stonewall_group
        || waits_for(plan, a, b)
        || waits_for(plan, b, a)
    {
        return Concurrency::No;
    }
    let (first, second) = if a.start.delay.0 <= b.start.delay.0 { (a, b) } else { (b, a) };
    let (from, to) = first.start.delay;
    let (next, last) = second.start.delay;
    if next <= to {
        return Concurrency::Yes;
    }
    let runs = first.end.runtime.map(|time| time.saturating_add(first.end.ramp_time));
    match runs {
        Some(runs) if first.end.time_based && last < from.saturating_add(runs) => Concurrency::Yes,
        Some(runs) if to.saturating_add(runs) < next => Concurrency::No,
        _ => Concurrency::Unknown,
    }
}

/// Returns whether a job starts only after another one has ended, directly or after others that do (`wait_for`).
fn waits_for(plan: &Plan, job: &JobPlan, other: &JobPlan) -> bool {
    if job.start.wait_for.is_empty() {
        return false;
    }
    let mut seen = vec![false; plan.jobs.len()];
    let mut todo = job.start.wait_for.clone();
    while let Some(index) = todo.pop() {
        if index == other.identity.index {
            return true;
        }
        let Some(seen) = seen.get_mut(index.get()).filter(|seen| !**seen) else { continue };
        *seen = true;
        todo.extend(plan.jobs.get(index.get()).iter().flat_map(|job| &job.start.wait_for));
    }
    false
}

/// Returns whether a job may start after another one has begun.
pub(crate) fn may_follow(plan: &Plan, job: &JobPlan, other: &JobPlan) -> bool {
    job.identity.stonewall_group > other.identity.stonewall_group
        || job.start.delay.1 > other.start.delay.0
        || waits_for(plan, job, other)
}

/// Returns whether two jobs ran at the same time, according to what they did, or else according to the plan.
pub(crate) fn were_concurrent(known: &After<'_>, a: &JobPlan, b: &JobPlan) -> bool {
    let planned = concurrent(known.plan, a, b);
    let ran = || ran_together(known, a, b);
    planned != Concurrency::No && ran().unwrap_or(planned == Concurrency::Yes)
}

/// Returns whether two jobs ran at the same time, according to what they did. `None` if that is unknown: a job on a
/// virtual clock has a time of its own.
fn ran_together(known: &After<'_>, a: &JobPlan, b: &JobPlan) -> Option<bool> {
    let own = |job: &JobPlan| -> Option<&Samples> {
        let course = known.report.courses.get(job.identity.index.get())?;
        (!job.engine.def().virtual_time && !course.is_empty()).then_some(course)
    };
    let (a, b) = (own(a)?, own(b)?);
    Some(a.begin() < b.end() && b.begin() < a.end())
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::plan;

    /// Returns for each printed job whether the run ended with it. `ran` are their run times in ms.
    fn last(line: &str, ran: &[u64]) -> Vec<bool> {
        let (plan, _) = plan(line);
        let machine = Machine::default();
        let job = |ms: &u64| JobReport {
            members: 1,
            runtime: Nanos::from_millis(*ms),
            ..JobReport::default()
        };
        let report = Report { jobs: ran.iter().map(job).collect(), ..Report::default() };
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        known.entries().iter().map(|entry| ends_the_run(&known, entry)).collect()
    }

    #[test]
    fn no_other_job_outlasts_the_last_job() {
        let two = |more: &str| {
            let one = "--ioengine=null --size=1m --rw=write";
            format!("--name=a {one} --name=b {one} {more}")
        };
        assert_eq!(last(&two(""), &[1000, 1050]), [true, true]);
        assert_eq!(last(&two(""), &[1000, 3000]), [false, true]);
        assert_eq!(last(&two("--stonewall"), &[1000, 10]), [false, true]);
        assert_eq!(last(&two("--wait_for=a"), &[1000, 10]), [false, true]);
        assert_eq!(
            last(&two("--startdelay=1"), &[1000, 10]),
            [false, false],
            "the start of b is not exact"
        );
        assert_eq!(last(&two("--stats=0"), &[1000]), [false], "the end of b is unknown");
    }
}
