//! `not-preconditioned`: a flash drive that was not yet written in full.

use fiord_plan::{FileKind, FilePlan, JobPlan};
use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::check::{Before, Check, CollectedFindings};
use crate::evidence::fill::fill_zones;
use crate::machine::Unavailable;

pub(crate) const CHECK: Check = Check {
    id: "not-preconditioned",
    severity: Severity::Suspect,
    title: "a drive that was never written in full",
    about: "A flash drive that was never filled answers reads of unwritten blocks without \
            touching flash, and writes into erased blocks without moving any data. Both are much \
            faster than the same drive in use.",
    detection: "For NVMe drives, fiord checks two things. The SMART log says that the host has \
                written fewer bytes in the drive's life than the drive's capacity. Or the \
                namespace says that fewer blocks are allocated now than it can hold (NUSE below \
                NCAP in Identify Namespace), which also detects drives that were trimmed since. \
                The second check applies to jobs that use the device or its partitions, not to \
                jobs on files: a file system that is not full is normal. Many drives always \
                report all blocks as allocated, so the check can show that blocks are unwritten, \
                but never that all are written. The SMART log needs root. Other kinds of drives \
                are not checked; for zoned namespaces, only the SMART log is.",
    effect: "Not measured on flash. On `zram`, which also stores nothing for unwritten blocks, 4 \
             KiB random reads with `direct=1` and `psync` reached 438k IOPS before the device was \
             written and 148k afterwards (medians of five runs of 1 s on a busy virtual machine: \
             296k to 536k, and 99k to 176k).",
    remedy: "run `fiord precondition DEVICE` (with `--random` for a steady state of random \
             writes); it overwrites the whole device, and asks first. For a zoned device, run a \
             job with `zonemode=zbd` and `rw=write`, which overwrites it too; the finding has the \
             command.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let mut seen: Vec<&str> = Vec::new();
    let sections: Vec<&JobPlan> = known.sections().collect();
    for disk in sections.iter().flat_map(|job| known.machine.devices.of(job)) {
        if disk.bus != Bus::Nvme || seen.contains(&disk.name.as_str()) {
            continue;
        }
        seen.push(&disk.name);
        look(disk, is_used_as_device(known, disk), findings);
    }
}

/// Returns whether a job uses the disk or one of its partitions directly, and not only files on it.
fn is_used_as_device(known: &Before<'_>, disk: &Disk) -> bool {
    let device = |file: &&FilePlan| matches!(file.kind, FileKind::Block | FileKind::Char);
    let mut files = known.sections().flat_map(|job| &job.target.files).filter(device);
    files.any(|file| known.machine.devices.under(&file.path).any(|under| under.name == disk.name))
}

fn look(disk: &Disk, as_device: bool, findings: &mut CollectedFindings) {
    let smart = disk.health.smart;
    let capacity = u128::from(disk.capacity.0);
    let fewer = smart.map(|smart| smart.bytes_written).filter(|written| *written < capacity);
    let allocation = disk.allocation.filter(|_| as_device);
    let unallocated =
        allocation.and_then(|allocation| Some((allocation, allocation.short_of_full()?)));
    let mut evidence = Vec::new();
    if let Some(written) = fewer {
        evidence.push(format!(
            "{:.1} GB written in its life, {:.1} GB capacity: {:.0} %",
            written as f64 / 1e9,
            disk.capacity.0 as f64 / 1e9,
            written as f64 * 100.0 / disk.capacity.0 as f64
        ));
    }
    if let Some((allocation, share)) = unallocated {
        evidence.push(format!(
            "{:.1} GB of {:.1} GB allocated now (NUSE, NCAP): {:.0} %",
            allocation.used.0 as f64 / 1e9,
            allocation.capacity.0 as f64 / 1e9,
            (share * 100.0).floor()
        ));
    }
    if !evidence.is_empty() {
        findings.report(
            CHECK
                .for_run(match fewer {
                    Some(_) => format!("{} has not been written in full", disk.name),
                    None => format!("part of {} holds no data", disk.name),
                })
                .evidence(evidence.join("; "))
                .remedy(match disk.queue.zones.is_some() {
                    true => fill_zones(&disk.node()),
                    false => format!(
                        "run fiord precondition {}, which overwrites all of it",
                        disk.node().display()
                    ),
                }),
        );
    } else if smart.is_none() && !disk.missing.is_empty() {
        findings.unavailable(&CHECK, &Unavailable("SMART log of NVMe drives: needs root".into()));
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::nvme::Allocation;
    use fiord_sys::survey::{QueueZones, Smart};
    use fiord_sys::zone::Model;
    use fiord_types::Bytes;

    use super::*;
    use crate::tests::drives::{found_before, one_drive};

    #[test]
    fn reports_fewer_bytes_written_than_the_capacity() {
        let mut case = one_drive();
        assert!(found_before(&CHECK, &case).is_empty(), "a controller without the log");
        let written = |bytes_written| Some(Smart { bytes_written, ..Smart::default() });
        case.disks(|disk| disk.health.smart = written(250_000_000_000));
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].evidence, "250.0 GB written in its life, 1000.2 GB capacity: 25 %");
        assert_eq!(
            found[0].remedy,
            "run fiord precondition /dev/nvme0n1, which overwrites all of it"
        );
        case.disks(|disk| {
            disk.queue.zones = Some(QueueZones {
                model: Model::HostManaged,
                count: 4096,
                size: Bytes(1 << 28),
                max_open: 14,
                max_active: 14,
                max_append: None,
            });
        });
        let found = found_before(&CHECK, &case);
        assert!(found[0].remedy.contains("--zonemode=zbd --rw=write"), "{found:?}");
        case.disks(|disk| disk.health.smart = written(2_500_000_000_000));
        assert!(found_before(&CHECK, &case).is_empty());
    }

    #[test]
    fn reports_fewer_blocks_allocated_than_the_capacity() {
        let mut case = one_drive();
        let allocated =
            |used| Allocation { size: Bytes(1 << 40), capacity: Bytes(1 << 40), used, thin: false };
        let written = Some(Smart { bytes_written: 2_500_000_000_000, ..Smart::default() });
        case.disks(|disk| {
            disk.health.smart = written;
            disk.allocation = Some(allocated(Bytes(1 << 40)));
        });
        assert!(
            found_before(&CHECK, &case).is_empty(),
            "all blocks are allocated, as many drives always report"
        );
        case.disks(|disk| disk.allocation = Some(allocated(Bytes(1 << 38))));
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].what, "part of nvme0n1 holds no data");
        assert_eq!(found[0].evidence, "274.9 GB of 1099.5 GB allocated now (NUSE, NCAP): 25 %");
        // The allocation is reported without a SMART log too; with both, one finding has both.
        case.disks(|disk| disk.health.smart = None);
        assert_eq!(found_before(&CHECK, &case).len(), 1);
        case.disks(|disk| disk.health.smart = Some(Smart::default()));
        let found = found_before(&CHECK, &case);
        assert_eq!(
            (found.len(), found[0].what.as_str()),
            (1, "nvme0n1 has not been written in full")
        );
        assert!(
            found[0]
                .evidence
                .ends_with("0 %; 274.9 GB of 1099.5 GB allocated now (NUSE, NCAP): 25 %")
        );
        // Jobs on files: a file system that is not full is normal.
        case.disks(|disk| disk.health.smart = written);
        case.job().target.files[0].kind = FileKind::Regular;
        assert!(found_before(&CHECK, &case).is_empty());
    }
}
