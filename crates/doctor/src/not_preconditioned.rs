//! `not-preconditioned`: a flash drive that was not yet written in full.

use fiord_plan::{FileKind, FilePlan, JobPlan};
use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::fill::fill_zones;
use crate::{Before, Check, Findings, Unavailable};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "not-preconditioned",
    severity: Severity::Suspect,
    title: "a drive that was not written in full",
    about: "A flash drive that has never been filled reads blocks that lie nowhere without touching \
            flash, and writes into erased blocks without having to move anything. Both are far \
            faster than the same drive in use.",
    detection: "The bytes that the host ever wrote, from the SMART log of NVMe drives, are fewer than the \
           drive's capacity; or the namespace says that fewer blocks are allocated now than may be \
           (NUSE below NCAP in Identify Namespace), which shows drives that were trimmed since. The \
           latter is told of devices that jobs use as a whole or by partitions, not of files: a file \
           system that is not full is no fault. Many drives report all blocks as allocated at all \
           times, so that this shows what was not written, and never that everything was. The SMART \
           log needs root; other kinds of drives are not looked at, and of zoned namespaces only \
           the SMART log.",
    effect: "Not measured here on flash. On `zram`, which stores nothing for what was never written \
             either, 4 KiB random reads with `direct=1` and `psync` made 438k IOPS before the device \
             was written and 148k after (medians of five runs of 1 s on a busy virtual machine: \
             296k to 536k, and 99k to 176k).",
    remedy: "`fiord precondition DEVICE`, with `--random` for a steady state of random writes; it overwrites \
           all of the device, and asks before it does. A zoned device is written in full by a job with \
           `zonemode=zbd` and `rw=write`, which overwrites it too; the finding has the command.",
    lint: None,
    before: Some(before),
    after: None,
};

fn before(known: &Before<'_>, findings: &mut Findings) {
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

/// Whether a job uses the disk itself or a part of it, and not only files on it.
fn is_used_as_device(known: &Before<'_>, disk: &Disk) -> bool {
    let device = |file: &&FilePlan| matches!(file.kind, FileKind::Block | FileKind::Char);
    let mut files = known.sections().flat_map(|job| &job.target.files).filter(device);
    files.any(|file| known.machine.devices.under(&file.path).any(|under| under.name == disk.name))
}

fn look(disk: &Disk, as_device: bool, findings: &mut Findings) {
    let smart = disk.health.smart;
    let capacity = u128::from(disk.capacity);
    let fewer = smart.map(|smart| smart.bytes_written).filter(|written| *written < capacity);
    let allocation = disk.allocation.filter(|_| as_device);
    let unallocated =
        allocation.and_then(|allocation| Some((allocation, allocation.short_of_full()?)));
    let mut evidence = Vec::new();
    if let Some(written) = fewer {
        evidence.push(format!(
            "{:.1} GB written in its life, {:.1} GB capacity: {:.0} %",
            written as f64 / 1e9,
            disk.capacity as f64 / 1e9,
            written as f64 * 100.0 / disk.capacity as f64
        ));
    }
    if let Some((allocation, share)) = unallocated {
        evidence.push(format!(
            "{:.1} GB of {:.1} GB allocated now (NUSE, NCAP): {:.0} %",
            allocation.used as f64 / 1e9,
            allocation.capacity as f64 / 1e9,
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
                        "fiord precondition {}, which overwrites all of it",
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
    use fiord_sys::survey::{Smart, Zones};
    use fiord_sys::zone::Model;

    use super::*;
    use crate::drives::{found_before, one_drive};

    #[test]
    fn fewer_bytes_than_it_holds() {
        let mut case = one_drive();
        assert!(found_before(&CHECK, &case).is_empty(), "a controller without the log");
        let written = |bytes_written| Some(Smart { bytes_written, ..Smart::default() });
        case.disks(|disk| disk.health.smart = written(250_000_000_000));
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].evidence, "250.0 GB written in its life, 1000.2 GB capacity: 25 %");
        assert_eq!(found[0].remedy, "fiord precondition /dev/nvme0n1, which overwrites all of it");
        case.disks(|disk| {
            disk.queue.zones = Some(Zones {
                model: Model::HostManaged,
                count: 4096,
                size: 1 << 28,
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
    fn fewer_blocks_than_may_be_allocated() {
        let mut case = one_drive();
        let allocated = |used| Allocation { size: 1 << 40, capacity: 1 << 40, used, thin: false };
        let written = Some(Smart { bytes_written: 2_500_000_000_000, ..Smart::default() });
        case.disks(|disk| {
            disk.health.smart = written;
            disk.allocation = Some(allocated(1 << 40));
        });
        assert!(found_before(&CHECK, &case).is_empty(), "all of it, as many drives always say");
        case.disks(|disk| disk.allocation = Some(allocated(1 << 38)));
        let found = found_before(&CHECK, &case);
        assert_eq!(found[0].what, "part of nvme0n1 holds no data");
        assert_eq!(found[0].evidence, "274.9 GB of 1099.5 GB allocated now (NUSE, NCAP): 25 %");
        // A drive without the log says so all the same; with both one finding has both.
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
        // Files on it: how full the file system is belongs to the machine that is measured.
        case.disks(|disk| disk.health.smart = written);
        case.job().target.files[0].kind = FileKind::Regular;
        assert!(found_before(&CHECK, &case).is_empty());
    }
}
