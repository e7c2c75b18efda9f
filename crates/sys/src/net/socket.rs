//! Creates and connects sockets.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

use fiord_types::Errno;

use super::SocketAddress;
use super::address::RawAddress;
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
    let kind = if stream { libc::SOCK_STREAM } else { libc::SOCK_DGRAM };
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(Error::last("socket"));
    }
    // SAFETY: the descriptor is new and belongs to nothing else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sets an option of a socket.
///
/// # Errors
/// Errors of `setsockopt(2)`.
pub fn set_option(socket: &OwnedFd, option: SocketOption, value: i32) -> Result<()> {
    let (level, number, name) = option.numbers();
    set_raw(socket, (level, number, name), &value)
}

/// Sets an option whose value is `value`.
fn set_raw<T>(
    socket: &OwnedFd,
    (level, number, name): (i32, i32, &'static str),
    value: &T,
) -> Result<()> {
    let (at, len) = ((&raw const *value).cast(), size_of::<T>() as u32);
    // SAFETY: `value` is readable memory of this length.
    match unsafe { libc::setsockopt(socket.as_raw_fd(), level, number, at, len) } {
        0 => Ok(()),
        _ => Err(Error::last(name)),
    }
}

/// Reads an option of a socket.
///
/// # Errors
/// Errors of `getsockopt(2)`.
pub fn socket_option(socket: &OwnedFd, option: SocketOption) -> Result<i32> {
    let (level, number, name) = option.numbers();
    let (mut value, mut len) = (0i32, size_of::<i32>() as u32);
    let at = (&raw mut value).cast();
    // SAFETY: `value` is writable memory of this length.
    match unsafe { libc::getsockopt(socket.as_raw_fd(), level, number, at, &raw mut len) } {
        0 => Ok(value),
        _ => Err(Error::last(name)),
    }
}

/// Sets how long sends and receives wait. A call that waited so long moves no bytes, or only a part
/// of them.
///
/// # Errors
/// Errors of `setsockopt(2)`.
pub fn set_patience(socket: &OwnedFd, patience: Duration) -> Result<()> {
    let time = libc::timeval {
        tv_sec: patience.as_secs() as _,
        tv_usec: libc::suseconds_t::from(patience.subsec_micros()),
    };
    set_raw(socket, (libc::SOL_SOCKET, libc::SO_RCVTIMEO, "setsockopt SO_RCVTIMEO"), &time)?;
    set_raw(socket, (libc::SOL_SOCKET, libc::SO_SNDTIMEO, "setsockopt SO_SNDTIMEO"), &time)
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
                Some(IpAddr::V4(own)) => u32::from(own),
                _ => libc::INADDR_ANY,
            };
            let request = libc::ip_mreq {
                imr_multiaddr: libc::in_addr { s_addr: u32::from(group).to_be() },
                imr_interface: libc::in_addr { s_addr: own.to_be() },
            };
            let name = "setsockopt IP_ADD_MEMBERSHIP";
            set_raw(socket, (libc::IPPROTO_IP, libc::IP_ADD_MEMBERSHIP, name), &request)
        }
        IpAddr::V6(group) => {
            let request = libc::ipv6_mreq {
                ipv6mr_multiaddr: libc::in6_addr { s6_addr: group.octets() },
                ipv6mr_interface: interface.1,
            };
            let name = "setsockopt IPV6_ADD_MEMBERSHIP";
            set_raw(socket, (libc::IPPROTO_IPV6, libc::IPV6_ADD_MEMBERSHIP, name), &request)
        }
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
        IpAddr::V4(own) => {
            let own = libc::in_addr { s_addr: u32::from(own).to_be() };
            set_raw(socket, (libc::IPPROTO_IP, libc::IP_MULTICAST_IF, name), &own)
        }
        IpAddr::V6(_) => Err(Error::new(name, Errno::EINVAL)),
    }
}

/// Binds a socket to an address.
///
/// # Errors
/// Errors of `bind(2)`.
pub fn bind(socket: &OwnedFd, address: &SocketAddress) -> Result<()> {
    let raw = address.to_raw();
    let at = (&raw const raw.storage).cast();
    // SAFETY: the address is readable memory of this length.
    match unsafe { libc::bind(socket.as_raw_fd(), at, raw.len) } {
        0 => Ok(()),
        _ => Err(Error::last("bind")),
    }
}

/// Lets a socket accept connections.
///
/// # Errors
/// Errors of `listen(2)`: `EADDRINUSE` if another socket listens on the port.
pub fn listen(socket: &OwnedFd, backlog: i32) -> Result<()> {
    // SAFETY: the call takes no pointers.
    match unsafe { libc::listen(socket.as_raw_fd(), backlog) } {
        0 => Ok(()),
        _ => Err(Error::last("listen")),
    }
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
    let none = std::ptr::null_mut();
    let from = listener.as_raw_fd();
    // SAFETY: no address is asked for.
    let fd = unsafe { libc::accept4(from, none, std::ptr::null_mut(), libc::SOCK_CLOEXEC) };
    if fd < 0 {
        return Err(Error::last("accept"));
    }
    // SAFETY: the descriptor is new and belongs to nothing else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
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
    let raw = address.to_raw();
    poll::set_blocking(socket, false)?;
    loop {
        let at = (&raw const raw.storage).cast();
        // SAFETY: the address is readable memory of this length.
        if unsafe { libc::connect(socket.as_raw_fd(), at, raw.len) } == 0 {
            break;
        }
        match Errno::last() {
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
            errno => return Err(Error::new("connect", errno)),
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
    let raw = address.to_raw();
    poll::set_blocking(socket, false)?;
    let at = (&raw const raw.storage).cast();
    // SAFETY: the address is readable memory of this length.
    match unsafe { libc::connect(socket.as_raw_fd(), at, raw.len) } {
        0 => Ok(()),
        _ => match Errno::last() {
            Errno::EINPROGRESS | Errno::EINTR => Ok(()),
            errno => Err(Error::new("connect", errno)),
        },
    }
}

type NameCall = unsafe extern "C" fn(i32, *mut libc::sockaddr, *mut libc::socklen_t) -> libc::c_int;

fn name_of(socket: &OwnedFd, name: &'static str, call: NameCall) -> Result<Option<SocketAddress>> {
    let mut raw = RawAddress::room();
    let at = (&raw mut raw.storage).cast();
    // SAFETY: the address is writable memory of this length.
    match unsafe { call(socket.as_raw_fd(), at, &raw mut raw.len) } {
        0 => Ok(raw.get()),
        _ => Err(Error::last(name)),
    }
}

/// The address of this end of a socket; `None` if its family is unknown.
///
/// # Errors
/// Errors of `getsockname(2)`.
pub fn local_address(socket: &OwnedFd) -> Result<Option<SocketAddress>> {
    name_of(socket, "getsockname", libc::getsockname)
}

/// The address of the other end of a socket; `None` if its family is unknown.
///
/// # Errors
/// Errors of `getpeername(2)`: `ENOTCONN` without a connection.
pub fn peer_address(socket: &OwnedFd) -> Result<Option<SocketAddress>> {
    name_of(socket, "getpeername", libc::getpeername)
}
