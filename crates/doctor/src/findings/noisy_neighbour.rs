//! `noisy-neighbour`: other programs used the device, the memory or the CPUs during the run.

use fiord_plan::{FileKind, JobPlan};
use fiord_stat::device::DeviceView;
use fiord_stat::finding::{Finding, Severity};
use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_stat::report::{JobReport, Report};
use fiord_types::{Dir, Nanos};

use crate::check::{After, Check, CollectedFindings, FindingBuilder};
use crate::evidence::crowd::{Crowd, cpu_time, crowd};
use crate::machine::MachineState;

pub(crate) const CHECK: Check = Check {
    id: "noisy-neighbour",
    severity: Severity::Suspect,
    title: "other programs used the device or the machine",
    about: "During the run, another program read or wrote the device, used the CPUs, or made the \
            kernel reclaim memory. It caused part of the measured time.",
    detection: "Device: its counters while jobs ran on it, ramps included, show at least 5 %, \
                and at least 1 MiB, beyond what the run can have moved. For jobs that use the device itself with \
                `direct=1`, that is what the jobs issued, failed I/Os included. For jobs on \
                files, it is what the kernel counts as read by this process (`read_bytes` in \
                `/proc/self/io`, including read-ahead and metadata); the check ignores writes \
                there, because a file system makes writes of its own. \
                The check ignores devices of jobs with `exec_prerun` or `exec_postrun`, because \
                their commands may use the device. If several hosts of one run are on one \
                machine, the check subtracts what the other hosts issued, and the CPU time that they used.\n\n\
                Hypervisor: more than 10 % of all CPU time was stolen.\n\n\
                CPUs: other programs computed in user mode for more than 10 % of all CPU time \
                (kernel threads, which may work for the run, spend none), and tasks waited for a CPU for more than \
                10 % of the time (`/proc/pressure/cpu`). If the jobs may \
                use only some of the CPUs (`cpus_allowed`, a cpuset), only those count (`cpuN` in \
                `/proc/stat`); instead of the waiting time, which the kernel counts for the whole \
                machine, these CPUs must have been idle for less than 10 % of the time.\n\n\
                Memory: all tasks waited for memory for more than 10 % of the time.",
    effect: "As large as the other load. On a loop device, a second program that read it in \
             blocks of 256 KiB moved 249 MB while a random reader at depth 1 moved 5 MB.",
    remedy: "use an idle device on an idle machine (`fuser -v DEVICE` and `iotop` show the other \
             programs); when you rent a machine, use one that is not shared.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

/// Minimum amount of bytes of other programs: this share of the bytes of the run, and this many bytes.
const SHARE: f64 = 0.05;
const MIN_BYTES: u64 = 1 << 20;
/// Maximum share of stolen CPU time.
const STOLEN: f64 = 0.10;
/// Maximum share of the time in which all tasks waited for memory.
const STALLED: f64 = 0.10;
/// Minimum share of CPU time that hosts on the same machine used, if they are to be the other programs.
const OTHERS: f64 = 0.05;
/// The finding about CPUs.
const CPUS_USED: &str = "other programs used the CPUs during the run";

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for device in &known.report.extras.devices {
        let on_it = |job: &&JobPlan| {
            known.before.devices.of(job).iter().any(|disk| disk.name == device.name)
        };
        let jobs: Vec<&JobPlan> = known.plan.jobs.iter().filter(on_it).collect();
        // The commands of the jobs may use the device; they do not count as other programs.
        let commands =
            jobs.iter().any(|job| job.start.prerun.is_some() || job.start.postrun.is_some());
        if !jobs.is_empty() && !commands {
            findings.report_if(foreign(device, ours(known, device, &jobs)));
        }
    }
    let (then, now) = (&known.before.surroundings, &known.after.surroundings);
    findings.report_if(stolen(then, now));
    let crowd = crowd(then, now, &then.cpus_of_all(&known.plan.jobs));
    let finding = findings.available(&CHECK, &crowd).cloned().flatten().map(crowded);
    findings.report_if(finding);
    findings.report_if(short_of_memory(then, now));
}

