//! Options of the network engines.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

const NET: &[&str] = &["net", "netsplice"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "hostname",
        Kind::Text,
        "The host to connect to, or the multicast address to receive from.",
        "hostname=10.0.0.2",
    )
    .of(&["net", "netsplice", "rdma"])
    .later(),
    option(
        "port",
        Kind::int(1, 65535),
        "The port to connect to or to listen on. Each further worker takes the next one.",
        "port=8765",
    )
    .of(&["net", "netsplice", "rdma"])
    .later(),
    option(
        "protocol",
        Kind::words(&[
            Word::later("tcp", "TCP"),
            Word::later("tcpv6", "TCP over IPv6"),
            Word::later("udp", "UDP"),
            Word::later("udpv6", "UDP over IPv6"),
            Word::later("unix", "a Unix socket, named by `filename`"),
            Word::later("vsock", "a socket between virtual machine and host"),
        ]),
        "The protocol that is spoken.",
        "protocol=udp",
    )
    .alias(&["proto"])
    .of(NET)
    .default("tcp")
    .later(),
    option(
        "nodelay",
        Kind::Bool,
        "Sends small packets at once (`TCP_NODELAY`).",
        "nodelay=1",
    )
    .of(NET)
    .later(),
    option(
        "listen",
        Kind::Switch,
        "Waits for a connection in place of opening one.",
        "listen",
    )
    .of(NET)
    .later(),
    option(
        "pingpong",
        Kind::Switch,
        "Has each packet sent back before the next one goes out, to measure the way there and back.",
        "pingpong",
    )
    .of(NET)
    .later(),
    option(
        "interface",
        Kind::Text,
        "The address of the network interface for multicast.",
        "interface=10.0.0.1",
    )
    .of(NET)
    .later(),
    option(
        "ttl",
        Kind::COUNT,
        "How many routers a multicast packet may pass.",
        "ttl=2",
    )
    .of(NET)
    .default("1")
    .later(),
    option(
        "window_size",
        Kind::BYTES,
        "The size of the socket's buffers.",
        "window_size=1m",
    )
    .of(NET)
    .later(),
    option(
        "mss",
        Kind::BYTES,
        "The largest segment that TCP sends.",
        "mss=1400",
    )
    .of(NET)
    .later(),
    option(
        "bindname",
        Kind::Text,
        "The local name or address to bind the RDMA connection to.",
        "bindname=ib0",
    )
    .of(&["rdma"])
    .default("")
    .later(),
    option(
        "verb",
        Kind::words(&[
            Word::later("write", "write remote memory"),
            Word::later("read", "read remote memory"),
            Word::later("send", "send messages"),
            Word::later("recv", "receive messages"),
        ]),
        "The RDMA operation of this side.",
        "verb=send",
    )
    .alias(&["proto"])
    .of(&["rdma"])
    .default("write")
    .later(),
];
