//! `window-limited`: a buffer that holds less than the network has in flight.

use fiord_job::option::table::net::WINDOW_SIZE;
use fiord_stat::claim::ClaimedSetting;
use fiord_stat::finding::Severity;

use crate::check::{After, Check, CollectedFindings, Entry, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::connections::{Outgoing, full_window, outgoing};
use crate::evidence::setting::leave_out;

const LARGER: &str = "leave window_size out, or set a larger one";
/// From this share of the run on, the window limits the result.
const MAJORITY: f64 = 0.5;

pub(crate) const CHECK: Check = Check {
    id: "window-limited",
    severity: Severity::Suspect,
    title: "a TCP window that is smaller than what the network has in flight",
    about: "A TCP sender keeps a copy of all bytes that the receiver has not acknowledged, and the receiver \
            must have room for them. With a window of W bytes and a round trip time of T, a \
            connection carries at most W bytes in each T, however fast the network is: 64 KiB and 10 ms \
            are 52 Mbit/s. Linux enlarges both buffers as needed, unless `window_size` sets their sizes \
            or the limits of the system are too low.",
    detection: "The job sends over TCP to another machine. The bytes in flight are the rate, multiplied by the \
                smallest round trip time. They were at least `window_size`; or the kernel counted a full send \
                buffer for half of the run (`tcpi_sndbuf_limited`); or the receive window of the peer was full for half of \
                the run (`tcpi_rwnd_limited`) and at least half of it was in flight. If it was less, the peer \
                reads too slowly: that is `peer-limited`.",
    effect: "With a delay of 20 ms in each direction (netem, in a virtual machine): 0.45 MB/s with `window_size=16k` \
             at the receiver, 0.17 MB/s with `window_size=4k` at the sender, 3.9 MB/s without it.",
    remedy: "leave `window_size` out at this end and at the peer, or set it to at least the bandwidth of \
             the network multiplied by the round trip time; raise the limits of the system (`net.core.wmem_max` and \
             `net.ipv4.tcp_wmem` of the sender, `net.core.rmem_max` and `net.ipv4.tcp_rmem` of the receiver); or use several \
             connections (`numjobs`).",
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
    let mut said = SaidNumbers::default();
    let own = own_buffer(entry, &connections, &mut said);
    let (evidence, remedy, settings) = match own {
        Some(own) => own,
        None => peers(&connections, &mut said)?,
    };
    let what = format!("a TCP window limits the rate of job {}", entry.report.name);
    let trip = said.time("round_trip", round_trip(&connections));
    let evidence = format!("{evidence}, with a round trip time of {trip}");
    let finding = CHECK.for_job(entry.jobs[0], what).evidence(evidence).remedy(remedy);
    Some(finding.settings(settings).numbers(said).option(WINDOW_SIZE))
}

/// The evidence, the remedy and its options.
type WindowLimit = (String, &'static str, Vec<ClaimedSetting>);

/// Examines the send buffers. The kernel counts only a part of the time in which a buffer is full.
fn own_buffer(
    entry: &Entry<'_>,
    connections: &Outgoing<'_>,
    said: &mut SaidNumbers,
) -> Option<WindowLimit> {
    let set = entry.jobs.iter().filter_map(|job| job.engine.network()?.window).min();
    let in_flight = connections.in_flight();
    if let Some(size) = set.filter(|size| in_flight >= *size) {
        let evidence = format!(
            "window_size={}, and {} were in flight",
            said.bytes("window", size),
            said.bytes("in_flight", in_flight)
        );
        return Some((evidence, LARGER, vec![leave_out(WINDOW_SIZE)]));
    }
    let share = connections.share(|tcp| tcp.send_buffer_limited);
    if share < MAJORITY {
        return None;
    }
    let (remedy, settings) = match set {
        Some(_) => (LARGER, vec![leave_out(WINDOW_SIZE)]),
        None => ("raise net.ipv4.tcp_wmem, or use more connections (numjobs)", Vec::new()),
    };
    let share = said.percent("share", share);
    let evidence = format!("the send buffer of this end was full for {share} of the run");
    Some((evidence, remedy, settings))
}

/// Examines the receive windows of the peers.
fn peers(connections: &Outgoing<'_>, said: &mut SaidNumbers) -> Option<WindowLimit> {
    let share = connections.share(|tcp| tcp.window_limited);
    let size = full_window(connections).filter(|_| share >= MAJORITY)?;
    let evidence = format!(
        "the receive window of the peer ({}) was full for {} of the run",
        said.bytes("window", size),
        said.percent("share", share)
    );
    let remedy = "leave window_size out at the peer, raise its net.ipv4.tcp_rmem, or use more \
                  connections (numjobs)";
    Some((evidence, remedy, Vec::new()))
}

/// The smallest round trip time of the connections, in ns.
fn round_trip(connections: &Outgoing<'_>) -> f64 {
    let times = connections.network.list.iter().filter_map(|one| one.tcp);
    times.map(|tcp| tcp.least_round_trip.0 as f64).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use fiord_types::Nanos;

    use super::*;
    use crate::evidence::connections::tests::{Sent, sent};

    #[test]
    fn reports_a_full_window_and_a_full_send_buffer() {
        // 100 MB in 10 s: in a network of 6.5 ms, 65 KB are in flight.
        let far = Sent {
            window_limited: Nanos::from_millis(9_000),
            round_trip: Nanos::from_micros(6_500),
            ..Sent::default()
        };
        let found = sent(&CHECK, "", &far);
        assert_eq!(found.len(), 1, "{found:?}");
        let evidence = "the receive window of the peer (64 KiB) was full for 90 % of the run, with a \
                        round trip time of 6.5 ms";
        assert_eq!(found[0].evidence, evidence);
        assert!(
            sent(&CHECK, "", &Sent { round_trip: Nanos::from_micros(100), ..far }).is_empty(),
            "the peer is slow"
        );
        assert!(
            sent(&CHECK, "", &Sent { window_limited: Nanos::from_millis(1_000), ..far }).is_empty()
        );

        // 65 KB in flight, of which the buffer holds 16.
        let full = Sent { round_trip: Nanos::from_micros(6_500), ..Sent::default() };
        let found = sent(&CHECK, "--window_size=16k", &full);
        assert!(
            found[0].evidence.starts_with("window_size=16 KiB, and 63.5 KiB were"),
            "{found:?}"
        );
        assert!(found[0].remedy.starts_with("leave window_size out"), "{found:?}");
        assert!(sent(&CHECK, "--window_size=1m", &full).is_empty(), "larger than needed");
        assert!(sent(&CHECK, "", &full).is_empty());
        let full = Sent { send_buffer_limited: Nanos::from_millis(8_000), ..full };
        assert!(sent(&CHECK, "", &full)[0].remedy.starts_with("raise net.ipv4.tcp_wmem"));
        assert!(sent(&CHECK, "", &Sent { local: true, ..full }).is_empty());
    }
}