/// Withdraws findings of hosts about other programs if these were other hosts of the run on the same machine.
pub(crate) fn without_mates(report: &mut HostsReport) {
    let boot =
        |host: &HostReport| host.facts.as_ref().map_or("", |facts| &facts.boot_id).to_owned();
    let boots: Vec<String> = report.hosts.iter().map(boot).collect();
    for at in 0..report.hosts.len() {
        let mates = report.hosts.iter().zip(&boots).enumerate();
        let mates =
            mates.filter(|(n, (_, boot))| *n != at && !boot.is_empty() && **boot == boots[at]);
        let mates: Vec<&Report> = mates.filter_map(|(_, (host, _))| host.report.as_ref()).collect();
        let Some(own) = report.hosts[at].report.as_ref().filter(|_| !mates.is_empty()) else {
            continue;
        };
        let ours = |finding: &Finding| {
            finding.id == CHECK.id && by_mates(finding, own, &mates, &report.hosts[at])
        };
        let kept: Vec<Finding> =
            own.extras.findings.iter().filter(|finding| !ours(finding)).cloned().collect();
        if let Some(own) = &mut report.hosts[at].report {
            own.extras.findings = kept;
        }
    }
}

/// Returns whether other hosts of the run on the same machine explain a finding of this check.
fn by_mates(finding: &Finding, own: &Report, mates: &[&Report], host: &HostReport) -> bool {
    if finding.what == CPUS_USED {
        let user = |job: &JobReport| job.usr_cpu / 100.0 * job.runtime.as_secs_f64();
        let used: f64 = mates.iter().flat_map(|mate| &mate.jobs).map(user).sum();
        let cpus = host.facts.as_ref().and_then(|facts| facts.cpus).unwrap_or(1);
        let span = host.finished.unwrap_or_default().as_secs_f64();
        return used > OTHERS * f64::from(cpus) * span;
    }
    let used = own.extras.devices.iter().find(|device| finding.what == device_used(&device.name));
    let Some(device) = used else { return false };
    let moved: u64 = device.dirs.values().take(2).map(|dir| dir.bytes.0).sum();
    let of_mates = mates.iter().flat_map(|mate| &mate.extras.devices);
    let views = std::iter::once(device).chain(of_mates.filter(|mate| mate.name == device.name));
    let issued: u64 = views
        .filter_map(|view| view.issued)
        .flat_map(|issued| {
            [Dir::Read, Dir::Write].map(|dir| issued.bytes[dir] + issued.failed_bytes[dir])
        })
        .map(|bytes| bytes.0)
        .sum();
    let others = moved.saturating_sub(issued);
    others < MIN_BYTES || (others as f64) < SHARE * issued as f64
}

fn device_used(device: &str) -> String {
    format!("another program used {device} during the run")
}

/// Reports CPU time that a hypervisor gave to other virtual machines.
fn stolen(then: &MachineState, now: &MachineState) -> Option<FindingBuilder> {
    let share = cpu_time(then, now)?.stolen_share();
    (share > STOLEN).then(|| {
        CHECK
            .for_run("the hypervisor gave CPU time to other virtual machines during the run")
            .evidence(format!("{:.1} % of all CPU time was stolen", share * 100.0))
            .remedy("use a machine that is not shared")
    })
}

fn crowded(crowd: Crowd) -> FindingBuilder {
    let Crowd { share, cpus, short } = crowd;
    let (of, remedy) = match cpus {
        None => ("all CPU time".into(), "CPUs that only the run uses (a cpuset and cpus_allowed)"),
        Some(cpus) => (format!("the time of the jobs' CPUs ({cpus})"), "other CPUs"),
    };
    CHECK
        .for_run(CPUS_USED)
        .evidence(format!("they computed for {:.0} % of {of}, and {short}", share * 100.0))
        .remedy(format!("use an idle machine (`top` shows the other programs), or {remedy}"))
}

