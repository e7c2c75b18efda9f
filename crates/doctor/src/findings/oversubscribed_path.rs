//! `oversubscribed-path`: the targets together could move more than a link above them carries.

use fiord_stat::finding::Severity;
use fiord_sys::survey::{SharedLink, sharing};

use crate::check::{After, Before, Check, CollectedFindings, FindingBuilder};

pub(crate) const CHECK: Check = Check {
    id: "oversubscribed-path",
    severity: Severity::Suspect,
    title: "targets that share too narrow a PCIe link",
    about: "Several targets are behind one bridge, switch or adapter whose own link carries less \
            than the targets could move together. With large blocks, the total is that of the \
            link, and another drive only takes a share of it.",
    detection: "For every PCIe link above the targets, fiord adds up the bandwidth of the \
                targets' own links (for SAS and SATA disks, of their cables) and divides it by \
                the bandwidth of the shared link. A ratio above 1 is a note before the run; it is \
                suspect if the run moved more than 70 % of what the link carries. Namespaces of \
                one controller count once.",
    effect: "In proportion: twelve drives with four lanes each behind a switch with sixteen lanes \
             could move three times what the link of the switch carries (computed, not measured).",
    remedy: "spread the targets over several root ports, or compare the total with the bandwidth \
             of the link instead of that of the drives; `fiord devices --tree` shows which \
             devices share a link.",
    lint: None,
    before: Some(before),
    after: Some(after),
    hosts: None,
};

/// Share of its bandwidth from which on a link is the limit: packet headers take the rest.
const FULL: f64 = 0.7;

fn narrow(disks: &[fiord_sys::survey::Disk]) -> Vec<SharedLink> {
    // Tolerates rounding of the line coding.
    sharing::links(disks).into_iter().filter(|link| link.ratio() > 1.01).collect()
}

fn builder(link: &SharedLink) -> FindingBuilder {
    let count = link.disks.len();
    let what = match link.disks.as_slice() {
        [one] => format!("{one} could move more than the link to {} carries", link.address),
        _ => format!("{count} targets share the link to {}", link.address),
    };
    CHECK
        .for_run(what)
        .evidence(format!(
            "they could move {} MB/s and it carries {} MB/s: {:.1} to 1",
            link.demand.0 / 1_000_000,
            link.bytes.0 / 1_000_000,
            link.ratio()
        ))
        .remedy(format!(
            "spread the targets over several root ports, or compare the result with the link's {} MB/s",
            link.bytes.0 / 1_000_000
        ))
}

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let links = narrow(&known.machine.devices.disks);
    links.iter().for_each(|link| findings.report(builder(link).at_most(Severity::Note)));
}

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    for link in narrow(&known.before.devices.disks) {
        let on_it = known.report.extras.devices.iter().filter(|d| link.disks.contains(&d.name));
        // The link is full duplex: each direction has the full bandwidth.
        let mut rates = [0.0f64; 2];
        for device in on_it.filter(|device| device.seconds > 0.0) {
            for (rate, dir) in rates.iter_mut().zip(device.dirs.values()) {
                *rate += dir.bytes.0 as f64 / device.seconds;
            }
        }
        let busiest = rates[0].max(rates[1]);
        if busiest > FULL * link.bytes.0 as f64 {
            let finding = builder(&link);
            let evidence =
                format!("{}; the run moved {:.0} MB/s", finding.finding.evidence, busiest / 1e6);
            findings.report(finding.evidence(evidence));
        }
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::device::{DeviceDir, DeviceView};
    use fiord_sys::survey::fixture::Machine as Tree;
    use fiord_types::{Bytes, PerDir};

    use super::*;
    use crate::tests::drives::{Case, found_after, found_before, with_disks};

    fn twelve(lanes: u32) -> Case {
        let tree = Tree::new();
        let root = tree.port(None, "0000:00:01.0", ("16.0", lanes), ("16.0", lanes));
        let up = tree.port(Some(&root), "0000:01:00.0", ("16.0", lanes), ("16.0", lanes));
        for n in 0..12u32 {
            let down =
                tree.port(Some(&up), &format!("0000:02:{n:02x}.0"), ("16.0", 4), ("16.0", 4));
            let address = format!("0000:{:02x}:00.0", n + 3);
            tree.nvme(Some(&down), &address, n, ("16.0", 4), ("16.0", 4));
        }
        with_disks(&tree)
    }

    #[test]
    fn twelve_drives_behind_sixteen_lanes() {
        let mut case = twelve(16);
        let found = found_before(&CHECK, &case);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Note);
        assert!(found[0].evidence.ends_with("3.0 to 1"), "{found:?}");
        assert!(found_after(&CHECK, &case).is_empty(), "nothing was moved");
        let dir = DeviceDir { bytes: Bytes(2_500_000_000), ..DeviceDir::default() };
        case.report.extras.devices = (0..12)
            .map(|n| DeviceView {
                name: format!("nvme{n}n1"),
                seconds: 1.0,
                dirs: PerDir::new(dir, DeviceDir::default(), DeviceDir::default()),
                ..DeviceView::default()
            })
            .collect();
        let found = found_after(&CHECK, &case);
        assert_eq!(found[0].severity, Severity::Suspect);
        assert!(found[0].evidence.ends_with("the run moved 30000 MB/s"), "{found:?}");
    }

    #[test]
    fn silent_if_the_link_is_wide_enough() {
        assert!(found_before(&CHECK, &twelve(48)).is_empty());
    }
}
