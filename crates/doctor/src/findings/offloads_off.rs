//! `offloads-off`: TCP without the work in large pieces that network interfaces do.

use fiord_stat::engine::{ConnectionReport, InterfaceReport};
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::connections::network;

pub(crate) const CHECK: Check = Check {
    id: "offloads-off",
    severity: Severity::Suspect,
    title: "TCP segment by segment, because offloads are off",
    about: "Linux hands data to a network interface in pieces of up to 64 KiB or more, which the card (TSO) or \
            the last step of the kernel (GSO) cuts into segments of about 1.5 KB. At the receiver, GRO \
            joins segments again. Without them, each segment passes the whole network stack, and the \
            CPU limits the rate. They are off after a wrong setting, on some virtual machines, and while a \
            program captures or forwards packets.",
    detection: "A job sends over TCP through an interface with TSO and GSO off, or receives \
                through a network card with GRO off (`ethtool -k`). The check is silent for blocks that fit into one \
                segment with `pingpong`, on loopback, and for GRO of interfaces without \
                a card (`veth`, bridges), whose segments arrive in large pieces anyway.",
    effect: "Blocks of 64 KiB over a `veth` pair: 3.8 to 4.9 Gbit/s with TSO and GSO, 1.8 to 2.2 Gbit/s without \
             (three runs each, in turn).",
    remedy: "turn them on: `ethtool -K eth0 tso on gso on` at the sender, `ethtool -K eth0 gro on` at the \
             receiver.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.entries().iter().filter_map(finding));
}

fn finding(entry: &Entry<'_>) -> Option<FindingBuilder> {
    let plan = entry.jobs.first()?.engine.network()?;
    let blocks = &entry.jobs[0].load.blocks;
    let block = fiord_types::Dir::ALL.into_iter().map(|dir| u64::from(blocks[dir].max())).max();
    let hit = |one: &&ConnectionReport| {
        let alone = plan.pingpong
            && one.tcp.is_some_and(|tcp| block.is_some_and(|block| block <= tcp.segment.0));
        !one.loopback && one.tcp.is_some() && !alone
    };
    let through = network(entry)?.list.iter().filter(hit).filter_map(|one| one.interface.as_ref());
    let sends = !plan.receives || plan.pingpong;
    let receives = plan.receives || plan.pingpong;
    let off = |found: &&InterfaceReport| {
        (sends && cuts_early(found)) || (receives && joins_nothing(found))
    };
    let found = through.into_iter().find(off)?;
    let (evidence, setting) = match sends && cuts_early(found) {
        true => (format!("TSO and GSO of {} are off", found.name), "tso on gso on"),
        false => (format!("GRO of {} is off", found.name), "gro on"),
    };
    let what =
        format!("the data of job {} pass the network stack segment by segment", entry.report.name);
    let remedy = format!("turn them on: ethtool -K {} {setting}", found.name);
    Some(CHECK.for_job(entry.jobs[0], what).evidence(evidence).remedy(remedy))
}

/// Whether the kernel cuts data into segments before the network stack.
fn cuts_early(interface: &InterfaceReport) -> bool {
    interface.tso == Some(false) && interface.gso == Some(false)
}

/// Whether the segments that a card receives stay apart.
fn joins_nothing(interface: &InterfaceReport) -> bool {
    interface.has_device && interface.gro == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::connections::tests::{Sent, sent};

    #[test]
    fn reports_the_offloads_of_the_direction() {
        let card = |has_device, tso, gro| Sent {
            interface: Some((has_device, tso, gro)),
            ..Sent::default()
        };
        let evidence = |line: &str, sent_over: &Sent| {
            sent(&CHECK, line, sent_over).first().map(|finding| finding.evidence.clone())
        };
        let off = card(false, false, false);
        assert_eq!(evidence("", &off).as_deref(), Some("TSO and GSO of eth0 are off"));
        assert_eq!(evidence("", &card(true, true, false)), None, "it only sends");
        assert_eq!(evidence("--pingpong --bs=512", &off), None, "one segment each");
        assert!(evidence("--pingpong --bs=64k", &off).is_some());
        let receiver = "--rw=read --listen";
        assert_eq!(evidence(receiver, &off), None, "a veth pair does not cut them");
        let slow = card(true, true, false);
        assert_eq!(evidence(receiver, &slow).as_deref(), Some("GRO of eth0 is off"));
        assert_eq!(evidence(receiver, &card(true, true, true)), None);
        assert_eq!(evidence("", &Sent { local: true, ..off }), None);
    }
}
