//! Sockets that accept coordinators.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use fiord_sys::net::{self, SocketAddress, SocketOption, set_option};
use fiord_sys::poll::set_blocking;
use fiord_types::Errno;

use super::endpoint::{BadEndpoint, Endpoint};
use super::wire::Wire;

/// How many connections the kernel keeps until they are accepted.
const BACKLOG: i32 = 512;

/// Why nothing listens.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ListenError {
    /// The name has no address.
    #[error("{0}")]
    Endpoint(#[from] BadEndpoint),
    /// A system call failed.
    #[error("cannot listen on {endpoint}: {error}{}", advice(.error))]
    System {
        /// Where.
        endpoint: Endpoint,
        error: fiord_sys::Error,
    },
}

fn advice(error: &fiord_sys::Error) -> &'static str {
    match error.errno {
        Errno::EADDRINUSE => {
            ". To fix: end the other program that listens there, or choose another port (--server=,PORT)"
        }
        Errno::EADDRNOTAVAIL => ". To fix: name an address of this machine",
        _ => "",
    }
}

/// A socket that accepts connections.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    /// The path is removed at the end.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens. Returns all sockets, and the endpoint with its real port.
    pub(super) fn open(endpoint: &Endpoint) -> Result<(Vec<Listener>, Endpoint), ListenError> {
        let failed = |error| ListenError::System { endpoint: endpoint.clone(), error };
        let (host, mut port, version) = match endpoint {
            Endpoint::Unix(path) => {
                return Ok((vec![unix(path).map_err(failed)?], endpoint.clone()));
            }
            Endpoint::Tcp { host, port, version } => (host, *port, *version),
        };
        let (mut all, mut refused) = (Vec::new(), None);
        for mut address in endpoint.own_addresses()? {
            address.set_port(port);
            match tcp(address, host.is_empty()) {
                Ok(listener) => {
                    port = listener.local_addr().map_or(port, |own| own.port());
                    all.push(Listener::Tcp(listener));
                    if host.is_empty() {
                        break;
                    }
                }
                // A machine without IPv6 has only the other address.
                Err(error)
                    if error.errno == Errno::EADDRNOTAVAIL
                        || error.errno == Errno::EAFNOSUPPORT =>
                {
                    refused = refused.or(Some(error));
                }
                Err(error) => return Err(failed(error)),
            }
        }
        match refused {
            Some(error) if all.is_empty() => Err(failed(error)),
            _ => Ok((all, Endpoint::Tcp { host: host.clone(), port, version })),
        }
    }

    /// The descriptor, which is readable when a connection waits.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener, _) => listener.as_fd(),
        }
    }

    /// Accepts a connection. Returns the name of its peer too.
    ///
    /// # Errors
    /// `EAGAIN`: none waits. Others: those of `accept4(2)`.
    pub(super) fn accept(&self) -> fiord_sys::Result<(Wire, String)> {
        let failed = |error| fiord_sys::Error::from_io("accept", &error);
        match self {
            Listener::Tcp(listener) => {
                let (stream, peer) = listener.accept().map_err(failed)?;
                let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
                Ok((Wire::tcp(stream)?, peer.to_string()))
            }
            Listener::Unix(listener, path) => {
                let (stream, _) = listener.accept().map_err(failed)?;
                Ok((Wire::unix(stream)?, format!("sock:{}", path.display())))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Listener::Unix(_, path) = self {
            // It may have been removed already.
            let _ = FileGuard::typed().allow_system(true).remove(path);
        }
    }
}

/// `both`: accepts connections over IPv4 too if the address is one of IPv6.
fn tcp(address: SocketAddr, both: bool) -> fiord_sys::Result<TcpListener> {
    let to = SocketAddress::from(address);
    let socket = net::new_socket(to.family(), true)?;
    set_option(&socket, SocketOption::ReuseAddress, 1)?;
    if address.is_ipv6() {
        set_option(&socket, SocketOption::OnlyV6, i32::from(!both))?;
    }
    net::bind(&socket, &to)?;
    net::listen(&socket, BACKLOG)?;
    set_blocking(&socket, false)?;
    Ok(TcpListener::from(socket))
}

/// Listens on a Unix socket that only this user can connect to. Removes a socket that an earlier server left behind.
fn unix(path: &Path) -> fiord_sys::Result<Listener> {
    let address = SocketAddress::unix(path)?;
    let is_socket =
        std::fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket());
    if is_socket
        && UnixStream::connect(path)
            .is_err_and(|error| Errno::of(&error) == Some(Errno::ECONNREFUSED))
    {
        FileGuard::typed().allow_system(true).remove(path)?;
    }
    let socket = net::new_socket(address.family(), true)?;
    net::bind(&socket, &address).map_err(|error| error.at(path))?;
    // No connection is possible before `listen`.
    let failed = |error| fiord_sys::Error::from_io("chmod", &error).at(path);
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o600)).map_err(failed)?;
    net::listen(&socket, BACKLOG)?;
    set_blocking(&socket, false)?;
    Ok(Listener::Unix(UnixListener::from(socket), path.to_path_buf()))
}
