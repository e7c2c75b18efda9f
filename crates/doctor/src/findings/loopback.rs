//! `loopback`: network connections that stay on this machine.

use std::net::SocketAddr;

use fiord_job::option::table::net::HOSTNAME;
use fiord_stat::engine::ConnectionReport;
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::connections::{network, over_networks};

pub(crate) const CHECK: Check = Check {
    id: "loopback",
    severity: Severity::Suspect,
    title: "a network job whose peer is on this machine",
    about: "The kernel passes data between two programs on one machine in memory, without a network card \
            and without a network. The bandwidth is that of copies in memory and the latency that of \
            a switch between two programs, and both ends share the CPUs. That also holds if the job names the address \
            of a network card of this machine.",
    detection: "A connection has a loopback address, or both of its ends have the same address. The finding \
                is a note for a loopback address, which the job names on purpose, and suspect \
                for another address. It is silent for Unix sockets and vsock, and it cannot see \
                a peer in another network namespace or virtual machine on this machine.",
    effect: "Blocks of 64 KiB over TCP at 127.0.0.1: 12, 2.1 and 3.6 Gbit/s in three runs on a machine with two \
             CPUs, depending only on what else the CPUs did.",
    remedy: "run the other end on another machine, and set `hostname` to its address.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.entries().iter().filter_map(finding));
}

fn finding(entry: &Entry<'_>) -> Option<FindingBuilder> {
    let network = network(entry).filter(|_| over_networks(entry))?;
    let local: Vec<&ConnectionReport> = network.list.iter().filter(|one| one.loopback).collect();
    let first = local.first()?;
    let name = &entry.report.name;
    let all = network.list.len();
    let mut said = SaidNumbers::default();
    let what = match local.len() == all {
        true => format!("the network connections of job {name} stay on this machine"),
        false => format!(
            "{} of {} network connections of job {name} stay on this machine",
            said.exact("local", local.len() as u64),
            said.exact("connections", all as u64)
        ),
    };
    let on_purpose = |one: &&ConnectionReport| {
        let ip = |text: &str| text.parse::<SocketAddr>().ok().map(|at| at.ip().to_canonical());
        [&one.local, &one.peer].into_iter().any(|end| ip(end).is_some_and(|ip| ip.is_loopback()))
    };
    let peer = if first.peer.is_empty() { "its peer" } else { &first.peer };
    let finding = CHECK
        .for_job(entry.jobs[0], what)
        .evidence(format!("{} is connected with {peer}", first.local))
        .numbers(said)
        .remedy("run the other end on another machine")
        .option(HOSTNAME);
    let named = local.iter().all(on_purpose);
    Some(if named { finding.at_most(Severity::Note) } else { finding })
}

#[cfg(test)]
mod tests {
    use fiord_stat::engine::NetworkReport;

    use super::*;
    use crate::tests::fixture;

    fn reported(protocol: &str, ends: &[(&str, &str, bool)]) -> Vec<(String, Severity)> {
        let to = if protocol == "unix" { "--filename=s" } else { "--hostname=10.0.0.1 --port=9" };
        let line =
            format!("--name=a --ioengine=net --rw=write --size=1m --protocol={protocol} {to}");
        let found = fixture::after(&CHECK, &line, &|job| {
            let one = |(local, peer, loopback): &(&str, &str, bool)| ConnectionReport {
                local: (*local).into(),
                peer: (*peer).into(),
                loopback: *loopback,
                ..ConnectionReport::default()
            };
            job.engine.network = Some(NetworkReport::of(ends.iter().map(one)));
        });
        found.into_iter().map(|finding| (finding.what, finding.severity)).collect()
    }

    #[test]
    fn reports_connections_that_stay_on_this_machine() {
        let all = "the network connections of job a stay on this machine".to_owned();
        let named = reported("tcp", &[("127.0.0.1:5", "127.0.0.1:9", true)]);
        assert_eq!(named, [(all.clone(), Severity::Note)]);
        let own = reported("tcp", &[("10.0.0.1:5", "10.0.0.1:9", true)]);
        assert_eq!(own, [(all, Severity::Suspect)]);
        let ends = [("10.0.0.1:5", "10.0.0.1:9", true), ("10.0.0.1:6", "10.0.0.2:9", false)];
        assert!(reported("tcp", &ends)[0].0.starts_with("1 of 2 network connections"));
        assert_eq!(reported("tcp", &[("10.0.0.1:5", "10.0.0.2:9", false)]), []);
        assert_eq!(reported("unix", &[("", "s", true)]), []);
    }
}
