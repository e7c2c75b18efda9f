//! The address of a socket, of any family.

use std::ffi::OsString;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use fiord_types::Errno;
use rustix::net::SocketAddrAny;

use crate::{Error, Result};

/// The CID that stands for every address of this machine (`VMADDR_CID_ANY`).
const ANY_CID: u32 = u32::MAX;
/// Maximum length of the path of a Unix socket, without the byte that ends it.
const MAX_PATH: usize = 107;

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
        if path.as_os_str().len() > MAX_PATH {
            let error = Error::new("bind", Errno::ENAMETOOLONG).at(path);
            return Err(
                error.saying(format!("the path of a Unix socket has at most {MAX_PATH} bytes"))
            );
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

    /// The address in the form of the system calls: the layouts of `ip(7)`, `ipv6(7)`, `unix(7)` and `vsock(7)`.
    #[must_use]
    pub fn to_raw(&self) -> RawAddress {
        let mut raw = RawAddress::room();
        raw.put(0, (self.family() as u16).to_ne_bytes());
        raw.len = match self {
            SocketAddress::Ip(address) => {
                raw.put(2, address.port().to_be_bytes());
                match address {
                    SocketAddr::V4(address) => {
                        raw.put(4, address.ip().octets());
                        16
                    }
                    SocketAddr::V6(address) => {
                        raw.put(4, address.flowinfo().to_ne_bytes());
                        raw.put(8, address.ip().octets());
                        raw.put(24, address.scope_id().to_ne_bytes());
                        28
                    }
                }
            }
            SocketAddress::Unix(path) => {
                // The constructor has checked the length.
                let path = path.as_os_str().as_bytes();
                raw.storage[2..2 + path.len()].copy_from_slice(path);
                (2 + path.len() + 1) as u32
            }
            SocketAddress::Vsock { cid, port } => {
                raw.put(4, port.to_ne_bytes());
                raw.put(8, cid.to_ne_bytes());
                16
            }
        };
        raw
    }
}

/// An address in the form of the system calls.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(8))]
pub struct RawAddress {
    /// The address, as large as a `sockaddr_storage`. The kernel reads `len` bytes of it.
    pub storage: [u8; 128],
    /// The number of bytes that count.
    pub len: u32,
}

impl RawAddress {
    /// Room for an address that the kernel writes.
    #[must_use]
    pub const fn room() -> Self {
        RawAddress { storage: [0; 128], len: 128 }
    }

    fn put<const N: usize>(&mut self, at: usize, bytes: [u8; N]) {
        self.storage[at..at + N].copy_from_slice(&bytes);
    }

    fn at<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|index| self.storage[at + index])
    }

    /// Copies an address that the kernel or the C library wrote.
    ///
    /// # Safety
    /// `from` must be readable for `len` bytes, at most 128.
    pub(super) unsafe fn copied(from: *const u8, len: usize) -> Self {
        let mut raw = RawAddress { len: len as u32, ..RawAddress::room() };
        // SAFETY: the caller vouches for the memory.
        raw.storage[..len].copy_from_slice(unsafe { std::slice::from_raw_parts(from, len) });
        raw
    }

    /// The address for calls of rustix.
    pub(super) fn any(&self) -> SocketAddrAny {
        // SAFETY: all bytes of the storage are initialised.
        unsafe { SocketAddrAny::read(self.storage.as_ptr().cast(), self.len) }
    }

    /// The address; `None` if its family is unknown.
    #[must_use]
    pub fn get(&self) -> Option<SocketAddress> {
        let port = u16::from_be_bytes(self.at(2));
        let number = |at| u32::from_ne_bytes(self.at(at));
        Some(match i32::from(u16::from_ne_bytes(self.at(0))) {
            libc::AF_INET => SocketAddr::from((self.at::<4>(4), port)).into(),
            libc::AF_INET6 => {
                let ip = Ipv6Addr::from(self.at::<16>(8));
                SocketAddr::V6(SocketAddrV6::new(ip, port, number(4), number(24))).into()
            }
            libc::AF_UNIX => {
                let path: Vec<u8> =
                    self.storage[2..].iter().copied().take_while(|byte| *byte != 0).collect();
                SocketAddress::Unix(PathBuf::from(OsString::from_vec(path)))
            }
            libc::AF_VSOCK => SocketAddress::Vsock { cid: number(8), port: number(4) },
            _ => return None,
        })
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
