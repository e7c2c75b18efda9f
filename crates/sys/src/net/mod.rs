//! Sockets: addresses, connections, and what the kernel knows about them.
//!
//! | question | module |
//! |---|---|
//! | what is the address of a socket | `address` |
//! | create, connect, accept, set options | `socket` |
//! | what limited a TCP connection | `tcp` |
//! | who are the ends of a connection, and how large are its buffers | `connection` |
//! | which network interface does an address belong to, and what does it offload | `interface` |

mod address;
mod connection;
mod interface;
mod socket;
mod tcp;

pub use crate::poll::Readiness;
pub use address::{RawAddress, SocketAddress};
pub use connection::ConnectionFacts;
pub use interface::{Interface, Offloads, index_of, interface_of};
pub use socket::{
    SocketOption, accept, bind, connect, join_group, listen, local_address, new_socket,
    peer_address, send_from, set_option, set_patience, socket_option, start_connecting, wait_for,
};
pub use tcp::{TcpFacts, tcp_facts};
