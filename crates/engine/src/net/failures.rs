//! Why peers cannot be met, and what to do.

use fiord_sys::net::SocketAddress;
use fiord_types::Errno;

use crate::EngineError;

/// Why a job cannot wait at an address, and what to do.
pub(super) fn cannot_listen(address: &SocketAddress, error: &fiord_sys::Error) -> EngineError {
    let failed = EngineError::from_sys(&format!("listening on {address}"), error);
    match (error.errno, address) {
        (Errno::EADDRINUSE, SocketAddress::Unix(_)) => failed.help(
            "To fix: name another socket; a file of this name exists, or a program listens on it",
        ),
        (Errno::EADDRINUSE, _) => {
            failed.help("To fix: use another `port`, or end the program that listens on it")
        }
        (Errno::EADDRNOTAVAIL, _) => failed
            .help("To fix: leave `hostname` out: no interface of this machine has this address"),
        (Errno::EACCES, _) => failed.help("To fix: use a port above 1023, or run as root"),
        _ => failed,
    }
}

/// Why a job cannot reach a peer, and what to do.
pub(super) fn cannot_connect(address: &SocketAddress, error: &fiord_sys::Error) -> EngineError {
    let failed = EngineError::from_sys(&format!("connecting to {address}"), error);
    match error.errno {
        Errno::ECONNREFUSED | Errno::ENOENT => {
            failed.help("To fix: start the job that waits for the connection first")
        }
        Errno::ETIMEDOUT | Errno::EHOSTUNREACH | Errno::ENETUNREACH => {
            failed.help("To fix: check the address, the route and the firewall")
        }
        Errno::ENODEV => failed.help(
            "To fix: check the CID (`hostname`): 2 is the host, 1 is this machine (module vsock_loopback)",
        ),
        _ => failed,
    }
}
