//! `throttled-by-cgroup`: a control group limits the run's I/O or CPU time.

use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_sys::conditions::IoQuota;
use fiord_sys::survey::Disk;
use fiord_types::{Dir, plural};

use crate::check::{After, Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::cpu_quota::{self, throttled_groups};
use crate::evidence::timing::fills;
use crate::machine::Machine;

pub(crate) const CHECK: Check = Check {
    id: "throttled-by-cgroup",
    severity: Severity::Suspect,
    title: "a control group that limits the run",
    about: "The shell, the service or the container that fiord runs in has a limit on bytes or \
            I/Os per second of the device, or on CPU time. The result is then that limit.",
    detection: "Before the run, fiord reads `io.max` and `io.latency` (version 1: \
                `blkio.throttle.*`) of the control groups of the process and of those above them, \
                for the devices under the targets. After the run, it compares the limits with the \
                rates that the device saw, and withdraws the finding if they stayed below half of \
                each limit and every job on the device ran all the time without `thinktime` \
                (otherwise a mean over the run hides the moments in which the limit took effect). \
                For CPU time, `throttled_usec` of a group with a quota must have grown by at \
                least a millisecond during the run.",
    effect: "As large as the limit: on a loop device, 4 KiB direct writes at depth 8 reached \
             2,816 IOPS, and 168 under `blkio.throttle.write_bps_device` of 1 MiB/s.",
    remedy: "run outside of that group (`systemd-run --slice=bench.slice --scope fiord …`), or \
             remove the limit: `echo \"8:0 rbps=max wbps=max riops=max wiops=max\" > io.max`.",
    lint: None,
    before: Some(before),
    after: Some(after),
    hosts: None,
};

/// A limit has no effect on a rate below this share of it.
const REACHED: f64 = 0.5;

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    on_targets(known.machine).for_each(|(quota, disk)| findings.report(io_limit(quota, disk)));
}

/// Returns the limits on the devices under the targets, each with its disk.
fn on_targets(machine: &Machine) -> impl Iterator<Item = (&IoQuota, &Disk)> {
    machine.surroundings.moment.quotas.io.iter().filter_map(|quota| {
        let under = machine.devices.disks.iter().find(|disk| disk.device == quota.device);
        Some((quota, under.filter(|_| quota.device.is_some())?))
    })
}

fn io_limit(quota: &IoQuota, disk: &Disk) -> FindingBuilder {
    let what = match quota.latency {
        Some(_) => {
            format!("the control group {} has a latency target on {}", quota.group, disk.name)
        }
        None => format!("the control group {} limits I/O to {}", quota.group, disk.name),
    };
    let finding = CHECK
        .for_run(what)
        .evidence(limits_of(quota))
        .remedy("run in another control group (`systemd-run --slice=bench.slice --scope`)");
    let latency_only = quota.latency.is_some();
    if latency_only { finding.at_most(Severity::Note) } else { finding }
}

/// Compares the limits with the rates that the devices saw.
fn reached(known: &After<'_>, findings: &mut CollectedFindings) {
    let limits = on_targets(known.before).filter(|(quota, _)| quota.latency.is_none());
    for (quota, disk) in limits {
        let views = &known.report.extras.devices;
        let Some(view) = views.iter().find(|view| view.name == disk.name && view.seconds > 0.0)
        else {
            continue;
        };
        let near = |limit: Option<u64>, count: u64| {
            limit.is_some_and(|limit| count as f64 / view.seconds >= limit as f64 * REACHED)
        };
        let ways = view.dirs.values().zip(quota.bytes.iter().zip(&quota.ios));
        let mut bit =
            ways.filter(|(dir, (bytes, ios))| near(**bytes, dir.bytes.0) || near(**ios, dir.ios));
        let finding = io_limit(quota, disk);
        if bit.next().is_none() {
            if steady(known, &disk.name, view.seconds) {
                findings.refute(finding);
            }
            continue;
        }
        let [read, write] = [Dir::Read, Dir::Write].map(|dir| {
            let dir = &view.dirs[dir];
            let (bytes, ios) = (dir.bytes.0 as f64 / view.seconds, dir.ios as f64 / view.seconds);
            format!("{bytes:.0} bytes and {ios:.0} I/Os a second")
        });
        let limits = limits_of(quota);
        findings
            .report(finding.evidence(format!("{limits}; reached: {read} read, {write} written")));
    }
}

