//! The connections of a job that sends or receives over a network.

use fiord_stat::network::{ConnectionReport, InterfaceReport, NetworkReport, TcpReport};

use super::node::Node;

pub(super) fn network(node: Node<'_>) -> NetworkReport {
    NetworkReport::stated(node.whole("count"), node.list("list").map(connection).collect())
}

fn connection(node: Node<'_>) -> ConnectionReport {
    ConnectionReport {
        local: node.text("local"),
        peer: node.text("peer"),
        loopback: node.whole("loopback") != 0,
        interface: node.find("interface").map(interface),
        receive_buffer: node.bytes("receive_buffer"),
        send_buffer: node.bytes("send_buffer"),
        tcp: node.find("tcp").map(tcp),
    }
}

fn interface(node: Node<'_>) -> InterfaceReport {
    let flag = |key| node.find(key).map(|value| value.integer() != 0);
    InterfaceReport {
        name: node.text("name"),
        has_device: node.find("has_device").is_some_and(|value| value.integer() != 0),
        tso: flag("tso"),
        gso: flag("gso"),
        gro: flag("gro"),
    }
}

fn tcp(node: Node<'_>) -> TcpReport {
    TcpReport {
        busy: node.nanos("busy_ns"),
        window_limited: node.nanos("window_limited_ns"),
        send_buffer_limited: node.nanos("send_buffer_limited_ns"),
        round_trip: node.nanos("round_trip_ns"),
        least_round_trip: node.nanos("least_round_trip_ns"),
        segment: node.bytes("segment"),
        acknowledged: node.bytes("acknowledged"),
        received: node.bytes("received"),
        peer_window: node.bytes("peer_window"),
    }
}
