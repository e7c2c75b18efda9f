//! `generator-bound`: the CPUs that make the I/Os are busy all the time and the device is not.

use fiord_job::option::table::NUMJOBS;
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::device_queue::{DeviceQueue, device_queues};

/// Share of busy time from which on the CPUs are the limit.
const BUSY: f64 = 0.9;
/// The device's queue is short below this share of the requested depth.
const SHORT: f64 = 0.5;

pub(crate) const CHECK: Check = Check {
    id: "generator-bound",
    severity: Severity::Suspect,
    title: "the CPUs that generate the load are the limit, not the device",
    about: "If the threads that issue I/Os compute all the time and the device's queue is short, \
            a faster device would give the same result. The run then measures the CPU and the \
            kernel's I/O path.",
    detection: "User and system time of the jobs add up to 90 % or more of the CPUs that the jobs \
                can use, and the device's mean queue depth over the measured time is below half \
                of what the jobs ask for. The check covers jobs with `direct=1` that nothing else \
                slows down and that have the device to themselves.",
    effect: "Such a run cannot show how far it underrates the device; `fiord sweep` over \
             `numjobs` can.",
    remedy: "use more jobs on more CPUs (`numjobs`, `cpus_allowed_policy=split`), a cheaper \
             engine (`io_uring` with `fixedbufs`, `registerfiles`, `hipri`), larger blocks, or \
             fewer measurements (`gtod_reduce=1`).",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    device_queues(known).iter().for_each(|queue| findings.report_if(finding(queue)));
}

fn finding(queue: &DeviceQueue<'_>) -> Option<FindingBuilder> {
    let DeviceQueue { entry, device, asked, merged, busy, cores } = queue;
    // The device counts I/Os that were merged once.
    let expected = asked / merged;
    if *busy < cores * BUSY || device.depth >= expected * SHORT || expected < 2.0 {
        return None;
    }
    let name = &entry.report.name;
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_job(
            entry.jobs[0],
            format!("job {name} is limited by its CPUs, not by {}", device.name),
        )
        .evidence(format!(
            "the CPUs were busy for {} of the time, and the device had {} of {} I/Os",
            // The two times are not read at the same moment, so that CPU time can exceed run time a little.
            said.percent("busy", (busy / cores).min(1.0)),
            said.decimal("depth", device.depth),
            said.exact("asked", asked.round() as u64)
        ))
        .numbers(said)
        .remedy("use more jobs (numjobs) on more CPUs, ioengine=io_uring with fixedbufs, or larger blocks")
        .option(NUMJOBS);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, JobPlan};
    use fiord_stat::device::DeviceView;
    use fiord_stat::report::JobReport;

    use super::*;
    use crate::check::Entry;

    fn reported(busy: f64, depth: f64, merged: f64) -> bool {
        evidence(busy, depth, merged).is_some()
    }

    fn evidence(busy: f64, depth: f64, merged: f64) -> Option<String> {
        let job = JobPlan::plain(EnginePlan::Psync, 1 << 20);
        let report = JobReport::default();
        let device = DeviceView { depth, ..DeviceView::default() };
        let entry = Entry { report: &report, jobs: vec![&job] };
        let queue = DeviceQueue { entry, device: &device, asked: 32.0, merged, busy, cores: 1.0 };
        finding(&queue).map(|built| built.finding.evidence)
    }

    #[test]
    fn reports_busy_cpus_and_a_short_queue() {
        assert!(reported(0.97, 3.0, 1.0));
        assert!(!reported(0.97, 30.0, 1.0));
        assert!(!reported(0.5, 3.0, 1.0));
        assert!(!reported(0.97, 3.0, 8.0), "merged reads");
    }

    #[test]
    fn cpus_are_never_busy_for_more_than_the_whole_time() {
        let evidence = evidence(1.02, 3.0, 1.0).unwrap();
        assert!(evidence.contains("busy for 100 % of the time"), "{evidence}");
    }
}
