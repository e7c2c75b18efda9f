//! Estimates the remaining time of a run.

use fiord_plan::{JobPlan, VerifyPass};
use fiord_stat::live::ReadBackProgress;
use fiord_types::{Bytes, Nanos};

const SECOND: u64 = 1_000_000_000;

/// The progress of one job.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Standing {
    /// Nanoseconds since the job was released; `None` if it was not.
    pub running: Option<u64>,
    /// The job has ended.
    pub ended: bool,
    /// Data moved in its measured part.
    pub bytes: Bytes,
    /// I/Os done in its measured part.
    pub ios: u64,
    /// Data written in its measured part.
    pub written: Bytes,
    /// The job reads its writes back now.
    pub read_back: Option<ReadBackProgress>,
}

/// Seconds until the job ends by itself, rounded; `None` if unknown.
fn remaining(job: &JobPlan, at: &Standing, run_elapsed: u64) -> Option<u64> {
    if at.ended {
        return Some(0);
    }
    if let Some(pass) = &at.read_back {
        return left_of_pass(pass);
    }
    let limit = job.end.runtime.map(|t| t.saturating_add(job.end.ramp_time));
    let Some(running) = at.running else {
        let delay = job.start.delay.1.saturating_sub(Nanos(run_elapsed));
        return limit.map(|t| seconds(t.saturating_add(delay).0));
    };
    let by_time = limit.map(|t| seconds(t.saturating_sub(Nanos(running)).0));
    if job.end.time_based {
        return by_time;
    }
    let by_work = share(job, at).filter(|done| *done > 0.0).map(|done| {
        let left = running as f64 * (1.0 - done) / done / SECOND as f64;
        left.round() as u64
    });
    let left = match (by_time, by_work) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b)?,
    };
    Some(left.saturating_add(time_to_read_back(job, at, Nanos(running), left)))
}

/// Seconds until a verify pass ends; `None` if it has just begun.
fn left_of_pass(pass: &ReadBackProgress) -> Option<u64> {
    let left = pass.total.saturating_sub(pass.done).as_f64();
    (pass.done > Bytes::ZERO)
        .then(|| (pass.elapsed.as_secs_f64() * left / pass.done.as_f64()).round() as u64)
}

/// Seconds that a job which verifies its writes will need to read them back: as long as it needs to write them.
fn time_to_read_back(job: &JobPlan, at: &Standing, running: Nanos, left: u64) -> u64 {
    let verifies = job.verify.as_ref().is_some_and(|plan| plan.pass == VerifyPass::AfterWrites);
    if !verifies || at.bytes == Bytes::ZERO {
        return 0;
    }
    let writes = at.written.as_f64() / at.bytes.as_f64();
    (writes * (running.as_secs_f64() + left as f64)).round() as u64
}

/// Converts nanoseconds to whole seconds, rounded.
fn seconds(ns: u64) -> u64 {
    ns.saturating_add(SECOND / 2) / SECOND
}

/// The share of its work that a job has done, 0 to 1; `None` if the work has no limit.
fn share(job: &JobPlan, at: &Standing) -> Option<f64> {
    let total = job.end.bytes.saturating_mul(job.end.loops.max(1));
    let by_bytes = (total > Bytes::ZERO).then(|| at.bytes.as_f64() / total.as_f64());
    let by_ios = job.end.ios.filter(|n| *n > 0).map(|n| at.ios as f64 / n as f64);
    let most = [by_bytes, by_ios].into_iter().flatten().reduce(f64::max);
    most.map(|share| share.min(1.0))
}

/// Seconds until a job ends, and the share of its work or of its time that is done; `None` if unknown.
pub(crate) fn estimate_job(
    job: &JobPlan,
    at: &Standing,
    run_elapsed: u64,
) -> (Option<u64>, Option<f64>) {
    let left = remaining(job, at, run_elapsed);
    let by_work = match &at.read_back {
        Some(pass) if pass.total == Bytes::ZERO => None,
        Some(pass) => Some(pass.done.as_f64() / pass.total.as_f64()),
        None if job.end.time_based => None,
        None => share(job, at),
    };
    let done = match (at.running, left) {
        _ if at.ended => Some(1.0),
        (None, _) => Some(0.0),
        (Some(running), Some(left)) => {
            let running = running as f64 / SECOND as f64;
            let by_time = if left == 0 { 1.0 } else { running / (running + left as f64) };
            Some(by_work.unwrap_or(by_time))
        }
        (Some(_), None) => by_work,
    };
    (left, done)
}

