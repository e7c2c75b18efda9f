//! `spec-missed`: the result is far below what the maker states.

use fiord_plan::{JobPlan, Rate};
use fiord_stat::finding::Severity;
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings};
use crate::evidence::spec;
use crate::evidence::synchronous::synchronous;

pub(crate) const CHECK: Check = Check {
    id: "spec-missed",
    severity: Severity::Suspect,
    title: "far below the specification",
    about: "The device is much slower than its maker says. Makers measure at a large queue depth, \
            with several jobs, on a fresh or well-maintained drive with all its lanes. A result \
            far below has a cause in the job, on the path to the device, or in the device.",
    detection: "`spec=` states a number, and the result is below 80 % of it. The check is silent \
                without `spec`.",
    effect: "The finding states the share that was reached.",
    remedy: "leave out options that slow the job down (`thinktime`, `rate`); use an asynchronous \
             engine (`ioengine=io_uring`) with a depth of 32 or more in several jobs \
             (`iodepth=32`, `numjobs=4`) and `direct=1`; then check the links with `fiord devices --tree`, and the other findings \
             of the run.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

/// Results below this percentage of the specification are reported.
const FAR: f64 = 80.0;

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let remedy = |report: &_| remedy(&spec::jobs(known, report));
    spec::report(&CHECK, "below", |percent| percent < FAR, remedy, known, findings);
}

/// The depth and the number of jobs at which makers measure.
const DEPTH: u32 = 32;
const JOBS: usize = 4;

/// Says what the jobs lack that makers measure with; first the options that slow the jobs down.
fn remedy(jobs: &[&JobPlan]) -> String {
    let mut steps = Vec::new();
    let slowed: Vec<&str> = ["thinktime", "rate", "rate_iops", "flow", "latency_target"]
        .into_iter()
        .filter(|option| jobs.iter().any(|job| slows(job, option)))
        .collect();
    if !slowed.is_empty() {
        steps.push(format!(
            "leave out {} (the job issues less than the device can take)",
            slowed.join(" and ")
        ));
    }
    let lacking = lacking(jobs);
    match lacking.as_slice() {
        [] => {}
        [only] => steps.push(format!("set {only}")),
        [all @ .., last] => steps.push(format!("set {} and {last}", all.join(", "))),
    }
    steps.push("check `fiord devices --tree` and the other findings of the run".into());
    steps.join("; then ")
}

fn slows(job: &JobPlan, option: &str) -> bool {
    let pace = &job.pace;
    let rates = || Dir::ALL.into_iter().filter_map(|dir| pace.rate[dir]);
    match option {
        "thinktime" => pace.think.is_some(),
        "rate" => rates().any(|rate| matches!(rate, Rate::Bytes(_))),
        "rate_iops" => rates().any(|rate| matches!(rate, Rate::Ios(_))),
        "flow" => pace.flow.is_some(),
        _ => pace.latency_target.is_some(),
    }
}

/// The settings that raise the number of I/Os in flight, as far as the jobs lack them.
fn lacking(jobs: &[&JobPlan]) -> Vec<String> {
    let mut lacking = Vec::new();
    let alone = |job: &&JobPlan| synchronous(job).is_some() && !job.pace.offload;
    let shallow = jobs.iter().any(|job| job.depth.depth < DEPTH);
    if jobs.iter().any(alone) {
        lacking.push("ioengine=io_uring".to_owned());
    }
    if shallow {
        lacking.push(format!("iodepth={DEPTH}"));
    }
    if jobs.len() < JOBS {
        lacking.push(format!("numjobs={JOBS}"));
    }
    if jobs.iter().any(|job| !job.target.open.direct) {
        lacking.push("direct=1".to_owned());
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_results_far_below_the_specification() {
        for near in [700e3, 780e3, 850e3, 2e6] {
            assert!(spec::reported(&CHECK, near).is_empty(), "{near}");
        }
        assert_eq!(
            spec::reported(&CHECK, 390e3)[0].evidence,
            "390000 of 780000 I/Os per second: 50 %"
        );
    }

    fn remedy_for(change: impl FnOnce(&mut JobPlan)) -> String {
        spec::reported_for(&CHECK, 2.3e3, change)[0].remedy.clone()
    }

    const REST: &str = "; then check `fiord devices --tree` and the other findings of the run";

    #[test]
    fn a_small_share_is_not_printed_as_zero() {
        let found = spec::reported(&CHECK, 2.3e3);
        assert_eq!(found[0].evidence, "2300 of 780000 I/Os per second: 0.3 %");
    }

    #[test]
    fn the_remedy_names_what_the_job_lacks() {
        let deep = |job: &mut JobPlan| job.depth.depth = 64;
        assert_eq!(remedy_for(|_| ()), format!("set iodepth=32 and numjobs=4{REST}"));
        assert_eq!(remedy_for(deep), format!("set numjobs=4{REST}"));
        let buffered = remedy_for(|job| job.target.open.direct = false);
        assert_eq!(buffered, format!("set iodepth=32, numjobs=4 and direct=1{REST}"));
        let one_by_one = remedy_for(|job| job.engine = fiord_plan::EnginePlan::Psync);
        assert_eq!(one_by_one, format!("set ioengine=io_uring, iodepth=32 and numjobs=4{REST}"));
        let slowed = remedy_for(|job| {
            deep(job);
            job.pace.think = Some(fiord_plan::Think::default());
            job.pace.rate[Dir::Read] = Some(Rate::Ios(100));
        });
        let slowed_down =
            "leave out thinktime and rate_iops (the job issues less than the device can take)";
        assert_eq!(slowed, format!("{slowed_down}; then set numjobs=4{REST}"));
    }
}
