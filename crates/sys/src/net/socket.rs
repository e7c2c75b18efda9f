//! Creates and connects sockets.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use fiord_types::Errno;
use rustix::net::{AddressFamily, SocketAddrAny, SocketFlags, SocketType, sockopt};

use super::SocketAddress;
use super::address::RawAddress;
use crate::error::{Named, check};
use crate::poll::{self, Readiness, Waited};
use crate::{Error, Result};

/// An option of a socket that is one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketOption {
    /// `SO_REUSEADDR`: bind to a port whose last connections are still ending.
    ReuseAddress,
    /// `SO_REUSEPORT`: bind several sockets to one port.
    ReusePort,
    /// `SO_RCVBUF`: the size of the receive buffer in bytes. The kernel doubles it.
    ReceiveBuffer,
    /// `SO_SNDBUF`: the size of the send buffer in bytes. The kernel doubles it.
    SendBuffer,
    /// `TCP_NODELAY`: send small segments at once.
    NoDelay,
    /// `TCP_MAXSEG`: the largest segment in bytes.
    MaxSegment,
    /// `IP_MULTICAST_TTL`: how many routers a multicast packet passes at most.
    MulticastTtl4,
    /// `IPV6_MULTICAST_HOPS`: how many routers a multicast packet passes at most.
    MulticastTtl6,
    /// `IPV6_MULTICAST_IF`: the index of the interface that sends multicast packets.
    MulticastInterface6,
    /// `IPV6_V6ONLY`: accept no connections over IPv4.
    OnlyV6,
    /// `SO_ERROR`: the error of the connection, which reading clears.
    PendingError,
}

impl SocketOption {
    /// Level, number and name.
    const fn numbers(self) -> (i32, i32, &'static str) {
        match self {
            SocketOption::ReuseAddress => {
                (libc::SOL_SOCKET, libc::SO_REUSEADDR, "setsockopt SO_REUSEADDR")
            }
            SocketOption::ReusePort => {
                (libc::SOL_SOCKET, libc::SO_REUSEPORT, "setsockopt SO_REUSEPORT")
            }
            SocketOption::ReceiveBuffer => {
                (libc::SOL_SOCKET, libc::SO_RCVBUF, "setsockopt SO_RCVBUF")
            }
            SocketOption::SendBuffer => (libc::SOL_SOCKET, libc::SO_SNDBUF, "setsockopt SO_SNDBUF"),
            SocketOption::NoDelay => {
                (libc::IPPROTO_TCP, libc::TCP_NODELAY, "setsockopt TCP_NODELAY")
            }
            SocketOption::MaxSegment => {
                (libc::IPPROTO_TCP, libc::TCP_MAXSEG, "setsockopt TCP_MAXSEG")
            }
            SocketOption::MulticastTtl4 => {
                (libc::IPPROTO_IP, libc::IP_MULTICAST_TTL, "setsockopt IP_MULTICAST_TTL")
            }
            SocketOption::MulticastTtl6 => {
                (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_HOPS, "setsockopt IPV6_MULTICAST_HOPS")
            }
            SocketOption::MulticastInterface6 => {
                (libc::IPPROTO_IPV6, libc::IPV6_MULTICAST_IF, "setsockopt IPV6_MULTICAST_IF")
            }
            SocketOption::OnlyV6 => {
                (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, "setsockopt IPV6_V6ONLY")
            }
            SocketOption::PendingError => (libc::SOL_SOCKET, libc::SO_ERROR, "getsockopt SO_ERROR"),
        }
    }
}

/// Creates a socket. `stream`: of a connection; otherwise for datagrams.
///
/// # Errors
/// Errors of `socket(2)`: `EAFNOSUPPORT` if the kernel lacks the protocol family.
pub fn new_socket(family: i32, stream: bool) -> Result<OwnedFd> {
    let kind = if stream { SocketType::STREAM } else { SocketType::DGRAM };
    let family = AddressFamily::from_raw(family as u16);
    rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).op("socket")
}

/// Sets an option of a socket.
///
/// # Errors
/// Errors of `setsockopt(2)`.
pub fn set_option(socket: &OwnedFd, option: SocketOption, value: i32) -> Result<()> {
    let (level, number, name) = option.numbers();
    let (at, len) = ((&raw const value).cast(), size_of::<i32>() as u32);
    // SAFETY: `value` is readable memory of this length.
    check(name, unsafe { libc::setsockopt(socket.as_raw_fd(), level, number, at, len) }).map(drop)
}

/// Reads an option of a socket.
///
/// # Errors
/// Errors of `getsockopt(2)`.
pub fn socket_option(socket: &OwnedFd, option: SocketOption) -> Result<i32> {
    let mut value = [0; 4];
    read_option(socket, option.numbers(), &mut value)?;
    Ok(i32::from_ne_bytes(value))
}

