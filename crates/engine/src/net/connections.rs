//! What the report says about the connections of a job.

use fiord_stat::engine::{ConnectionReport, InterfaceReport, NetworkReport, TcpReport};
use fiord_sys::net::{ConnectionFacts, Offloads, TcpFacts, interface_of};

/// The report about the connections of a job; `None` if it has none.
pub(super) fn report(all: &[ConnectionFacts]) -> Option<NetworkReport> {
    (!all.is_empty()).then(|| NetworkReport::of(all.iter().map(connection)))
}

fn connection(facts: &ConnectionFacts) -> ConnectionReport {
    let text = |address: Option<&fiord_sys::net::SocketAddress>| {
        address.map_or(String::new(), ToString::to_string)
    };
    ConnectionReport {
        local: text(facts.local.as_ref()),
        peer: text(facts.peer.as_ref()),
        loopback: facts.is_local(),
        interface: interface(facts),
        receive_buffer: facts.receive_buffer,
        send_buffer: facts.send_buffer,
        tcp: facts.tcp.as_ref().map(tcp),
    }
}

/// The interface of a connection to another machine.
fn interface(facts: &ConnectionFacts) -> Option<InterfaceReport> {
    if facts.is_local() {
        return None;
    }
    let own = facts.local.as_ref()?.ip()?;
    let found = interface_of(own).ok()??;
    let offloads = Offloads::of(&found.name).unwrap_or_default();
    (!found.loopback).then_some(InterfaceReport {
        name: found.name,
        has_device: found.has_device,
        tso: offloads.tso,
        gso: offloads.gso,
        gro: offloads.gro,
    })
}

fn tcp(facts: &TcpFacts) -> TcpReport {
    TcpReport {
        busy: facts.busy,
        window_limited: facts.window_limited,
        send_buffer_limited: facts.send_buffer_limited,
        round_trip: facts.round_trip,
        least_round_trip: facts.least_round_trip,
        segment: facts.segment,
        acknowledged: facts.acknowledged,
        received: facts.received,
        peer_window: facts.peer_window,
    }
}
