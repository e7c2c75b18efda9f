//! Options of the network engines.

use crate::option::declare::*;

const NET: &[&str] = &["net", "netsplice"];

words! {
    /// The words of `protocol`.
    pub enum Protocol {
        Tcp = new("tcp", "TCP"),
        Tcpv6 = new("tcpv6", "TCP over IPv6"),
        Udp = new("udp", "UDP"),
        Udpv6 = new("udpv6", "UDP over IPv6"),
        Unix = new("unix", "a Unix socket with the path in `filename`"),
        Vsock = new("vsock", "a socket between a virtual machine and its host"),
    }

    /// The words of `verb`.
    pub enum Verb {
        Write = new("write", "writes the memory of the peer"),
        Read = new("read", "reads the memory of the peer"),
        Send = new("send", "sends messages"),
        Recv = new("recv", "receives messages"),
    }
}

options! {
    Category::Engine;

    /// The host to connect to, the multicast address to receive from, or the local address to listen
    /// on.
    pub const HOSTNAME: Opt<Option<String>> = option("hostname", TEXT, "hostname=10.0.0.2")
        .of(&["net", "netsplice", "rdma"]);

    /// The port to connect to or to listen on. Each further instance of the job uses the next port.
    pub const PORT: Opt<Option<u32>> = option("port", int(1, 65535), "port=8765")
        .of(&["net", "netsplice", "rdma"]);

    /// The other host of each connection, in a run on many hosts: `next` (each host and the one after it, in a ring),
    /// `pair` (the first host and the second, the third and the fourth, and so on), `first` (all other hosts and the
    /// first), `all` (each host and every other one) or the name of a host (all other hosts and this one). fiord
    /// creates the other end of the job there: it reads what the job writes, or writes what the job reads. In
    /// `hostname`, `$peer` is the name of the other host, if the data use another network: `hostname=$peer-ib`.
    pub const PEER: Opt<Option<String>> = option("peer", TEXT, "peer=next")
        .of(&["net", "netsplice", "rdma"])
        .since("fiord");

    /// The network protocol.
    pub const PROTOCOL: Opt<Protocol> = option("protocol", one_of(), "protocol=udp")
        .alias(&["proto"])
        .of(NET)
        .default("tcp");

    /// Sends small packets immediately (`TCP_NODELAY`).
    pub const NODELAY: Opt<bool> = option("nodelay", BOOL, "nodelay=1").of(NET);

    /// Waits for a connection instead of opening one. A job that reads from a Unix socket or receives
    /// datagrams always waits.
    pub const LISTEN: Opt<bool> = option("listen", SWITCH, "listen").of(NET);

    /// Lets the receiver return each packet before the sender sends the next one, to measure the
    /// round trip time.
    pub const PINGPONG: Opt<bool> = option("pingpong", SWITCH, "pingpong")
        .of(NET);

    /// The address of the network interface for multicast.
    pub const INTERFACE: Opt<Option<String>> = option("interface", TEXT, "interface=10.0.0.1")
        .of(NET);

    /// The maximum number of routers that a multicast packet passes.
    pub const TTL: Opt<u32> = option("ttl", COUNT, "ttl=2").of(NET).default("1");

    /// The size of the socket's buffers.
    pub const WINDOW_SIZE: Opt<Option<Bytes>> = option("window_size", BYTES, "window_size=1m")
        .of(NET);

    /// The maximum segment size of TCP.
    pub const MSS: Opt<Option<Bytes>> = option("mss", BYTES, "mss=1400").of(NET);

    /// The local name or address of the RDMA connection: the address to wait at, or the address from which to
    /// connect, which chooses the device if several can reach the peer.
    pub const BINDNAME: Opt<String> = option("bindname", TEXT, "bindname=ib0")
        .of(&["rdma"])
        .default("");

    /// The operation of the end that connects, which is the job that writes. The end that waits learns it from its
    /// peer.
    pub const VERB: Opt<Verb> = option("verb", one_of(), "verb=send")
        .alias(&["proto"])
        .of(&["rdma"])
        .default("write");
}
