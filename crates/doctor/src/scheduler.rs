//! `scheduler`: an I/O scheduler or writeback throttling stands between the job and a fast device.

use fiord_plan::{Dir, JobPlan};
use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::{Before, Check, FindingBuilder, Findings};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "scheduler",
    severity: Severity::Suspect,
    title: "an I/O scheduler in the way",
    about: "A scheduler sorts, merges and holds back I/Os. On a device without moving parts that \
            costs CPU time and a lock, reorders what the job asked for, and hides the device's own \
            behaviour. Writeback throttling (`wbt`) holds back buffered writes to keep reads fast.",
    detection: "`queue/scheduler` of the devices under a job that are not rotational: `bfq` is suspect, \
           any other but `none` a note. `queue/wbt_lat_usec` above 0 under a job that writes \
           through the page cache is a note. Engines that send commands of their own (`io_uring_cmd`, \
           `sg`) go past both, and nothing is told of them. Of the scheduler it is silent when the job sets `ioscheduler`.",
    effect: "Depends on the device: the faster it is, the more. Not measured here.",
    remedy: "`ioscheduler=none` in the job, which fiord sets for the run; for `wbt` \
           `echo 0 > /sys/block/NAME/queue/wbt_lat_usec`.",
    lint: None,
    before: Some(before),
    after: None,
};

fn before(known: &Before<'_>, findings: &mut Findings) {
    for job in known.sections().filter(|job| !job.engine.sends_commands()) {
        for disk in known.machine.devices.of(job) {
            let finding = scheduled(job, disk).into_iter().chain(throttled(job, disk));
            finding.for_each(|finding| findings.report(finding));
        }
    }
}

fn scheduled(job: &JobPlan, disk: &Disk) -> Option<FindingBuilder> {
    let (now, all) = disk.queue.scheduler.as_ref().filter(|_| job.target.scheduler.is_none())?;
    // On a file the device below it is told of, if it has one.
    if now == "none" || disk.queue.rotational != Some(false) || disk.bus == Bus::Loop {
        return None;
    }
    let remedy = match all.iter().any(|name| name == "none") {
        true => "ioscheduler=none".to_owned(),
        false => format!("echo none > /sys/block/{}/queue/scheduler", disk.name),
    };
    let finding = CHECK
        .for_job(job, format!("I/Os of {} go through the scheduler {now}", disk.name))
        .evidence(format!(
            "queue/scheduler is {now}; the device has no moving parts and {} hardware queues",
            disk.queue.hardware_queues
        ))
        .remedy(remedy);
    Some(if now == "bfq" { finding } else { finding.at_most(Severity::Note) })
}

fn throttled(job: &JobPlan, disk: &Disk) -> Option<FindingBuilder> {
    let us = disk.queue.wbt_lat_us.filter(|us| *us > 0)?;
    let buffered = !job.target.open.direct && job.load.mix.has(Dir::Write);
    // What turns has it by default, and for a reason.
    if !buffered || disk.queue.rotational != Some(false) {
        return None;
    }
    let finding = CHECK
        .for_job(job, format!("buffered writes to {} are throttled", disk.name))
        .evidence(format!("queue/wbt_lat_usec is {us}: writeback is held back to keep reads fast"))
        .remedy(format!("echo 0 > /sys/block/{}/queue/wbt_lat_usec", disk.name))
        .at_most(Severity::Note);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, SgPlan};

    use super::*;
    use crate::drives::{found_before, one_drive};

    #[test]
    fn reports_unless_there_is_none_or_the_job_says() {
        let mut case = one_drive();
        assert!(found_before(&CHECK, &case).is_empty());
        let both = |now: &str| Some((now.to_owned(), vec!["none".to_owned(), now.to_owned()]));
        case.disks(|disk| disk.queue.scheduler = both("mq-deadline"));
        let found = found_before(&CHECK, &case);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
        assert_eq!(found[0].remedy, "ioscheduler=none");
        case.disks(|disk| disk.queue.scheduler = both("bfq"));
        assert_eq!(found_before(&CHECK, &case)[0].severity, Severity::Suspect);
        case.job().target.scheduler = Some("none".into());
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn turning_disks_may_have_one() {
        let mut case = one_drive();
        let both = Some(("mq-deadline".to_owned(), vec!["mq-deadline".to_owned()]));
        case.disks(|disk| {
            disk.queue.scheduler = both.clone();
            disk.queue.rotational = Some(true);
        });
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn commands_go_past_scheduler_and_throttling() {
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
        assert_eq!(found_before(&CHECK, &case).len(), 1, "it is no scheduler");
    }
}
