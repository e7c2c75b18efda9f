//! `peer-limited`: a sender that waits for its peer.

use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::connections::{full_window, outgoing};

/// From this share of the run on, the peer's window limits the result.
const MAJORITY: f64 = 0.5;

pub(crate) const CHECK: Check = Check {
    id: "peer-limited",
    severity: Severity::Suspect,
    title: "the receiving end limits the rate of a sender",
    about: "A TCP receiver states how many bytes it still has room for (its receive window). If the program \
            at the other end reads more slowly than data arrive, the window becomes full, \
            and the sender waits. The result then is the speed of that program, and not that of the \
            network: its CPU, its rate limit, the disk to which it writes, or a receive buffer that is \
            too small.",
    detection: "The job sends over TCP to another machine, and the receive window of the peer was full for at \
                least half of the run (`tcpi_rwnd_limited`, on average of its connections). If at \
                least half of the window was in flight, the network delay limits the rate: that is \
                `window-limited`. A receiver cannot see this hazard.",
    effect: "Over a `veth` pair, a receiver with `rate=10m` slowed a sender down from 4.2 Gbit/s to 0.13 Gbit/s; \
             its window was full for 90 % of the run.",
    remedy: "check the peer: the CPU time of its threads, its `rate`, and its receive buffer \
             (`window_size` in its job, `net.ipv4.tcp_rmem`). Several connections (`numjobs`) use \
             several CPUs of the peer.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: None,
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.entries().iter().filter_map(finding));
}

fn finding(entry: &Entry<'_>) -> Option<FindingBuilder> {
    let connections = outgoing(entry)?;
    let share = connections.share(|tcp| tcp.window_limited);
    if share < MAJORITY || full_window(&connections).is_some() {
        return None;
    }
    let what = format!("the receiving end limits the rate of job {}", entry.report.name);
    let last = connections.network.list.iter().filter_map(|one| one.tcp).map(|tcp| tcp.peer_window);
    let mut said = SaidNumbers::default();
    let finding = CHECK
        .for_job(entry.jobs[0], what)
        .evidence(format!(
            "the receive window of {} was full for {} of the run; its last size was {}",
            connections.peer(),
            said.percent("share", share),
            said.bytes("window", last.min().unwrap_or_default())
        ))
        .numbers(said)
        .remedy(
            "check the CPU time, the rate and the receive buffer (window_size, net.ipv4.tcp_rmem) of the \
             peer",
        );
    Some(finding)
}

#[cfg(test)]
mod tests {
    use fiord_types::Nanos;

    use super::*;
    use crate::evidence::connections::tests::{Sent, sent};

    #[test]
    fn reports_a_window_that_is_full_because_the_peer_reads_slowly() {
        // 100 MB in 10 s, in a network of 10 us.
        let slow = Sent {
            window_limited: Nanos::from_millis(9_000),
            round_trip: Nanos::from_micros(10),
            ..Sent::default()
        };
        let found = sent(&CHECK, "", &slow);
        assert_eq!(found.len(), 1, "{found:?}");
        let start = "the receive window of 10.0.0.2:9 was full for 90 % of the run; its last size";
        assert!(found[0].evidence.starts_with(start), "{found:?}");
        assert!(
            sent(&CHECK, "", &Sent { window_limited: Nanos::from_millis(3_000), ..slow })
                .is_empty()
        );
        assert!(sent(&CHECK, "", &Sent { local: true, ..slow }).is_empty());
        // 64 KiB in flight, which is the window.
        let far = Sent {
            window_limited: Nanos::from_millis(9_000),
            round_trip: Nanos::from_micros(6_500),
            ..Sent::default()
        };
        assert!(sent(&CHECK, "", &far).is_empty());
        assert!(sent(&CHECK, "--rw=read --listen", &slow).is_empty());
    }
}
