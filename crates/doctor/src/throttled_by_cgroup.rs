//! `throttled-by-cgroup`: a control group limits the run's I/O or CPU time.

use fiord_stat::finding::Severity;
use fiord_sys::conditions::IoQuota;

use crate::{After, Before, Check, Findings, Machine};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "throttled-by-cgroup",
    severity: Severity::Suspect,
    title: "a control group that limits",
    about: "The shell, the service or the container that fiord runs in has a limit on bytes or I/Os \
            a second of the device, or on CPU time. The number is the limit's.",
    seen: "`io.max` and `io.latency` (version 1: `blkio.throttle.*`) of the process's groups and of \
           those above them, for the devices under the targets, before the run. CPU time: \
           `nr_throttled` of groups with a quota grew during the run. Silent without a limit, and \
           for a CPU quota that never bit.",
    effect: "All of it: on a loop device 4 KiB direct writes at depth 8 made 2,816 IOPS, and 168 under \
             `blkio.throttle.write_bps_device` of 1 MiB/s.",
    mend: "Run outside of that group (`systemd-run --slice=bench.slice --scope fiord …`), or lift \
           the limit: `echo \"8:0 rbps=max wbps=max riops=max wiops=max\" > io.max`.",
    lint: None,
    before: Some(before),
    after: Some(after),
};

fn before(known: &Before<'_>, findings: &mut Findings) {
    for quota in &known.machine.surroundings.moment.quotas.io {
        let under = known.machine.devices.disks.iter().find(|disk| disk.device == quota.device);
        let Some(disk) = under.filter(|_| quota.device.is_some()) else { continue };
        let what = match quota.latency_us {
            Some(_) => {
                format!("the control group {} guards its latency on {}", quota.group, disk.name)
            }
            None => format!("the control group {} limits I/O to {}", quota.group, disk.name),
        };
        let told = CHECK
            .of_run(what)
            .evidence(limits(quota))
            .mend("a run in another control group (`systemd-run --slice=bench.slice --scope`)");
        let latency_only = quota.latency_us.is_some();
        findings.tell(if latency_only { told.only(Severity::Note) } else { told });
    }
}

/// The limits in words.
fn limits(quota: &IoQuota) -> String {
    let mut parts = Vec::new();
    for (n, way) in ["read", "write"].iter().enumerate() {
        parts.extend(quota.bytes[n].map(|limit| format!("{way}s at most {limit} bytes a second")));
        parts.extend(quota.ios[n].map(|limit| format!("{way}s at most {limit} I/Os a second")));
    }
    parts.extend(quota.latency_us.map(|us| format!("io.latency target={us} µs")));
    parts.join(", ")
}

fn after(known: &After<'_>, findings: &mut Findings) {
    let quotas = |machine: &'_ Machine| machine.surroundings.moment.quotas.cpu.clone();
    let then = quotas(known.before);
    for now in quotas(known.after) {
        let Some(then) = then.iter().find(|then| then.group == now.group) else { continue };
        let times = now.throttled.saturating_sub(then.throttled);
        if times == 0 {
            continue;
        }
        let waited = now.throttled_us.saturating_sub(then.throttled_us) as f64 / 1000.0;
        let quota = match now.quota_us {
            Some(us) => format!("{us} µs of CPU time in each {} µs", now.period_us),
            None => "no quota of its own".into(),
        };
        findings.tell(
            CHECK
                .of_run(format!("the control group {} had to wait for CPU time", now.group))
                .evidence(format!("{times} times, {waited:.0} ms in all; it has {quota}"))
                .mend("a run in another control group, or a higher cpu.max"),
        );
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::conditions::CpuQuota;
    use fiord_sys::file::Device;

    use super::*;
    use crate::drives::{one_drive, told_after, told_before};

    #[test]
    fn limits_on_the_targets_device() {
        let mut case = one_drive();
        let quota = |minor| IoQuota {
            group: "/bench".into(),
            device: Some(Device { major: 259, minor }),
            bytes: [None, Some(1 << 20)],
            ios: [Some(500), None],
            latency_us: None,
        };
        case.machine.surroundings.moment.quotas.io = vec![quota(7)];
        assert!(told_before(&CHECK, &case).is_empty(), "another device");
        case.machine.surroundings.moment.quotas.io = vec![quota(0)];
        let found = told_before(&CHECK, &case);
        assert_eq!(found[0].what, "the control group /bench limits I/O to nvme0n1");
        let evidence = "reads at most 500 I/Os a second, writes at most 1048576 bytes a second";
        assert_eq!(found[0].evidence, evidence);
    }

    #[test]
    fn cpu_quotas_that_bit() {
        let mut case = one_drive();
        let quota = |throttled| CpuQuota {
            group: "/bench".into(),
            quota_us: Some(50_000),
            period_us: 100_000,
            throttled,
            throttled_us: throttled * 30_000,
        };
        case.machine.surroundings.moment.quotas.cpu = vec![quota(3)];
        case.after.surroundings.moment.quotas.cpu = vec![quota(3)];
        assert!(told_after(&CHECK, &case).is_empty());
        case.after.surroundings.moment.quotas.cpu = vec![quota(13)];
        let found = told_after(&CHECK, &case);
        assert!(found[0].evidence.starts_with("10 times, 300 ms in all"), "{found:?}");
    }
}