/// Seconds until the whole run ends, and the share of it that is done; `None` if unknown. Assumes that jobs
/// between two stonewalls run in parallel, and that these groups run one after another.
pub(crate) fn estimate(
    jobs: &[JobPlan],
    standings: &[Standing],
    run_elapsed: u64,
) -> (Option<u64>, Option<f64>) {
    let mut groups: Vec<(u32, u64)> = Vec::new();
    for (job, at) in jobs.iter().zip(standings) {
        let Some(left) = remaining(job, at, run_elapsed) else { return (None, None) };
        let group = job.identity.stonewall_group;
        match groups.iter_mut().find(|(id, _)| *id == group) {
            Some((_, longest)) => *longest = (*longest).max(left),
            None => groups.push((group, left)),
        }
    }
    let left: u64 = groups.iter().map(|(_, seconds)| seconds).sum();
    let elapsed = run_elapsed as f64 / SECOND as f64;
    let all = elapsed + left as f64;
    let done = if all > 0.0 { (elapsed / all).min(1.0) } else { 0.0 };
    (Some(left), Some(done))
}

#[cfg(test)]
mod tests {
    use fiord_plan::EnginePlan;

    use super::*;

    fn job() -> JobPlan {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(3 * SECOND));
        job
    }

    fn at(ms: u64) -> Standing {
        Standing {
            running: Some(ms * 1_000_000),
            bytes: Bytes(1 << 18),
            ios: 64,
            ..Standing::default()
        }
    }

    #[test]
    fn the_estimate_follows_run_time_or_work_done() {
        let jobs = [job()];
        assert_eq!(estimate(&jobs, &[at(999)], SECOND), (Some(2), Some(1.0 / 3.0)));
        let mut by_work = job();
        by_work.end.time_based = false;
        by_work.end.runtime = None;
        by_work.end.bytes = Bytes(1 << 20);
        // A quarter took one second: three more seconds.
        assert_eq!(estimate(&[by_work], &[at(1000)], SECOND).0, Some(3));
    }

    #[test]
    fn a_job_has_its_own_estimate() {
        assert_eq!(estimate_job(&job(), &at(1000), SECOND), (Some(2), Some(1.0 / 3.0)));
        let mut by_work = job();
        by_work.end.time_based = false;
        by_work.end.bytes = Bytes(1 << 20);
        assert_eq!(estimate_job(&by_work, &at(1000), SECOND), (Some(2), Some(0.25)));
        by_work.end.runtime = None;
        let waiting = Standing { running: None, ..at(0) };
        assert_eq!(estimate_job(&by_work, &waiting, SECOND), (None, Some(0.0)));
        let ended = Standing { ended: true, ..at(1000) };
        assert_eq!(estimate_job(&by_work, &ended, SECOND), (Some(0), Some(1.0)));
    }

    #[test]
    fn a_verify_pass_has_its_own_progress() {
        let mut job = job();
        job.end.time_based = false;
        job.end.runtime = None;
        job.end.bytes = Bytes(1 << 20);
        let pass = ReadBackProgress {
            done: Bytes(1 << 19),
            total: Bytes(1 << 20),
            elapsed: Nanos(2 * SECOND),
        };
        let reading = Standing { read_back: Some(pass), ..at(6000) };
        assert_eq!(estimate_job(&job, &reading, 6 * SECOND), (Some(2), Some(0.5)));
        assert_eq!(estimate(&[job], &[reading], 6 * SECOND), (Some(2), Some(0.75)));
    }

    #[test]
    fn times_of_groups_add_up_and_an_unknown_time_stays_unknown() {
        let mut jobs = [job(), job(), job()];
        jobs[2].identity.stonewall_group = 1;
        let later = Standing::default();
        assert_eq!(estimate(&jobs, &[at(1000), at(1000), later], SECOND).0, Some(5));
        jobs[2].end.runtime = None;
        assert_eq!(estimate(&jobs, &[at(1000), at(1000), later], SECOND), (None, None));
    }
}