/// Reports that all tasks waited for memory.
fn short_of_memory(then: &MachineState, now: &MachineState) -> Option<FindingBuilder> {
    let elapsed = now.at.saturating_sub(then.at);
    let full = now.moment.pressure.memory?.since(then.moment.pressure.memory?).full;
    (elapsed > Nanos::ZERO && full.0 as f64 > STALLED * elapsed.0 as f64).then(|| {
        CHECK
            .for_run("the machine ran short of memory during the run")
            .evidence(format!(
                "all tasks waited for memory for {} of {} ms",
                full.as_millis(),
                elapsed.as_millis()
            ))
            .remedy("stop other programs, or use smaller buffers")
    })
}

/// Maximum number of bytes that the run can have moved on a device, for reads and for writes; `None`
/// if unknown.
type Ours = [Option<u64>; 2];

/// Returns the bytes that the jobs issued, failed I/Os included, if all I/O goes straight to the
/// device; otherwise, for reads, the bytes that the kernel counted for this process, including
/// read-ahead, metadata and other devices.
fn ours(known: &After<'_>, device: &DeviceView, jobs: &[&JobPlan]) -> Ours {
    let plain = |job: &&JobPlan| {
        job.target.open.direct && job.target.files.iter().all(|f| f.kind == FileKind::Block)
    };
    let straight = jobs.iter().all(plain);
    let issued = device.issued.map(|issued| {
        [Dir::Read, Dir::Write]
            .map(|dir| issued.bytes[dir].saturating_add(issued.failed_bytes[dir]).0)
    });
    let counted = known.after.storage.as_ref().ok().zip(known.before.storage.as_ref().ok());
    let read = counted.map(|(now, then)| now.read.saturating_sub(then.read).0);
    let reads = match (issued, read) {
        (Some(issued), read) if straight => Some(issued[0].max(read.unwrap_or(0))),
        (issued, Some(read)) => Some(read.max(issued.map_or(0, |issued| issued[0]))),
        _ => None,
    };
    // A file system makes writes of its own: its journal, tables that it initializes, and files that
    // were written earlier.
    let writes = issued.filter(|_| straight).map(|issued| issued[1]);
    [reads, writes]
}