/// Reads an option, given by its level, number and name. Returns how many bytes the kernel wrote.
pub(super) fn read_option(
    socket: &OwnedFd,
    (level, number, name): (i32, i32, &'static str),
    value: &mut [u8],
) -> Result<usize> {
    let (at, mut len) = (value.as_mut_ptr().cast(), value.len() as u32);
    // SAFETY: `value` is writable memory of this length.
    let rc = unsafe { libc::getsockopt(socket.as_raw_fd(), level, number, at, &raw mut len) };
    check(name, rc).map(|_| len as usize)
}

/// Sets how long sends and receives wait. A call that waited so long moves no bytes, or only a part
/// of them.
///
/// # Errors
/// Errors of `setsockopt(2)`.
pub fn set_patience(socket: &OwnedFd, patience: Duration) -> Result<()> {
    let set = |which| sockopt::set_socket_timeout(socket, which, Some(patience));
    set(sockopt::Timeout::Recv).op("setsockopt SO_RCVTIMEO")?;
    set(sockopt::Timeout::Send).op("setsockopt SO_SNDTIMEO")
}

/// Joins a multicast group, and for IPv4 also chooses the interface. `interface`: the address of the
/// interface for IPv4, its index for IPv6 (0: the kernel chooses).
///
/// # Errors
/// Errors of `setsockopt(2)`: `ENODEV` if no interface can receive the group.
pub fn join_group(socket: &OwnedFd, group: IpAddr, interface: (Option<IpAddr>, u32)) -> Result<()> {
    match group {
        IpAddr::V4(group) => {
            let own = match interface.0 {
                Some(IpAddr::V4(own)) => own,
                _ => Ipv4Addr::UNSPECIFIED,
            };
            sockopt::set_ip_add_membership(socket, &group, &own).op("setsockopt IP_ADD_MEMBERSHIP")
        }
        IpAddr::V6(group) => sockopt::set_ipv6_add_membership(socket, &group, interface.1)
            .op("setsockopt IPV6_ADD_MEMBERSHIP"),
    }
}

/// Chooses the interface with this IPv4 address for multicast packets.
///
/// # Errors
/// `EINVAL` for an IPv6 address; otherwise those of `setsockopt(2)`: `EADDRNOTAVAIL` if no interface
/// has the address.
pub fn send_from(socket: &OwnedFd, own: IpAddr) -> Result<()> {
    let name = "setsockopt IP_MULTICAST_IF";
    match own {
        IpAddr::V4(own) => sockopt::set_ip_multicast_if(socket, &own).op(name),
        IpAddr::V6(_) => Err(Error::new(name, Errno::EINVAL)),
    }
}

/// Binds a socket to an address.
///
/// # Errors
/// Errors of `bind(2)`.
pub fn bind(socket: &OwnedFd, address: &SocketAddress) -> Result<()> {
    rustix::net::bind(socket, &address.to_raw().any()).op("bind")
}

/// Lets a socket accept connections.
///
/// # Errors
/// Errors of `listen(2)`: `EADDRINUSE` if another socket listens on the port.
pub fn listen(socket: &OwnedFd, backlog: i32) -> Result<()> {
    rustix::net::listen(socket, backlog).op("listen")
}

/// Waits until a socket is ready. False if it was not within `patience`, or a signal arrived.
///
/// # Errors
/// Errors of `ppoll(2)`.
pub fn wait_for(socket: &OwnedFd, readiness: Readiness, patience: Duration) -> Result<bool> {
    Ok(poll::wait_for(socket, readiness, Some(patience))? == Waited::Ready)
}

/// Accepts a connection that has arrived.
///
/// # Errors
/// Errors of `accept4(2)`.
pub fn accept(listener: &OwnedFd) -> Result<OwnedFd> {
    rustix::net::accept_with(listener, SocketFlags::CLOEXEC).op("accept")
}

/// Connects a socket. Returns false if `goes_on` returned false, which it is asked every few
/// milliseconds.
///
/// # Errors
/// Errors of `connect(2)`.
pub fn connect(
    socket: &OwnedFd,
    address: &SocketAddress,
    goes_on: &dyn Fn() -> bool,
) -> Result<bool> {
    const STEP: Duration = Duration::from_millis(10);
    let address = address.to_raw().any();
    poll::set_blocking(socket, false)?;
    while let Err(error) = rustix::net::connect(socket, &address).op("connect") {
        match error.errno {
            Errno::EINPROGRESS | Errno::EINTR => {
                while !wait_for(socket, Readiness::Writable, STEP)? {
                    if !goes_on() {
                        return Ok(false);
                    }
                }
                match socket_option(socket, SocketOption::PendingError)? {
                    0 => break,
                    errno => return Err(Error::new("connect", Errno::from_raw(errno))),
                }
            }
            // The queue of a Unix socket is full: the listener accepts one connection at a time.
            Errno::EAGAIN if goes_on() => std::thread::sleep(STEP),
            Errno::EAGAIN => return Ok(false),
            _ => return Err(error),
        }
    }
    poll::set_blocking(socket, true)?;
    Ok(true)
}

/// Begins to connect a socket, which then does not wait. The connection exists when the socket is writable and
/// [`SocketOption::PendingError`] is 0.
///
/// # Errors
/// Errors of `connect(2)`.
pub fn start_connecting(socket: &OwnedFd, address: &SocketAddress) -> Result<()> {
    poll::set_blocking(socket, false)?;
    match rustix::net::connect(socket, &address.to_raw().any()).op("connect") {
        Err(error) if matches!(error.errno, Errno::EINPROGRESS | Errno::EINTR) => Ok(()),
        other => other,
    }
}

fn known(address: &SocketAddrAny) -> Option<SocketAddress> {
    let (at, len) = (address.as_ptr().cast(), address.addr_len() as usize);
    // SAFETY: the value consists of this number of bytes.
    unsafe { RawAddress::copied(at, len) }.get()
}

/// The address of this end of a socket; `None` if its family is unknown.
///
/// # Errors
/// Errors of `getsockname(2)`.
pub fn local_address(socket: &OwnedFd) -> Result<Option<SocketAddress>> {
    Ok(known(&rustix::net::getsockname(socket).op("getsockname")?))
}

/// The address of the other end of a socket; `None` if its family is unknown.
///
/// # Errors
/// Errors of `getpeername(2)`: `ENOTCONN` without a connection.
pub fn peer_address(socket: &OwnedFd) -> Result<Option<SocketAddress>> {
    Ok(rustix::net::getpeername(socket).op("getpeername")?.as_ref().and_then(known))
}
