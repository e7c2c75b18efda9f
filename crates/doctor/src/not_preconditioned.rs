//! `not-preconditioned`: a flash drive that was not yet written in full.

use fiord_plan::JobPlan;
use fiord_stat::finding::Severity;
use fiord_sys::survey::{Bus, Disk};

use crate::{Before, Check, Findings, Gap};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "not-preconditioned",
    severity: Severity::Suspect,
    title: "a drive that was not written in full",
    about: "A flash drive that has never been filled reads blocks that lie nowhere without touching \
            flash, and writes into erased blocks without having to move anything. Both are far \
            faster than the same drive in use.",
    seen: "The bytes that the host ever wrote, from the SMART log of NVMe drives, are fewer than the \
           drive's capacity. Silent when they are more; that says nothing about a drive that was \
           trimmed since. The SMART log needs root; other kinds of drives have no such counter.",
    effect: "Not measured here on flash. On `zram`, which stores nothing for what was never written \
             either, 4 KiB random reads with `direct=1` and `psync` made 438k IOPS before the device \
             was written and 148k after (medians of five runs of 1 s on a busy virtual machine: \
             296k to 536k, and 99k to 176k).",
    mend: "`fiord precondition DEVICE`, with `--random` for a steady state of random writes.",
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
        look(disk, findings);
    }
}

fn look(disk: &Disk, findings: &mut Findings) {
    let Some(smart) = disk.health.smart else {
        if !disk.missing.is_empty() {
            findings.gap(&CHECK, &Gap("SMART log of NVMe drives: needs root".into()));
        }
        return;
    };
    let capacity = u128::from(disk.capacity);
    if smart.bytes_written >= capacity || capacity == 0 {
        return;
    }
    findings.tell(
        CHECK
            .of_run(format!("{} has not been written in full", disk.name))
            .evidence(format!(
                "{:.1} GB written in its life, {:.1} GB capacity: {:.0} %",
                smart.bytes_written as f64 / 1e9,
                disk.capacity as f64 / 1e9,
                smart.bytes_written as f64 * 100.0 / disk.capacity as f64
            ))
            .mend(format!("fiord precondition {}", disk.node().display())),
    );
}

#[cfg(test)]
mod tests {
    use fiord_sys::survey::Smart;

    use super::*;
    use crate::drives::{one_drive, told_before};

    #[test]
    fn fewer_bytes_than_it_holds() {
        let mut case = one_drive();
        assert!(told_before(&CHECK, &case).is_empty(), "a controller without the log");
        let written = |bytes_written| Some(Smart { bytes_written, ..Smart::default() });
        case.disks(|disk| disk.health.smart = written(250_000_000_000));
        let found = told_before(&CHECK, &case);
        assert_eq!(found[0].evidence, "250.0 GB written in its life, 1000.2 GB capacity: 25 %");
        assert_eq!(found[0].mend, "fiord precondition /dev/nvme0n1");
        case.disks(|disk| disk.health.smart = written(2_500_000_000_000));
        assert!(told_before(&CHECK, &case).is_empty());
    }
}
