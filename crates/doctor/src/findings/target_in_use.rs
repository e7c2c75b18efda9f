//! `target-in-use`: a job writes to a device that is in use or holds data.

use fiord_job::option::table::FILENAME;
use fiord_plan::{FileKind, FilePlan, JobPlan};
use fiord_stat::finding::Severity;
use fiord_sys::survey::Disk;

use crate::check::{Before, Check, CollectedFindings};
use crate::machine::Devices;
use crate::machine::Unavailable;

pub(crate) const CHECK: Check = Check {
    id: "target-in-use",
    severity: Severity::Suspect,
    title: "a target that is in use or holds data",
    about: "The job writes to a block device that has partitions, that is mounted or is part of \
            another device, or that carries the signature of a file system, a volume manager or a \
            RAID. The run destroys that data, and anything that uses the device competes with the \
            run.",
    detection: "For block devices that a job writes to, and those behind NVMe and SCSI generic \
                devices, fiord checks mounts and swap on the device, on its partitions and on \
                what is built on them; holders (device mapper, md); partitions; and signatures at \
                its start, from udev's database or from the first 136 KiB. The check is silent \
                for jobs that only read.",
    effect: "The data on the device is lost.",
    remedy: "use another device; or run `wipefs -a DEVICE` if nothing on it is needed; or set \
             `ignore_findings=target-in-use`.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

pub(crate) fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let devices = &known.machine.devices;
    for job in known.sections().filter(|job| job.load.mix.changes_data()) {
        let device = |kind| matches!(kind, FileKind::Block | FileKind::Char);
        for file in job.target.files.iter().filter(|file| device(file.kind)) {
            if let Some(disk) = devices.written(&file.path) {
                look(job, file, disk, devices, findings);
            }
        }
    }
}

fn look(
    job: &JobPlan,
    file: &FilePlan,
    disk: &Disk,
    devices: &Devices,
    findings: &mut CollectedFindings,
) {
    let node = devices.node(&file.path);
    let own = node.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let partition = disk.partitions.iter().find(|part| part.name == own);
    if let Some(unavailable) = &devices.unchecked {
        findings.unavailable(&CHECK, unavailable);
    }
    let mut parts: Vec<String> = Vec::new();
    // A job on a partition does not touch the rest of the disk.
    if partition.is_some() {
        parts.extend(devices.partitions.get(&file.path).into_iter().flatten().cloned());
    } else {
        parts.extend(disk.uses.iter().map(ToString::to_string));
        if !disk.holders.is_empty() {
            parts.push(format!("{} is built on it", disk.holders.join(", ")));
        }
        match disk.partitions.len() {
            0 => {}
            1 => parts.push(format!("it has the partition {}", disk.partitions[0].name)),
            n => parts.push(format!("it has {n} partitions")),
        }
    }
    let signatures = devices.signatures.iter().find(|(path, _)| *path == file.path);
    match signatures.map(|(_, signatures)| signatures) {
        Some(Ok(found)) => parts.extend(found.iter().map(|name| format!("it carries {name}"))),
        Some(Err(Unavailable(why))) => {
            findings.unavailable(&CHECK, &Unavailable(format!("signatures on {own}: {why}")))
        }
        None => {}
    }
    if parts.is_empty() {
        return;
    }
    let name = &job.identity.name;
    findings.report(
        CHECK
            .for_job(job, format!("job {name} writes to {}, which is in use", file.path.display()))
            .evidence(parts.join(", "))
            .remedy(format!(
                "use another device, or run wipefs -a {} if nothing on it is needed",
                match file.kind {
                    FileKind::Char => disk.node(),
                    _ => file.path.clone(),
                }
                .display()
            ))
            .option(FILENAME),
    );
}

#[cfg(test)]
mod tests {
    use fiord_sys::survey::fixture::Machine as Tree;

    use super::*;
    use crate::tests::drives::{found_before, one_drive, with_disks};

    #[test]
    fn everything_on_the_device_is_named() {
        let tree = Tree::new();
        let disk = tree.disk("/sys/devices/virtual/block/sda", (8, 0), 1 << 40);
        tree.partition(&disk, 1, (8, 1), (1 << 20, 1 << 30));
        tree.write("/proc/self/mountinfo", "27 1 8:1 / /srv rw - ext4 /dev/sda1 rw");
        let mut case = with_disks(&tree).writing();
        let path = case.job().target.files[0].path.clone();
        let found = vec!["GPT partition table".to_owned()];
        case.machine.devices.signatures = vec![(path, Ok(found))];
        let found = found_before(&CHECK, &case);
        assert_eq!(
            found[0].evidence,
            "sda1 is mounted on /srv, it has the partition sda1, it carries GPT partition table"
        );
        case.job().load.mix = fiord_plan::Mix::Read;
        assert!(found_before(&CHECK, &case).is_empty(), "it only reads");
    }

    #[test]
    fn unreadable_mounts_are_reported_as_unchecked() {
        let mut case = one_drive().writing();
        case.machine.devices.unchecked = Some(Unavailable("read /proc/self/mountinfo".into()));
        assert!(found_before(&CHECK, &case).is_empty());
        let known = crate::at_stake(&case.plan, &case.machine);
        let said = format!("{known:?}");
        assert!(said.contains("read /proc/self/mountinfo"), "{said}");
    }

    #[test]
    fn the_disk_behind_a_generic_device_is_checked() {
        let mut case = one_drive().writing();
        let disk = case.machine.devices.disks[0].clone();
        let marked = vec!["ext4 file system".to_owned()];
        let file = &mut case.job().target.files[0];
        (file.path, file.kind) = ("/dev/sg1".into(), FileKind::Char);
        let path = file.path.clone();
        case.machine.devices.under = [(path.clone(), Vec::new())].into();
        case.machine.devices.behind_generic = [(path.clone(), disk.name.clone())].into();
        case.machine.devices.signatures = vec![(path, Ok(marked))];
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].evidence, "it carries ext4 file system");
        let node = disk.node();
        assert!(found[0].remedy.contains(&format!("wipefs -a {}", node.display())));
        let known = crate::at_stake(&case.plan, &case.machine);
        assert_eq!(known.findings().count(), 1);
    }

    #[test]
    fn only_the_users_of_the_partition_itself_count() {
        let tree = Tree::new();
        let disk = tree.disk("/sys/devices/virtual/block/sda", (8, 0), 1 << 40);
        tree.partition(&disk, 1, (8, 1), (1 << 20, 1 << 30));
        tree.write("/proc/self/mountinfo", "27 1 8:1 / /srv rw - ext4 /dev/sda1 rw");
        let mut case = with_disks(&tree).writing();
        let part = std::path::PathBuf::from("/dev/sda2");
        case.disks(|disk| disk.partitions[0].name = "sda2".into());
        case.job().target.files[0].path = part.clone();
        case.machine.devices.under = [(part.clone(), vec!["sda".to_owned()])].into();
        assert!(found_before(&CHECK, &case).is_empty(), "sda1 is not touched");
        case.machine.devices.partitions = [(part, vec!["dm-0 is built on it".to_owned()])].into();
        assert_eq!(found_before(&CHECK, &case)[0].evidence, "dm-0 is built on it");
    }

    #[test]
    fn silent_on_an_empty_device() {
        let mut case = one_drive().writing();
        let path = case.job().target.files[0].path.clone();
        case.machine.devices.signatures = vec![(path, Ok(Vec::new()))];
        assert!(found_before(&CHECK, &case).is_empty());
    }
}
