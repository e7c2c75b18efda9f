//! The address of a socket, of any family.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fiord_types::Errno;

use crate::{Error, Result};

/// The CID that stands for every address of this machine (`VMADDR_CID_ANY`).
const ANY_CID: u32 = u32::MAX;

/// The address of a socket.
///
/// ```
/// use fiord_sys::net::SocketAddress;
///
/// let address = SocketAddress::from("127.0.0.1:8888".parse::<std::net::SocketAddr>()?);
/// assert_eq!(address.to_string(), "127.0.0.1:8888");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketAddress {
    /// An address and a port of the Internet protocol.
    Ip(SocketAddr),
    /// A Unix socket with this path. Empty: a socket without a path.
    Unix(PathBuf),
    /// A virtual machine or its host, and a port.
    Vsock {
        /// The context identifier of the machine.
        cid: u32,
        port: u32,
    },
}

impl From<SocketAddr> for SocketAddress {
    fn from(address: SocketAddr) -> Self {
        SocketAddress::Ip(address)
    }
}

impl SocketAddress {
    /// The address of a Unix socket.
    ///
    /// # Errors
    /// `ENAMETOOLONG`: the path is longer than 107 bytes.
    pub fn unix(path: &Path) -> Result<Self> {
        // SAFETY: all bytes zero are a valid address.
        let most = unsafe { std::mem::zeroed::<libc::sockaddr_un>() }.sun_path.len() - 1;
        if path.as_os_str().len() > most {
            let error = Error::new("bind", Errno::ENAMETOOLONG).at(path);
            return Err(error.saying(format!("the path of a Unix socket has at most {most} bytes")));
        }
        Ok(SocketAddress::Unix(path.to_path_buf()))
    }

    /// The address that stands for every address of this machine, with this port.
    #[must_use]
    pub const fn any_vsock(port: u32) -> Self {
        SocketAddress::Vsock { cid: ANY_CID, port }
    }

    /// The protocol family (`AF_INET`, …).
    #[must_use]
    pub const fn family(&self) -> i32 {
        match self {
            SocketAddress::Ip(SocketAddr::V4(_)) => libc::AF_INET,
            SocketAddress::Ip(SocketAddr::V6(_)) => libc::AF_INET6,
            SocketAddress::Unix(_) => libc::AF_UNIX,
            SocketAddress::Vsock { .. } => libc::AF_VSOCK,
        }
    }

    /// The address of the Internet protocol, if it is one.
    #[must_use]
    pub const fn ip(&self) -> Option<IpAddr> {
        match self {
            SocketAddress::Ip(address) => Some(address.ip()),
            _ => None,
        }
    }

    /// Whether both ends are on this machine: a loopback address, a Unix socket, or the local CID.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        match self {
            SocketAddress::Ip(address) => address.ip().to_canonical().is_loopback(),
            SocketAddress::Unix(_) => true,
            SocketAddress::Vsock { cid, .. } => *cid == libc::VMADDR_CID_LOCAL,
        }
    }

    /// The address in the form of the system calls.
    #[must_use]
    pub fn to_raw(&self) -> RawAddress {
        // SAFETY: all bytes zero are a valid address of no family.
        let mut raw: RawAddress = unsafe { std::mem::zeroed() };
        let storage = (&raw mut raw.storage).cast::<u8>();
        match self {
            SocketAddress::Ip(SocketAddr::V4(address)) => {
                let sin = libc::sockaddr_in {
                    sin_family: libc::AF_INET as _,
                    sin_port: address.port().to_be(),
                    sin_addr: libc::in_addr { s_addr: u32::from(*address.ip()).to_be() },
                    sin_zero: [0; 8],
                };
                // SAFETY: the storage has room and alignment for every kind of address.
                unsafe { storage.cast::<libc::sockaddr_in>().write(sin) };
                raw.len = size_of::<libc::sockaddr_in>() as u32;
            }
            SocketAddress::Ip(SocketAddr::V6(address)) => {
                let sin6 = libc::sockaddr_in6 {
                    sin6_family: libc::AF_INET6 as _,
                    sin6_port: address.port().to_be(),
                    sin6_flowinfo: address.flowinfo(),
                    sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
                    sin6_scope_id: address.scope_id(),
                };
                // SAFETY: the storage has room and alignment for every kind of address.
                unsafe { storage.cast::<libc::sockaddr_in6>().write(sin6) };
                raw.len = size_of::<libc::sockaddr_in6>() as u32;
            }
            SocketAddress::Unix(path) => {
                // SAFETY: all bytes zero are a valid address.
                let mut sun: libc::sockaddr_un = unsafe { std::mem::zeroed() };
                sun.sun_family = libc::AF_UNIX as _;
                let path = path.as_os_str().as_bytes();
                // The constructor has checked the length.
                for (to, from) in sun.sun_path.iter_mut().zip(path) {
                    *to = *from as libc::c_char;
                }
                // SAFETY: the storage has room and alignment for every kind of address.
                unsafe { storage.cast::<libc::sockaddr_un>().write(sun) };
                let before = std::mem::offset_of!(libc::sockaddr_un, sun_path);
                raw.len = (before + path.len() + 1) as u32;
            }
            SocketAddress::Vsock { cid, port } => {
                // SAFETY: all bytes zero are a valid address.
                let mut svm: libc::sockaddr_vm = unsafe { std::mem::zeroed() };
                svm.svm_family = libc::AF_VSOCK as _;
                (svm.svm_cid, svm.svm_port) = (*cid, *port);
                // SAFETY: the storage has room and alignment for every kind of address.
                unsafe { storage.cast::<libc::sockaddr_vm>().write(svm) };
                raw.len = size_of::<libc::sockaddr_vm>() as u32;
            }
        }
        raw
    }
}

