//! `split-or-merged`: I/Os reached the device in sizes other than issued.

use fiord_job::option::table::BS;
use fiord_plan::JobPlan;
use fiord_stat::device::{DeviceView, Issued};
use fiord_stat::finding::Severity;
use fiord_sys::survey::Disk;
use fiord_types::Dir;

use crate::check::{After, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

pub(crate) const CHECK: Check = Check {
    id: "split-or-merged",
    severity: Severity::Suspect,
    title: "I/Os that reach the device in other sizes",
    about: "The kernel splits an I/O that is larger than the device's queue accepts, that crosses \
            a stripe or a zone, or whose memory is in too many pieces; and it merges adjacent \
            I/Os that wait. The result then belongs to another block size, and to another depth, \
            than the job says.",
    detection: "fiord compares the device's own counters while jobs ran on it, ramps included, with \
                what the jobs issued, if all jobs on the device use `direct=1`. Jobs that used the device one after \
                another are judged separately. If the device completed \
                over 5 % more I/Os than the jobs issued, the finding is suspect; if over 5 % were \
                merged, it is a note. The check is silent for buffered I/O, which always has the \
                sizes of the page cache, and for jobs that use several devices. It is also silent \
                if other programs may have caused the difference: no I/O may have failed, and the \
                bytes that the device moved must match those that the jobs issued, except for a \
                remainder too small to account for 5 % of the pieces even at one sector each. \
                Flushes, which the kernel counts as writes without data, do not count: it \
                subtracts the syncs that the jobs asked for, or the flushes that the device \
                counted if these are more.",
    effect: "1 MiB writes to a loop device whose `max_sectors_kb` is 64: 64 I/Os became 1024 I/Os \
             of 64 KiB, and a depth of 4 became a depth of 19.",
    remedy: "set `bs` to at most `max_sectors_kb`; or run `echo N > \
             /sys/block/NAME/queue/max_sectors_kb` with N up to `max_hw_sectors_kb`. Against \
             merges, run `echo 2 > /sys/block/NAME/queue/nomerges`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

/// Minimum share of split or merged I/Os.
const SHARE: f64 = 0.05;
/// Minimum number of I/Os.
const MIN_IOS: u64 = 20;
const NAMES: [(Dir, &str); 2] = [(Dir::Read, "reads"), (Dir::Write, "writes")];

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for device in &known.report.extras.devices {
        let on_it = |job: &&JobPlan| {
            known.before.devices.of(job).iter().any(|disk| disk.name == device.name)
        };
        let all: Vec<&JobPlan> = known.plan.jobs.iter().filter(on_it).collect();
        if device.parts.is_empty() {
            look(known, device, &all, findings);
        }
        // Jobs that ran one after another may have different sizes: each interval is judged by itself.
        for part in &device.parts {
            let within = |job: &&&JobPlan| part.jobs.contains(&job.identity.index);
            let jobs: Vec<&JobPlan> = all.iter().filter(within).copied().collect();
            look(known, &part.view, &jobs, findings);
        }
    }
}

/// Looks at a device while these jobs used it.
fn look(
    known: &After<'_>,
    device: &DeviceView,
    jobs: &[&JobPlan],
    findings: &mut CollectedFindings,
) {
    let Some(issued) = device.issued else { return };
    if !jobs.iter().all(|job| job.target.open.direct) {
        return;
    }
    let disk = known.before.devices.named(&device.name);
    // Jobs that ran together cannot be told apart, unless they are instances of one.
    let only = jobs
        .first()
        .filter(|first| jobs.iter().all(|job| job.identity.section == first.identity.section));
    for (dir, name) in NAMES {
        let who = match only {
            Some(job) => format!("{name} of job {}", job.identity.name),
            None => name.to_owned(),
        };
        let finding = split(device, &issued, dir, &who, disk);
        let mut finding = finding.or_else(|| merged(device, &issued, dir, &who));
        if let (Some(finding), Some(job)) = (&mut finding, only) {
            finding.finding.job = Some(job.identity.name.clone());
            finding.section = Some(job.identity.section);
        }
        findings.report_if(finding);
    }
}

fn split(
    device: &DeviceView,
    issued: &Issued,
    dir: Dir,
    name: &str,
    disk: Option<&Disk>,
) -> Option<FindingBuilder> {
    let seen = &device.dirs[dir];
    let ios = issued.ios[dir];
    let more = device.splits(dir)?;
    if ios < MIN_IOS || (more as f64) < SHARE * ios as f64 {
        return None;
    }
    let limit = disk.and_then(|disk| disk.queue.max_io);
    let below = limit.filter(|(set, _)| (set.0 as f64) < issued.size(dir));
    let remedy = match below {
        Some((set, hardware)) if hardware > set => format!(
            "set bs to at most {} KiB, or run echo {} > /sys/block/{}/queue/max_sectors_kb",
            set.0 / 1024,
            hardware.0.min(issued.size(dir) as u64) / 1024,
            device.name
        ),
        Some((set, _)) => format!("set bs to at most {} KiB", set.0 / 1024),
        None => "use blocks that cross no stripe, zone or extent, and buffers in few pieces \
                 (iomem=mmaphuge, with free pages in vm.nr_hugepages)"
            .into(),
    };
    // The I/Os of the device include flushes without data; the pieces do not.
    let pieces = (ios + more).saturating_sub(seen.merges).max(1);
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_run(format!("{name} reach {} in pieces", device.name))
        .evidence(format!(
            "{} of {:.1} KiB were issued, {} of {:.1} KiB arrived{}",
            said.exact("issued", ios),
            issued.size(dir) / 1024.0,
            said.exact("arrived", pieces),
            seen.bytes.0 as f64 / pieces as f64 / 1024.0,
            match below {
                Some((set, _)) => format!("; max_sectors_kb is {}", set.0 / 1024),
                None => String::new(),
            }
        ))
        .numbers(said)
        .remedy(remedy)
        .option(BS);
    Some(finding)
}

/// Reports merged I/Os. The remedy changes the device, not what the job does.
fn merged(device: &DeviceView, issued: &Issued, dir: Dir, name: &str) -> Option<FindingBuilder> {
    let ios = issued.ios[dir];
    let merges = device.merged(dir)?;
    if ios < MIN_IOS || (merges as f64) < SHARE * ios as f64 {
        return None;
    }
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_run(format!("{name} reach {} merged", device.name))
        .evidence(format!(
            "{} of {:.1} KiB were issued, {} of {:.1} KiB arrived, {} were merged into others",
            said.exact("issued", ios),
            issued.size(dir) / 1024.0,
            said.exact("arrived", device.with_data(dir)),
            device.size(dir) / 1024.0,
            said.exact("merged", merges),
        ))
        .numbers(said)
        .remedy(format!(
            "run echo 2 > /sys/block/{}/queue/nomerges if the device is to get each I/O",
            device.name
        ))
        .at_most(Severity::Note);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_stat::device::{DeviceDir, DevicePart};
    use fiord_types::{Bytes, JobIndex, PerDir};

    use super::*;
    use crate::tests::drives::{Case, found_after, one_drive};

    fn wrote(ios: u64, merges: u64) -> Case {
        let mut case = one_drive().writing();
        let dir = DeviceDir { ios, merges, bytes: Bytes(100 << 20), mean_ms: 1.0 };
        let issued = Issued {
            ios: PerDir::new(0, 100, 0),
            bytes: PerDir::new(0, 100 << 20, 0).map(Bytes),
            ..Issued::default()
        };
        case.report.extras.devices = vec![DeviceView {
            name: "nvme0n1".into(),
            dirs: PerDir::new(DeviceDir::default(), dir, DeviceDir::default()),
            issued: Some(issued),
            ..DeviceView::default()
        }];
        case
    }

    #[test]
    fn reports_ios_in_pieces() {
        assert!(found_after(&CHECK, &wrote(100, 0)).is_empty());
        let mut case = wrote(295, 0);
        let found = found_after(&CHECK, &case);
        let evidence = "100 of 1024.0 KiB were issued, 295 of 347.1 KiB arrived";
        assert!(found[0].evidence.starts_with(evidence), "{found:?}");
        assert!(found[0].evidence.ends_with("max_sectors_kb is 128"), "{found:?}");
        case.disks(|disk| disk.queue.max_io = Some((Bytes(128 << 10), Bytes(4 << 20))));
        let remedy = "or run echo 1024 > /sys/block/nvme0n1/queue/max_sectors_kb";
        assert!(found_after(&CHECK, &case)[0].remedy.ends_with(remedy));
        case.job().target.open.direct = false;
        assert!(found_after(&CHECK, &case).is_empty(), "the page cache has sizes of its own");
    }

    #[test]
    fn flushes_are_not_counted_as_pieces() {
        let mut case = wrote(200, 0);
        case.report.extras.devices[0].flushes = 100;
        assert!(found_after(&CHECK, &case).is_empty());
        case.report.extras.devices[0].dirs[Dir::Write].ios = 500;
        let evidence = "100 of 1024.0 KiB were issued, 400 of 256.0 KiB arrived";
        assert!(found_after(&CHECK, &case)[0].evidence.starts_with(evidence));
    }

    #[test]
    fn silent_if_other_programs_used_the_device() {
        let mut case = wrote(7725, 0);
        case.report.extras.devices[0].dirs[Dir::Write].bytes = Bytes(400 << 20);
        assert!(found_after(&CHECK, &case).is_empty());
        let mut case = wrote(100, 900);
        case.report.extras.devices[0].dirs[Dir::Write].bytes = Bytes(110 << 20);
        assert!(found_after(&CHECK, &case).is_empty(), "their neighbours were merged");
        let mut case = wrote(800, 0);
        case.report.extras.devices[0].issued.as_mut().unwrap().failed_bytes =
            PerDir::new(0, 4096, 0).map(Bytes);
        assert!(found_after(&CHECK, &case).is_empty(), "what failed was perhaps tried again");
    }

    #[test]
    fn merges_are_a_note() {
        let mut case = wrote(25, 75);
        case.job().load.random = false;
        let found = found_after(&CHECK, &case);
        assert_eq!((found.len(), found[0].severity), (1, Severity::Note));
        let remedy =
            "run echo 2 > /sys/block/nvme0n1/queue/nomerges if the device is to get each I/O";
        assert_eq!(found[0].remedy, remedy);
        assert!(found[0].evidence.ends_with("75 were merged into others"), "{found:?}");
    }

    #[test]
    fn jobs_that_ran_one_after_another_are_judged_separately() {
        let mut case = wrote(1000, 0);
        let mut second = case.job().clone();
        second.identity.index = JobIndex(1);
        (second.identity.section, second.identity.name) = (1, "b".into());
        case.plan.jobs.push(second);
        // The first job issues 100 writes in ten pieces each, the second one as many in whole.
        let part = |job, ios| {
            let view = wrote(ios, 0).report.extras.devices.remove(0);
            DevicePart { jobs: vec![JobIndex(job)], view }
        };
        case.report.extras.devices[0].parts = vec![part(0, 1000), part(1, 100)];
        let found = found_after(&CHECK, &case);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "writes of job plain reach nvme0n1 in pieces");
    }
}
