//! What the connections of a job say together.

use fiord_plan::Protocol;
use fiord_stat::engine::{ConnectionReport, NetworkReport, TcpReport};
use fiord_types::{Bytes, Nanos};

use crate::check::Entry;

/// The connections of a printed job that go to another machine over TCP.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    pub network: &'a NetworkReport,
    /// Time for which a connection existed, on average.
    pub each: Nanos,
}

/// Returns the connections of a printed job, if it has any.
pub(crate) fn network<'a>(entry: &Entry<'a>) -> Option<&'a NetworkReport> {
    entry.report.engine.network.as_ref().filter(|network| !network.list.is_empty())
}

/// Whether a job uses a protocol that networks carry, and not one between programs or virtual machines.
pub(crate) fn over_networks(entry: &Entry<'_>) -> bool {
    let carried = |protocol| !matches!(protocol, Protocol::Unix | Protocol::Vsock);
    entry.jobs.iter().all(|job| job.engine.network().is_some_and(|plan| carried(plan.protocol)))
}

/// Returns the connections of a job that sends to other machines over TCP.
pub(crate) fn outgoing<'a>(entry: &Entry<'a>) -> Option<Outgoing<'a>> {
    let network = network(entry)?;
    let sends =
        entry.jobs.iter().all(|job| job.engine.network().is_some_and(|plan| !plan.receives));
    let remote = |one: &ConnectionReport| !one.loopback && one.tcp.is_some();
    let jobs = entry.jobs.len().max(1) as u64;
    let each = Nanos(entry.report.runtime.0 / jobs);
    (sends && each.0 > 0 && network.list.iter().all(remote)).then_some(Outgoing { network, each })
}

impl Outgoing<'_> {
    /// The share of the run in which something held the connections up, on average; at most 1. `part` reads the time
    /// of one connection.
    pub(crate) fn share(&self, part: impl Fn(&TcpReport) -> Nanos) -> f64 {
        let times = self.network.list.iter().filter_map(|one| one.tcp.as_ref()).map(part);
        let sum: u64 = times.map(|time| time.0).sum();
        let shares = sum as f64 / self.network.list.len() as f64 / self.each.0 as f64;
        shares.min(1.0)
    }

    /// Bytes in flight on a connection, on average: its rate, multiplied by its smallest round trip time.
    pub(crate) fn in_flight(&self) -> Bytes {
        let tcp = self.network.list.iter().filter_map(|one| one.tcp.as_ref());
        let bytes = tcp.map(|tcp| {
            tcp.acknowledged.as_f64() / self.each.0 as f64 * tcp.least_round_trip.0 as f64
        });
        Bytes((bytes.sum::<f64>() / self.network.list.len() as f64) as u64)
    }
}

impl<'a> Outgoing<'a> {
    /// The address of the first peer.
    pub(crate) fn peer(&self) -> &'a str {
        self.network.list.first().map_or("the peer", |one| match one.peer.as_str() {
            "" => "the peer",
            peer => peer,
        })
    }
}

/// The smallest receive window of the peers, if they had at least half of it in flight all the time: then the
/// window and the round trip time limit the rate, not the program at the other end.
pub(crate) fn full_window(connections: &Outgoing<'_>) -> Option<Bytes> {
    let windows = connections.network.list.iter().filter_map(|one| one.tcp);
    let window = windows.map(|tcp| tcp.peer_window).min().filter(|window| *window > Bytes::ZERO)?;
    (connections.in_flight().saturating_mul(2) >= window).then_some(window)
}

#[cfg(test)]
pub(crate) mod tests {
    use fiord_stat::engine::InterfaceReport;
    use fiord_stat::finding::Finding;

    use super::*;
    use crate::check::Check;
    use crate::tests::fixture;

    /// What a job sent over one connection in 10 s.
    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct Sent {
        pub window_limited: Nanos,
        pub send_buffer_limited: Nanos,
        pub round_trip: Nanos,
        /// The peer is on this machine.
        pub local: bool,
        /// Whether the interface has a device, cuts segments late, and joins them.
        pub interface: Option<(bool, bool, bool)>,
    }

    /// The findings of a check for a job that sent 100 MB in 10 s to a peer with a window of 64 KiB.
    pub(crate) fn sent(check: &Check, line: &str, sent: &Sent) -> Vec<Finding> {
        let job = "--name=a --ioengine=net --hostname=10.0.0.2 --port=9 --size=1m";
        let job = format!("{job} --rw=write {line}");
        fixture::after(check, &job, &|job| {
            let tcp = TcpReport {
                window_limited: sent.window_limited,
                send_buffer_limited: sent.send_buffer_limited,
                least_round_trip: sent.round_trip,
                segment: Bytes(1448),
                acknowledged: Bytes(100_000_000),
                peer_window: Bytes::from_kib(64),
                ..TcpReport::default()
            };
            let interface = sent.interface.map(|(has_device, late, joins)| InterfaceReport {
                name: "eth0".into(),
                has_device,
                tso: Some(late),
                gso: Some(late),
                gro: Some(joins),
            });
            let one = ConnectionReport {
                local: "10.0.0.1:5".into(),
                peer: "10.0.0.2:9".into(),
                loopback: sent.local,
                interface,
                send_buffer: Bytes::from_kib(32),
                tcp: Some(tcp),
                ..ConnectionReport::default()
            };
            job.runtime = Nanos::from_secs(10);
            job.engine.network = Some(NetworkReport::of([one]));
        })
    }
}