/// Returns whether every job on a disk ran for all of `seconds` without pauses of its own, so that the
/// mean rate of the disk is representative.
fn steady(known: &After<'_>, disk: &str, seconds: f64) -> bool {
    let entries = known.entries();
    let on_it =
        |job: &&JobPlan| known.before.devices.of(job).iter().any(|under| under.name == disk);
    known.plan.jobs.iter().filter(on_it).all(|job| {
        let index = job.identity.index;
        let mut own = entries.iter().filter(|e| e.jobs.iter().any(|j| j.identity.index == index));
        job.pace.think.is_none() && own.next().is_some_and(|entry| fills(entry, seconds))
    })
}

/// Describes the limits in words.
fn limits_of(quota: &IoQuota) -> String {
    let mut parts = Vec::new();
    for (n, way) in ["read", "write"].iter().enumerate() {
        parts.extend(quota.bytes[n].map(|limit| format!("{way}s at most {limit} bytes a second")));
        parts.extend(quota.ios[n].map(|limit| format!("{way}s at most {limit} I/Os a second")));
    }
    parts
        .extend(quota.latency.map(|target| format!("io.latency target={} µs", target.as_micros())));
    parts.join(", ")
}

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    reached(known, findings);
    for throttled in throttled_groups(&known.before.surroundings, &known.after.surroundings) {
        let (times, waited) = (throttled.times(), throttled.waited().0 as f64 / 1e6);
        let quota = throttled.quota();
        findings.report(
            CHECK
                .for_run(format!("the control group {} had to wait for CPU time", throttled.name()))
                .evidence(format!(
                    "{times} time{}, {waited:.0} ms in all; it has {quota}",
                    plural(times)
                ))
                .remedy(cpu_quota::REMEDY),
        );
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::conditions::CpuQuota;
    use fiord_sys::file::Device;
    use fiord_types::Nanos;

    use super::*;
    use crate::tests::drives::{found_after, found_before, one_drive};

    #[test]
    fn reports_limits_on_the_device_of_the_target() {
        let mut case = one_drive();
        let quota = |minor| IoQuota {
            group: "/bench".into(),
            device: Some(Device { major: 259, minor }),
            bytes: [None, Some(1 << 20)],
            ios: [Some(500), None],
            latency: None,
        };
        case.machine.surroundings.moment.quotas.io = vec![quota(7)];
        assert!(found_before(&CHECK, &case).is_empty(), "another device");
        case.machine.surroundings.moment.quotas.io = vec![quota(0)];
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].what, "the control group /bench limits I/O to nvme0n1");
        let evidence = "reads at most 500 I/Os a second, writes at most 1048576 bytes a second";
        assert_eq!(found[0].evidence, evidence);
        let mut reported = |ios: u64, ran: u64| {
            use fiord_stat::device::{DeviceDir, DeviceView};
            let reads = DeviceDir { ios, ..DeviceDir::default() };
            let mut view =
                DeviceView { name: "nvme0n1".into(), seconds: 10.0, ..Default::default() };
            view.dirs[Dir::Read] = reads;
            case.report.extras.devices = vec![view];
            case.report.jobs[0].runtime = Nanos::from_millis(ran);
            let mut all = CollectedFindings::default();
            let (plan, machine) = (&case.plan, &case.machine);
            before(&Before { plan, machine }, &mut all);
            let mut later = CollectedFindings::default();
            after(
                &After { plan, before: machine, after: &case.after, report: &case.report },
                &mut later,
            );
            all.join(later);
            all.findings().map(|finding| finding.evidence.clone()).collect::<Vec<_>>()
        };
        assert!(reported(1000, 10_000).is_empty(), "far below");
        assert_eq!(reported(1000, 1_000), [evidence], "all of it in a tenth of the run");
        assert!(
            reported(5000, 10_000)[0]
                .ends_with("500 I/Os a second read, 0 bytes and 0 I/Os a second written")
        );
    }

    #[test]
    fn reports_cpu_quotas_that_throttled() {
        let mut case = one_drive();
        let quota = |throttled| CpuQuota {
            group: "/bench".into(),
            quota: Some(Nanos::from_millis(50)),
            period: Nanos::from_millis(100),
            throttled,
            throttled_time: Nanos::from_millis(30).saturating_mul(throttled),
        };
        case.machine.surroundings.moment.quotas.cpu = vec![quota(3)];
        case.after.surroundings.moment.quotas.cpu = vec![quota(3)];
        assert!(found_after(&CHECK, &case).is_empty());
        case.after.surroundings.moment.quotas.cpu = vec![quota(13)];
        let found = found_after(&CHECK, &case);
        assert!(found[0].evidence.starts_with("10 times, 300 ms in all"), "{found:?}");
    }
}
