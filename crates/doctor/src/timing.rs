//! Which jobs ran while, as far as plan and report say.

use fiord_plan::JobPlan;

use crate::After;
use crate::check::Entry;

/// A printed job that ran for this share of a time is taken to fill it.
const SHARE: f64 = 0.9;
/// Jobs that end within so many seconds of each other end together.
const TOGETHER: f64 = 0.1;

/// How long each of a printed job's instances ran in the mean, seconds.
pub(crate) fn seconds(entry: &Entry<'_>) -> f64 {
    entry.report.runtime_ms as f64 / 1000.0 / f64::from(entry.report.members.max(1))
}

/// Whether a printed job ran for so many seconds, those of the whole run, and a mean over them is
/// a mean over the job: of three jobs one after the other each had a third.
pub(crate) fn fills(entry: &Entry<'_>, run: f64) -> bool {
    seconds(entry) >= run * SHARE
}

/// Whether the run was over when a printed job was: no other job began after it or ran on. What is
/// seen on the machine after the run is then what the job left.
pub(crate) fn ends_the_run(known: &After<'_>, entry: &Entry<'_>) -> bool {
    let entries = known.entries();
    let ended = |other: &JobPlan| {
        let of_other = entries.iter().find(|one| has(one, other));
        of_other.is_some_and(|one| seconds(one) <= seconds(entry) + TOGETHER)
    };
    let others = known.plan.jobs.iter().filter(|job| !has(entry, job));
    let before = |other: &JobPlan| entry.jobs.iter().all(|job| follows(job, other));
    let along = |other: &JobPlan| at_once(other) && entry.jobs.iter().all(|job| beside(job, other));
    // Instances that wait for each other end at times of their own.
    entry.jobs.iter().all(|job| at_once(job) && beside(job, entry.jobs[0]))
        && entry.jobs.iter().all(|job| job.start.postrun.is_none())
        && others.into_iter().all(|other| before(other) || along(other) && ended(other))
}

fn has(entry: &Entry<'_>, job: &JobPlan) -> bool {
    entry.jobs.iter().any(|mine| mine.identity.index == job.identity.index)
}

/// Whether a job begins when another has ended.
fn follows(job: &JobPlan, other: &JobPlan) -> bool {
    job.identity.stonewall_group > other.identity.stonewall_group
        || job.start.wait_for.contains(&other.identity.index)
}

/// Whether a job begins as soon as its turn comes.
fn at_once(job: &JobPlan) -> bool {
    job.start.delay == (0, 0)
}

/// Whether two jobs have their turn at the same time.
fn beside(a: &JobPlan, b: &JobPlan) -> bool {
    a.identity.stonewall_group == b.identity.stonewall_group && a.start.wait_for == b.start.wait_for
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};

    use super::*;
    use crate::Machine;
    use crate::fixture::plan;

    /// Of each printed job, whether the run ended with it; they ran for so many ms.
    fn last(line: &str, ran: &[u64]) -> Vec<bool> {
        let (plan, _) = plan(line);
        let machine = Machine::default();
        let job = |ms: &u64| JobReport { members: 1, runtime_ms: *ms, ..JobReport::default() };
        let report = Report { jobs: ran.iter().map(job).collect(), ..Report::default() };
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        known.entries().iter().map(|entry| ends_the_run(&known, entry)).collect()
    }

    #[test]
    fn the_last_job_is_the_one_that_nothing_outlasts() {
        let two = |more: &str| {
            let one = "--ioengine=null --size=1m --rw=write";
            format!("--name=a {one} --name=b {one} {more}")
        };
        assert_eq!(last(&two(""), &[1000, 1050]), [true, true]);
        assert_eq!(last(&two(""), &[1000, 3000]), [false, true]);
        assert_eq!(last(&two("--stonewall"), &[1000, 10]), [false, true]);
        assert_eq!(last(&two("--wait_for=a"), &[1000, 10]), [false, true]);
        assert_eq!(last(&two("--startdelay=1"), &[1000, 10]), [false, false], "nobody knows");
        assert_eq!(last(&two("--stats=0"), &[1000]), [false], "nobody knows");
    }
}