/// An address in the form of the system calls.
#[derive(Debug, Clone, Copy)]
pub struct RawAddress {
    /// The address. The kernel reads `len` bytes of it.
    pub storage: libc::sockaddr_storage,
    /// The number of bytes that count.
    pub len: libc::socklen_t,
}

impl RawAddress {
    /// Room for an address that the kernel writes.
    #[must_use]
    pub const fn room() -> Self {
        // SAFETY: all bytes zero are a valid address of no family.
        let storage = unsafe { std::mem::zeroed() };
        RawAddress { storage, len: size_of::<libc::sockaddr_storage>() as u32 }
    }

    /// The address; `None` if its family is unknown.
    #[must_use]
    pub fn get(&self) -> Option<SocketAddress> {
        let storage = (&raw const self.storage).cast::<u8>();
        match i32::from(self.storage.ss_family) {
            libc::AF_INET => {
                // SAFETY: the kernel wrote an address of this family.
                let sin = unsafe { &*storage.cast::<libc::sockaddr_in>() };
                let ip = Ipv4Addr::from(u32::from_be(sin.sin_addr.s_addr));
                Some(SocketAddr::V4(SocketAddrV4::new(ip, u16::from_be(sin.sin_port))).into())
            }
            libc::AF_INET6 => {
                // SAFETY: the kernel wrote an address of this family.
                let sin6 = unsafe { &*storage.cast::<libc::sockaddr_in6>() };
                let (ip, port) = (sin6.sin6_addr.s6_addr, u16::from_be(sin6.sin6_port));
                let (flow, scope) = (sin6.sin6_flowinfo, sin6.sin6_scope_id);
                let address = SocketAddrV6::new(Ipv6Addr::from(ip), port, flow, scope);
                Some(SocketAddr::V6(address).into())
            }
            libc::AF_UNIX => {
                // SAFETY: the kernel wrote an address of this family.
                let sun = unsafe { &*storage.cast::<libc::sockaddr_un>() };
                let path: Vec<u8> =
                    sun.sun_path.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
                Some(SocketAddress::Unix(PathBuf::from(std::ffi::OsStr::from_bytes(&path))))
            }
            libc::AF_VSOCK => {
                // SAFETY: the kernel wrote an address of this family.
                let svm = unsafe { &*storage.cast::<libc::sockaddr_vm>() };
                Some(SocketAddress::Vsock { cid: svm.svm_cid, port: svm.svm_port })
            }
            _ => None,
        }
    }
}

impl fmt::Display for SocketAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SocketAddress::Ip(address) => address.fmt(f),
            SocketAddress::Unix(path) => path.display().fmt(f),
            SocketAddress::Vsock { cid: ANY_CID, port } => write!(f, "*:{port}"),
            SocketAddress::Vsock { cid, port } => write!(f, "{cid}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_survive_the_form_of_the_system_calls() {
        let all = [
            SocketAddress::from("10.1.2.3:65535".parse::<SocketAddr>().unwrap()),
            SocketAddress::from("[fe80::1%3]:80".parse::<SocketAddr>().unwrap()),
            SocketAddress::unix(Path::new("/run/fiord.sock")).unwrap(),
            SocketAddress::Vsock { cid: 3, port: 70000 },
        ];
        for address in all {
            assert_eq!(address.to_raw().get().as_ref(), Some(&address));
        }
        let long = "x".repeat(108);
        let error = SocketAddress::unix(Path::new(&long)).unwrap_err();
        assert!(error.to_string().contains("at most 107 bytes"), "{error}");
        assert!(SocketAddress::unix(Path::new(&long[1..])).is_ok());
    }

    #[test]
    fn loopback_is_known_in_every_family() {
        let is_loopback =
            |text: &str| SocketAddress::from(text.parse::<SocketAddr>().unwrap()).is_loopback();
        assert!(is_loopback("127.9.9.9:1") && is_loopback("[::1]:1"));
        assert!(is_loopback("[::ffff:127.0.0.1]:1"));
        assert!(!is_loopback("10.0.0.1:1") && !is_loopback("[fd00::1]:1"));
        assert!(SocketAddress::Vsock { cid: 1, port: 9 }.is_loopback());
        assert!(!SocketAddress::Vsock { cid: 2, port: 9 }.is_loopback());
    }
}
