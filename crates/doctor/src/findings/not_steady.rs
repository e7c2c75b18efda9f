//! `not-steady`: the result was still changing when the run ended.

use fiord_job::option::table::RUNTIME;
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_stat::steady::fit;
use fiord_stat::timeline::IopsTimeline;
use fiord_types::Nanos;

use crate::check::{After, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::{count, percent};

/// Number of rounds that the check compares.
const ROUNDS: usize = 5;
/// Limits for the range and the slope, as shares of the mean (SNIA performance test specification).
const RANGE: f64 = 0.2;
const SLOPE: f64 = 0.1;
/// Minimum length of a run. `too-short` covers shorter ones.
const SHORTEST: Nanos = Nanos::from_secs(3);

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "not-steady",
    severity: Severity::Suspect,
    title: "the result was still changing when the run ended",
    about: "A flash drive that is new or was idle writes into a cache, and slows down to a \
            fraction of that rate when the cache is full; caches warm up; CPUs grow hot. The mean \
            of a run that is still changing is not a property of the device: a longer run has \
            another mean.",
    detection: "fiord divides the second half of the run into five rounds and applies the \
                criteria of the SNIA performance test specification to their IOPS: their range \
                must not exceed 20 % of their mean, and their least-squares line must change by \
                less than 10 % of it. The check is silent for runs shorter than 3 s, with a rate \
                or a think time, and with `steadystate`, which has its own criterion.",
    effect: "A simulated device that stops for 700 ms in the last second of 4 s \
             (`sim_latency=constant:1ms`, `sim_stall=3s:700ms`, `sim_real_time=1`): the last five \
             rounds had 685, 848, 488, 0 and 498 IOPS.",
    remedy: "set `steadystate=pts` (or `ss=iops:5%`), which runs until the result is steady; set \
             `ramp_time` to exclude the start; or write the drive in full first.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for entry in known.entries().iter().filter(|entry| !entry.report.failed) {
        if entry.report.steady_state.is_some() || !entry.jobs.iter().all(|job| free(job)) {
            continue;
        }
        let courses = &known.report.extras.courses;
        let of = |job: &&JobPlan| {
            courses.get(job.identity.index.get()).filter(|c| c.window > Nanos::ZERO)
        };
        let courses: Vec<&IopsTimeline> = entry.jobs.iter().filter_map(of).collect();
        if courses.len() == entry.jobs.len() {
            findings
                .report_if(together(&courses).and_then(|rounds| finding(entry.jobs[0], &rounds)));
        }
    }
}

/// Returns whether only the device decides the job's rate.
fn free(job: &JobPlan) -> bool {
    job.pace.is_free()
}

/// Returns the total IOPS of concurrent jobs in each round; `None` if their windows differ in length,
/// or if they ran for too short a time.
fn together(courses: &[&IopsTimeline]) -> Option<Vec<f64>> {
    let window = courses[0].window;
    if courses.iter().any(|course| course.window != window) {
        return None;
    }
    let len = courses.iter().map(|course| course.ios.len()).min()?;
    let sums: Vec<u64> =
        (0..len).map(|at| courses.iter().map(|course| course.ios[at]).sum()).collect();
    if window.saturating_mul(len as u64) < SHORTEST {
        return None;
    }
    let half = &sums[len / 2..];
    let each = half.len() / ROUNDS;
    if each == 0 {
        return None;
    }
    let rounds = half[half.len() - each * ROUNDS..].chunks(each);
    let seconds = each as f64 * window.as_secs_f64();
    Some(rounds.map(|round| round.iter().sum::<u64>() as f64 / seconds).collect())
}

fn finding(job: &JobPlan, rounds: &[f64]) -> Option<FindingBuilder> {
    let mean = fit::mean(rounds);
    if mean <= 0.0 {
        return None;
    }
    let range = fit::range(rounds) / mean;
    let moved = (fit::slope(rounds) * (ROUNDS - 1) as f64).abs() / mean;
    if range <= RANGE && moved <= SLOPE {
        return None;
    }
    let list: Vec<String> = rounds.iter().map(|iops| count(iops.round())).collect();
    let name = &job.identity.name;
    let finding = CHECK
        .for_job(
            job,
            format!(
                "job {name} had not settled: its IOPS ranged over {} of their mean",
                percent(range)
            ),
        )
        .evidence(format!(
            "the last five rounds: {} IOPS, with a slope of {}",
            list.join(", "),
            percent(moved)
        ))
        .remedy(match job.end.ramp_time > Nanos::ZERO {
            true => "set steadystate=pts, a longer runtime, or a longer ramp_time",
            false => "set steadystate=pts, a longer runtime, or ramp_time to exclude the start",
        })
        .option(RUNTIME);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{JobReport, Report};

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_after, plan};

    fn reported(ios: Vec<u64>, line: &str) -> usize {
        found(ios, line).len()
    }

    fn found(ios: Vec<u64>, line: &str) -> Vec<fiord_stat::finding::Finding> {
        let (plan, _) = plan(&format!("--name=a --ioengine=null --rw=read --size=1g {line}"));
        let machine = Machine::default();
        let jobs = vec![JobReport { members: 1, ..JobReport::default() }];
        let mut report = Report { jobs, ..Report::default() };
        report.extras.courses =
            vec![IopsTimeline { window: Nanos::from_millis(100), ios, ..IopsTimeline::default() }];
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        found_after(&CHECK, &known)
    }

    #[test]
    fn a_job_with_a_ramp_time_needs_a_longer_one() {
        let falling = || (0..40).map(|i| 1000 - 10 * i).collect();
        assert!(found(falling(), "")[0].remedy.ends_with("or ramp_time to exclude the start"));
        let ramped = found(falling(), "--ramp_time=2");
        assert!(ramped[0].remedy.ends_with("or a longer ramp_time"), "{ramped:?}");
    }

    #[test]
    fn reports_range_and_slope_in_the_second_half() {
        let mut late = vec![100; 40];
        late[35..].fill(10);
        assert_eq!(reported(late, ""), 1);
        assert_eq!(reported(vec![100; 40], ""), 0);
        let mut early = vec![100; 40];
        early[..15].fill(900);
        assert_eq!(reported(early, ""), 0);
        let falling = (0..40).map(|i| 1000 - 10 * i).collect();
        assert_eq!(reported(falling, ""), 1);
        assert_eq!(reported(vec![100, 1, 100, 1, 100, 1, 9, 9, 9, 1], ""), 0, "too short");
        let mut late = vec![100; 40];
        late[35..].fill(10);
        assert_eq!(reported(late, "--rate_iops=100"), 0);
    }
}
