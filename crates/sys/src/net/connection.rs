//! What the kernel knows about a connection.

use std::os::fd::OwnedFd;

use fiord_types::Bytes;

use super::{SocketAddress, SocketOption, TcpFacts};

/// What the kernel knows about a connection, or about a socket for datagrams.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectionFacts {
    /// Address of this end.
    pub local: Option<SocketAddress>,
    /// Address of the peer; `None` on a socket for datagrams that is not connected.
    pub peer: Option<SocketAddress>,
    /// What limited the connection; `None` if it is not one of TCP.
    pub tcp: Option<TcpFacts>,
    /// Size of the receive buffer, as the kernel counts it: twice what the program asked for.
    pub receive_buffer: Bytes,
    /// Size of the send buffer, as the kernel counts it.
    pub send_buffer: Bytes,
}

impl ConnectionFacts {
    /// Reads the facts of a socket. What the kernel does not say is `None` or 0.
    #[must_use]
    pub fn of(socket: &OwnedFd) -> Self {
        let size = |option| {
            let size = super::socket_option(socket, option).unwrap_or(0);
            Bytes(u64::try_from(size).unwrap_or(0))
        };
        ConnectionFacts {
            local: super::local_address(socket).ok().flatten(),
            peer: super::peer_address(socket).ok().flatten(),
            tcp: super::tcp_facts(socket).ok(),
            receive_buffer: size(SocketOption::ReceiveBuffer),
            send_buffer: size(SocketOption::SendBuffer),
        }
    }

    /// Whether both ends are on this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        let ends = [&self.local, &self.peer];
        let same = match (&self.local, &self.peer) {
            (Some(local), Some(peer)) => local.ip().is_some() && local.ip() == peer.ip(),
            _ => false,
        };
        same || ends.into_iter().flatten().any(SocketAddress::is_loopback)
    }
}
