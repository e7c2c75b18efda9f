//! The connections of a job that sends or receives over a network.

use fiord_stat::network::{ConnectionReport, InterfaceReport, NetworkReport, TcpReport};

use super::document::{Value, integer, text};

/// The number of connections, and the list.
pub(super) fn network(report: &NetworkReport) -> Value {
    Value::Object(vec![
        ("count".into(), integer(report.count())),
        ("list".into(), Value::Array(report.list.iter().map(connection).collect())),
    ])
}

fn connection(connection: &ConnectionReport) -> Value {
    let mut keys = vec![
        ("local".into(), text(&connection.local)),
        ("peer".into(), text(&connection.peer)),
        ("loopback".into(), integer(connection.loopback)),
        ("receive_buffer".into(), integer(connection.receive_buffer.0)),
        ("send_buffer".into(), integer(connection.send_buffer.0)),
    ];
    keys.extend(connection.interface.as_ref().map(|found| ("interface".into(), interface(found))));
    keys.extend(connection.tcp.as_ref().map(|facts| ("tcp".into(), tcp(facts))));
    Value::Object(keys)
}

fn interface(interface: &InterfaceReport) -> Value {
    let mut keys = vec![
        ("name".into(), text(&interface.name)),
        ("has_device".into(), integer(interface.has_device)),
    ];
    let offloads = [("tso", interface.tso), ("gso", interface.gso), ("gro", interface.gro)];
    keys.extend(offloads.iter().filter_map(|(name, on)| Some(((*name).into(), integer((*on)?)))));
    Value::Object(keys)
}

fn tcp(tcp: &TcpReport) -> Value {
    let keys = [
        ("busy_ns", tcp.busy.0),
        ("window_limited_ns", tcp.window_limited.0),
        ("send_buffer_limited_ns", tcp.send_buffer_limited.0),
        ("round_trip_ns", tcp.round_trip.0),
        ("least_round_trip_ns", tcp.least_round_trip.0),
        ("segment", tcp.segment.0),
        ("acknowledged", tcp.acknowledged.0),
        ("received", tcp.received.0),
        ("peer_window", tcp.peer_window.0),
    ];
    Value::Object(keys.into_iter().map(|(name, value)| (name.into(), integer(value))).collect())
}