/// Reports bytes that the device moved beyond those of the run.
fn foreign(device: &DeviceView, ours: Ours) -> Option<FindingBuilder> {
    let mut parts = Vec::new();
    let mut total = 0;
    for ((way, dir), ours) in ["reads", "writes"].iter().zip(device.dirs.values()).zip(ours) {
        let others = ours.map_or(0, |ours| dir.bytes.0.saturating_sub(ours));
        total += others;
        if others > 0 {
            parts.push(format!("{way} of {:.1} MB", others as f64 / 1e6));
        }
    }
    let ours: u64 = ours.iter().flatten().sum();
    if total < MIN_BYTES || (total as f64) < SHARE * ours as f64 {
        return None;
    }
    let finding = CHECK
        .for_run(device_used(&device.name))
        .evidence(format!(
            "its counters show {} beyond the {:.1} MB that the run can have moved",
            parts.join(" and "),
            ours as f64 / 1e6
        ))
        .remedy(format!(
            "use an idle device: `fuser -v /dev/{}` and `iotop` show which program uses it",
            device.name
        ));
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::device::{DeviceDir, Issued};
    use fiord_stat::hosts::HostFacts;
    use fiord_sys::conditions::pressure::Stall;
    use fiord_types::{Nanos, PerDir};

    use super::*;
    use crate::evidence::crowd::ticks;
    use fiord_sys::conditions::CpuTime;
    use fiord_sys::usage::StorageBytes;
    use fiord_types::Bytes;

    use crate::tests::drives::{Case, found_after, one_drive};

    /// Returns a run that issued 100 MiB of reads while the device read `bytes`.
    fn read(bytes: u64) -> Case {
        let mut case = one_drive();
        case.report.extras.devices = vec![DeviceView {
            name: "nvme0n1".into(),
            dirs: PerDir::new(
                DeviceDir { bytes: Bytes(bytes), ..DeviceDir::default() },
                DeviceDir::default(),
                DeviceDir::default(),
            ),
            issued: Some(Issued {
                bytes: PerDir::new(100 << 20, 0, 0).map(Bytes),
                ..Issued::default()
            }),
            ..DeviceView::default()
        }];
        case
    }

    #[test]
    fn reports_bytes_of_other_programs() {
        assert!(found_after(&CHECK, &read(101 << 20)).is_empty(), "under 5 %");
        let mut case = read(150 << 20);
        let found = found_after(&CHECK, &case);
        assert!(found[0].evidence.contains("reads of 52.4 MB beyond the 104.9 MB"), "{found:?}");
        case.job().target.open.direct = false;
        assert!(found_after(&CHECK, &case).is_empty(), "the page cache reads ahead");
    }

    #[test]
    fn failed_ios_belong_to_the_run() {
        let mut case = read(150 << 20);
        case.report.extras.devices[0].issued.as_mut().unwrap().failed_bytes =
            PerDir::new(50 << 20, 0, 0).map(Bytes);
        assert!(found_after(&CHECK, &case).is_empty());
    }

    #[test]
    fn for_files_the_bytes_of_the_process_count() {
        let mut case = read(150 << 20);
        case.job().target.files[0].kind = FileKind::Regular;
        assert!(found_after(&CHECK, &case).is_empty(), "it is not known what the process read");
        let bytes = |read, written| Ok(StorageBytes { read: Bytes(read), written: Bytes(written) });
        case.machine.storage = bytes(10 << 20, 5 << 20);
        case.after.storage = bytes(110 << 20, 5 << 20);
        assert_eq!(found_after(&CHECK, &case).len(), 1);
        case.after.storage = bytes(160 << 20, 5 << 20);
        assert!(found_after(&CHECK, &case).is_empty(), "it read ahead");
        case.report.extras.devices[0].dirs[Dir::Write].bytes = Bytes(30 << 20);
        assert!(found_after(&CHECK, &case).is_empty(), "a file system writes by itself");
    }

    #[test]
    fn stolen_time_and_memory() {
        let mut case = one_drive();
        let then = &mut case.machine.surroundings;
        then.moment.cpu = Some(CpuTime::default());
        then.moment.pressure.memory = Some(Stall::default());
        let now = &mut case.after.surroundings;
        now.at = Nanos::from_secs(1);
        now.moment.cpu =
            Some(CpuTime { stolen: ticks(9), total: ticks(100), ..CpuTime::default() });
        now.moment.pressure.memory =
            Some(Stall { some: Nanos::ZERO, full: Nanos::from_millis(50) });
        assert!(found_after(&CHECK, &case).is_empty());
        let now = &mut case.after.surroundings;
        now.moment.cpu =
            Some(CpuTime { stolen: ticks(25), total: ticks(100), ..CpuTime::default() });
        now.moment.pressure.memory =
            Some(Stall { some: Nanos::ZERO, full: Nanos::from_millis(500) });
        let found = found_after(&CHECK, &case);
        assert!(
            found[0].evidence.starts_with("25.0 %") && found[1].evidence.contains("500 of 1000")
        );
    }

    #[test]
    fn jobs_on_some_cpus_are_judged_by_these() {
        let mut case = one_drive();
        let found = |case: &mut crate::tests::drives::Case, own: [u64; 2], others: [u64; 2]| {
            let time = |[user, idle]: [u64; 2]| CpuTime {
                user: ticks(user),
                idle: ticks(idle),
                total: ticks(200),
                ..CpuTime::default()
            };
            let start = CpuTime::default();
            let then = &mut case.machine.surroundings;
            then.moment.cpus = vec![(0, start), (1, start)];
            (then.moment.cpu, then.moment.pressure.cpu) = (Some(start), Some(Stall::default()));
            let now = &mut case.after.surroundings;
            (now.at, now.own_user) = (Nanos::from_secs(2), ticks(20));
            now.moment.cpus = vec![(0, time(own)), (1, time(others))];
            now.moment.cpu = Some(time(own).and(time(others)));
            now.moment.pressure.cpu =
                Some(Stall { some: Nanos::from_millis(1900), full: Nanos::ZERO });
            found_after(&CHECK, case)
        };
        case.job().process.cpus = Some(vec![0]);
        assert_eq!(found(&mut case, [20, 100], [200, 0]), [], "a busy CPU that is not the jobs'");
        let reported = found(&mut case, [160, 4], [0, 200]);
        let evidence = "they computed for 70 % of the time of the jobs' CPUs (0), and these were \
                        idle for 2 % of the time";
        assert_eq!(reported[0].evidence, evidence);
        assert_eq!(found(&mut case, [80, 60], [0, 200]), [], "there was time enough");
        case.job().process.cpus = Some(vec![0, 1]);
        let reported = found(&mut case, [20, 100], [200, 0]);
        assert!(reported[0].evidence.contains("waited for a CPU"), "all CPUs: {reported:?}");
    }

    #[test]
    fn other_programs_on_the_cpus() {
        let mut case = one_drive();
        case.machine.surroundings.moment.cpu = Some(CpuTime::default());
        let found = |case: &mut crate::tests::drives::Case, user, own, waited| {
            let now = &mut case.after.surroundings;
            (now.at, now.own_user) = (Nanos::from_secs(1), ticks(own));
            now.moment.cpu =
                Some(CpuTime { user: ticks(user), total: ticks(200), ..CpuTime::default() });
            now.moment.pressure.cpu =
                Some(Stall { some: Nanos::from_micros(waited), full: Nanos::ZERO });
            case.machine.surroundings.moment.pressure.cpu = Some(Stall::default());
            found_after(&CHECK, case)
        };
        let reported = found(&mut case, 150, 50, 700_000);
        let evidence = "they computed for 50 % of all CPU time, and tasks waited for a CPU for \
                        700 of 1000 ms";
        assert_eq!(reported[0].evidence, evidence);
        assert!(found(&mut case, 150, 140, 700_000).is_empty(), "the run's own threads");
        assert!(found(&mut case, 150, 50, 50_000).is_empty(), "there were CPUs enough");
        let now = &mut case.after.surroundings;
        (now.own_user, now.moment.pressure.cpu) = (Nanos::ZERO, None);
        assert_eq!(crate::tests::drives::after(&CHECK, &case).unchecked().len(), 1);
    }

    #[test]
    fn hosts_on_one_machine_are_no_other_programs_to_each_other() {
        let case = read(200 << 20);
        let found = found_after(&CHECK, &case);
        let cpus = CHECK.for_run(CPUS_USED).finding;
        let host = |boot: &str, usr_cpu| {
            let mut report = case.report.clone();
            report.extras.findings = vec![found[0].clone(), cpus.clone()];
            report.jobs[0].usr_cpu = usr_cpu;
            HostReport {
                facts: Some(HostFacts {
                    boot_id: boot.into(),
                    cpus: Some(2),
                    ..HostFacts::default()
                }),
                report: Some(report),
                finished: Some(Nanos::from_secs(10)),
                ..HostReport::default()
            }
        };
        let left = |hosts: Vec<HostReport>| {
            let mut report = HostsReport { hosts, ..HostsReport::default() };
            without_mates(&mut report);
            report
                .hosts
                .iter()
                .map(|host| host.report.as_ref().unwrap().extras.findings.len())
                .collect::<Vec<_>>()
        };
        assert_eq!(left(vec![host("x", 50.0), host("x", 50.0)]), [0, 0]);
        assert_eq!(left(vec![host("x", 1.0), host("x", 1.0)]), [1, 1], "they used little CPU time");
        assert_eq!(left(vec![host("x", 50.0), host("y", 50.0)]), [2, 2]);
        assert_eq!(left(vec![host("", 50.0), host("", 50.0)]), [2, 2]);
        let mut third = host("x", 50.0);
        third.report.as_mut().unwrap().extras.devices[0].dirs[Dir::Read].bytes = Bytes(400 << 20);
        assert_eq!(left(vec![third, host("x", 50.0)]), [1, 0], "somebody else read 200 MiB");
    }
}
