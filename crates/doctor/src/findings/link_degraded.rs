//! `link-degraded`: a PCIe link above a target is slower or narrower than it could be.

use fiord_stat::finding::Severity;
use fiord_sys::survey::pcie::{self, Function};

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};

pub(crate) const CHECK: Check = Check {
    id: "link-degraded",
    severity: Severity::Suspect,
    title: "a PCIe link below its maximum speed or width",
    about: "A link between the drive and the processor runs with fewer lanes or at a lower speed \
            than both of its ends support. The result is that of the link, not of the drive. Dirt \
            on a contact, a poor riser or cable, a slot that shares its lanes, or a firmware \
            setting can cause this, and the kernel does not complain.",
    detection: "For the drive and every bridge above it, fiord compares `current_link_speed` and \
                `current_link_width` with the maximum that both ends of the link support \
                (`max_link_speed`, `max_link_width`). A drive in a slot that supports less than \
                the drive is a note. The check is silent if the link runs at its maximum, and for \
                devices that are not on a PCIe link.",
    effect: "In proportion for large blocks: four lanes of generation 4 carry 7.88 GB/s after \
             line coding, two lanes 3.94 GB/s (computed, not measured).",
    remedy: "reseat the drive, its cable and its riser; look for `AER` and `Bandwidth` in \
             `dmesg`; check bifurcation and link speed in the firmware settings. `fiord devices \
             --tree` shows every link.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let mut seen: Vec<&str> = Vec::new();
    for disk in &known.machine.devices.disks {
        for function in pcie::links(&disk.pcie) {
            if seen.contains(&function.address.as_str()) {
                continue;
            }
            seen.push(&function.address);
            if let Some(finding) =
                degraded(function, &disk.name).or_else(|| bounded(function, &disk.name))
            {
                findings.report(finding);
            }
        }
    }
}

/// Reports a link that runs below what both of its ends support.
fn degraded(function: &Function, disk: &str) -> Option<FindingBuilder> {
    let (now, best) = (function.now?, function.link_best()?);
    if now.tenths >= best.tenths && now.width >= best.width {
        return None;
    }
    let finding = CHECK
        .for_run(format!(
            "the PCIe link to {} above {disk} runs below its maximum",
            function.address
        ))
        .evidence(format!(
            "it runs at {now} ({} MB/s) and both ends support {best} ({} MB/s)",
            now.bytes() / 1_000_000,
            best.bytes() / 1_000_000
        ))
        .remedy("reseat the drive, its cable and riser; `fiord devices --tree` shows every link");
    Some(finding)
}

/// Reports a link that is limited by its slot, if the drive supports more.
fn bounded(function: &Function, disk: &str) -> Option<FindingBuilder> {
    let (now, own) = (function.now?, function.own_best?);
    if function.is_bridge() || now.bytes() >= own.bytes() {
        return None;
    }
    let finding = CHECK
        .for_run(format!("the slot of {disk} ({}) supports less than the drive", function.address))
        .evidence(format!(
            "the link runs at {now} ({} MB/s), the drive supports {own} ({} MB/s)",
            now.bytes() / 1_000_000,
            own.bytes() / 1_000_000
        ))
        .remedy(format!("use a slot with {own}"))
        .at_most(Severity::Note);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_sys::survey::fixture::Machine as Tree;

    use super::*;
    use crate::tests::drives::{found_before, with_disks};

    #[test]
    fn four_lanes_on_two() {
        let tree = Tree::new();
        let port = tree.port(None, "0000:00:01.0", ("16.0", 2), ("16.0", 4));
        tree.nvme(Some(&port), "0000:01:00.0", 0, ("16.0", 2), ("16.0", 4));
        let found = found_before(&CHECK, &with_disks(&tree));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Suspect);
        assert!(found[0].evidence.contains("16 GT/s x2 (3938 MB/s)"), "{found:?}");
        assert!(found[0].evidence.contains("16 GT/s x4 (7876 MB/s)"), "{found:?}");
    }

    #[test]
    fn generation_four_in_a_slot_of_three_is_a_note() {
        let tree = Tree::new();
        let port = tree.port(None, "0000:00:01.0", ("8.0", 4), ("8.0", 4));
        tree.nvme(Some(&port), "0000:01:00.0", 0, ("8.0", 4), ("16.0", 4));
        let found = found_before(&CHECK, &with_disks(&tree));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].what.contains("slot of nvme0n1"), "{found:?}");
    }

    #[test]
    fn silent_at_its_best_and_without_a_link() {
        let tree = Tree::new();
        let port = tree.port(None, "0000:00:01.0", ("16.0", 4), ("32.0", 16));
        tree.nvme(Some(&port), "0000:01:00.0", 0, ("16.0", 4), ("16.0", 4));
        tree.disk("/sys/devices/virtual/block/sda", (8, 0), 1 << 30);
        assert!(found_before(&CHECK, &with_disks(&tree)).is_empty());
    }
}
