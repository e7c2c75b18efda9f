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
        "The port to connect to or to listen on. Each further worker uses the next port.",
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
            Word::later("unix", "a Unix socket with the path in `filename`"),
            Word::later("vsock", "a socket between a virtual machine and its host"),
        ]),
        "The network protocol.",
        "protocol=udp",
    )
    .alias(&["proto"])
    .of(NET)
    .default("tcp")
    .later(),
    option("nodelay", Kind::Bool, "Sends small packets immediately (`TCP_NODELAY`).", "nodelay=1")
        .of(NET)
        .later(),
    option("listen", Kind::Switch, "Waits for a connection instead of opening one.", "listen")
        .of(NET)
        .later(),
    option(
        "pingpong",
        Kind::Switch,
        "Lets the receiver return each packet before the sender sends the next one, to measure the \
         round trip time.",
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
        "The maximum number of routers that a multicast packet passes.",
        "ttl=2",
    )
    .of(NET)
    .default("1")
    .later(),
    option("window_size", Kind::BYTES, "The size of the socket's buffers.", "window_size=1m")
        .of(NET)
        .later(),
    option("mss", Kind::BYTES, "The maximum segment size of TCP.", "mss=1400").of(NET).later(),
    option(
        "bindname",
        Kind::Text,
        "The local name or address of the RDMA connection.",
        "bindname=ib0",
    )
    .of(&["rdma"])
    .default("")
    .later(),
    option(
        "verb",
        Kind::words(&[
            Word::later("write", "writes remote memory"),
            Word::later("read", "reads remote memory"),
            Word::later("send", "sends messages"),
            Word::later("recv", "receives messages"),
        ]),
        "The RDMA operation of this side.",
        "verb=send",
    )
    .alias(&["proto"])
    .of(&["rdma"])
    .default("write")
    .later(),
];
