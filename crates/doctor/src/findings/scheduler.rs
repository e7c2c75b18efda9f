//! `scheduler`: an I/O scheduler or writeback throttling stands between the job and a fast device.

use fiord_job::option::table::IOSCHEDULER;
use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};
use fiord_types::Dir;

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::setting::set;

pub(crate) const CHECK: Check = Check {
    id: "scheduler",
    severity: Severity::Suspect,
    title: "an I/O scheduler or writeback throttling on a fast device",
    about: "A scheduler sorts, merges and delays I/Os. On a device without moving parts, this \
            costs CPU time and a lock, changes the order that the job asks for, and hides the \
            behaviour of the device. Writeback throttling (`wbt`) delays buffered writes to keep \
            reads fast.",
    detection: "fiord reads `queue/scheduler` of the non-rotational devices under a job: `bfq` is \
                suspect, and any other scheduler but `none` is a note, unless the job sets \
                `ioscheduler`. A `queue/wbt_lat_usec` above 0 under a job that writes through the \
                page cache is a note. The check ignores engines that send commands of their own \
                (`io_uring_cmd`, `sg`), which bypass both.",
    effect: "The faster the device, the larger. Not measured.",
    remedy: "set `ioscheduler=none` in the job, which fiord applies for the run; for `wbt`, run \
             `echo 0 > /sys/block/NAME/queue/wbt_lat_usec`.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    for job in known.sections().filter(|job| !job.engine.def().access.sends_commands()) {
        for disk in known.machine.devices.of(job) {
            findings.report_all(scheduled(job, disk).into_iter().chain(throttled(job, disk)));
        }
    }
}

fn scheduled(job: &JobPlan, disk: &Disk) -> Option<FindingBuilder> {
    let (now, all) = disk.queue.scheduler.as_ref().filter(|_| job.target.scheduler.is_none())?;
    // For a loop device, the device below its file is checked, if it has one.
    if now == "none" || disk.queue.rotational != Some(false) || disk.bus == Bus::Loop {
        return None;
    }
    let none = all.iter().any(|name| name == "none").then(|| set(IOSCHEDULER, "none"));
    let remedy = match &none {
        Some(none) => format!("set {none}"),
        None => format!("run echo none > /sys/block/{}/queue/scheduler", disk.name),
    };
    let finding = CHECK
        .for_job(job, format!("I/Os of {} go through the scheduler {now}", disk.name))
        .evidence(format!(
            "queue/scheduler is {now}; the device has no moving parts and {} hardware queues",
            disk.queue.hardware_queues
        ))
        .remedy(remedy)
        .settings(none);
    Some(if now == "bfq" { finding } else { finding.at_most(Severity::Note) })
}

fn throttled(job: &JobPlan, disk: &Disk) -> Option<FindingBuilder> {
    let us = disk.queue.wbt_lat_us.filter(|us| *us > 0)?;
    let buffered = !job.target.open.direct && job.load.mix.has(Dir::Write);
    // Rotating disks have writeback throttling by default, for good reason.
    if !buffered || disk.queue.rotational != Some(false) {
        return None;
    }
    let finding = CHECK
        .for_job(job, format!("buffered writes to {} are throttled", disk.name))
        .evidence(format!(
            "queue/wbt_lat_usec is {us}: the kernel delays writeback to keep reads fast"
        ))
        .remedy(format!("run echo 0 > /sys/block/{}/queue/wbt_lat_usec", disk.name))
        .at_most(Severity::Note);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, SgPlan};

    use super::*;
    use crate::tests::drives::{found_before, one_drive};

    #[test]
    fn reports_schedulers_unless_the_job_sets_one() {
        let mut case = one_drive();
        assert!(found_before(&CHECK, &case).is_empty());
        let both = |now: &str| Some((now.to_owned(), vec!["none".to_owned(), now.to_owned()]));
        case.disks(|disk| disk.queue.scheduler = both("mq-deadline"));
        let found = found_before(&CHECK, &case);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
        assert_eq!(found[0].remedy, "set ioscheduler=none");
        case.disks(|disk| disk.queue.scheduler = both("bfq"));
        assert_eq!(found_before(&CHECK, &case)[0].severity, Severity::Suspect);
        case.job().target.scheduler = Some("none".into());
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn rotating_disks_may_have_a_scheduler() {
        let mut case = one_drive();
        let both = Some(("mq-deadline".to_owned(), vec!["mq-deadline".to_owned()]));
        case.disks(|disk| {
            disk.queue.scheduler = both.clone();
            disk.queue.rotational = Some(true);
        });
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn passthrough_commands_bypass_scheduler_and_throttling() {
        let mut case = one_drive().writing();
        case.disks(|disk| {
            disk.queue.scheduler = Some(("bfq".into(), vec!["none".into(), "bfq".into()]));
            disk.queue.wbt_lat_us = Some(2000);
        });
        case.job().target.open.direct = false;
        assert_eq!(found_before(&CHECK, &case).len(), 2);
        case.job().engine = EnginePlan::Sg(SgPlan::default());
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn writeback_throttling_matters_to_buffered_writes() {
        let mut case = one_drive().writing();
        case.disks(|disk| disk.queue.wbt_lat_us = Some(2000));
        assert!(found_before(&CHECK, &case).is_empty(), "direct writes are not writeback");
        case.job().target.open.direct = false;
        assert!(found_before(&CHECK, &case)[0].evidence.contains("wbt_lat_usec is 2000"));
        case.job().target.scheduler = Some("none".into());
        assert_eq!(
            found_before(&CHECK, &case).len(),
            1,
            "throttling is independent of the scheduler"
        );
    }
}
