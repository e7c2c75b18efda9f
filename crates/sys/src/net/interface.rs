//! Network interfaces: which one an address belongs to, and what the card does for the kernel.

use std::ffi::CStr;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::net::netdevice::name_to_index;

use super::address::RawAddress;
use super::new_socket;
use crate::{Error, Result};

/// A network interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Name, such as `eth0`.
    pub name: String,
    /// Index, by which system calls name the interface.
    index: u32,
    /// Whether it connects this machine with itself.
    pub loopback: bool,
    /// Whether a device is behind it, which may be one of a virtual machine. Bridges, tunnels and the ends of
    /// a `veth` pair have none.
    pub has_device: bool,
}

/// Work that an interface does in large pieces instead of packet by packet. `None`: the kernel does
/// not say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offloads {
    /// TCP segmentation offload: the card cuts data into segments.
    pub tso: Option<bool>,
    /// Generic segmentation offload: the kernel cuts data into segments as late as possible.
    pub gso: Option<bool>,
    /// Generic receive offload: the kernel joins segments before it handles them.
    pub gro: Option<bool>,
}

/// The interface that has this address; `None` if none has it.
///
/// # Errors
/// Errors of `getifaddrs(3)`.
pub fn interface_of(address: IpAddr) -> Result<Option<Interface>> {
    let mut first: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the function writes the pointer.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(Error::last("getifaddrs"));
    }
    let mut found = None;
    let mut next = first;
    while !next.is_null() && found.is_none() {
        // SAFETY: the entries are valid until freeifaddrs.
        let entry = unsafe { &*next };
        next = entry.ifa_next;
        if entry.ifa_addr.is_null() || address_of(entry.ifa_addr) != Some(address.to_canonical()) {
            continue;
        }
        // SAFETY: the name is a string that ends with 0.
        let name = unsafe { CStr::from_ptr(entry.ifa_name) };
        let name = name.to_string_lossy().into_owned();
        let socket = new_socket(libc::AF_UNIX, false);
        found = Some(Interface {
            has_device: Path::new("/sys/class/net").join(&name).join("device").exists(),
            index: socket.map_or(0, |socket| name_to_index(socket, &name).unwrap_or(0)),
            name,
            loopback: entry.ifa_flags & libc::IFF_LOOPBACK as u32 != 0,
        });
    }
    // SAFETY: the list came from getifaddrs, and no reference to it is left.
    unsafe { libc::freeifaddrs(first) };
    Ok(found)
}

/// The address behind a pointer of the C library, if it is one of the Internet protocol.
fn address_of(at: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the C library vouches for the address.
    let family = i32::from(unsafe { (*at).sa_family });
    let len = match family {
        libc::AF_INET => size_of::<libc::sockaddr_in>(),
        libc::AF_INET6 => size_of::<libc::sockaddr_in6>(),
        _ => return None,
    };
    // SAFETY: an address of this family has this length.
    let raw = unsafe { RawAddress::copied(at.cast(), len) };
    raw.get()?.ip().map(|ip| ip.to_canonical())
}

/// The index of the interface with this address.
///
/// # Errors
/// `ENODEV`: no interface has this address. Otherwise those of `getifaddrs(3)`.
pub fn index_of(address: IpAddr) -> Result<u32> {
    match interface_of(address)? {
        Some(interface) => Ok(interface.index),
        None => Err(Error::new("getifaddrs", fiord_types::Errno::ENODEV)
            .saying(format!("no network interface has the address {address}"))),
    }
}

impl Offloads {
    /// Reads the offloads of an interface.
    ///
    /// # Errors
    /// Errors of `socket(2)`.
    pub fn of(interface: &str) -> Result<Self> {
        const GET_TSO: u32 = 0x1e;
        const GET_GSO: u32 = 0x23;
        const GET_GRO: u32 = 0x2b;
        let socket = new_socket(libc::AF_INET, false)?;
        let ask = |command| feature(socket.as_raw_fd(), interface, command);
        Ok(Offloads { tso: ask(GET_TSO), gso: ask(GET_GSO), gro: ask(GET_GRO) })
    }
}

/// A feature of an interface (`SIOCETHTOOL`); `None` if the driver does not say.
fn feature(socket: i32, interface: &str, command: u32) -> Option<bool> {
    #[repr(C)]
    struct Value {
        command: u32,
        data: u32,
    }
    /// `struct ifreq`, which has 40 bytes.
    #[repr(C)]
    struct Request {
        name: [u8; 16],
        value: *mut Value,
        rest: [u64; 2],
    }
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    let mut value = Value { command, data: 0 };
    let mut request = Request { name: [0; 16], value: &raw mut value, rest: [0; 2] };
    if interface.len() >= request.name.len() {
        return None;
    }
    request.name[..interface.len()].copy_from_slice(interface.as_bytes());
    // SAFETY: the request points at a value that the kernel may write.
    let ret = unsafe { libc::ioctl(socket, SIOCETHTOOL as _, &raw mut request) };
    (ret == 0).then_some(value.data != 0)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    #[test]
    fn the_loopback_interface_is_found_by_its_address() {
        let found = interface_of(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap().unwrap();
        assert!(found.loopback && found.index > 0 && !found.has_device, "{found:?}");
        assert_eq!(index_of(IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap(), found.index);
        let none: IpAddr = "203.0.113.77".parse().unwrap();
        assert_eq!(interface_of(none).unwrap(), None);
        assert!(index_of(none).unwrap_err().to_string().contains("203.0.113.77"));
        // A sandbox may forbid the ioctl.
        let offloads = Offloads::of(&found.name).unwrap();
        assert_ne!(offloads.tso, Some(false), "{offloads:?}");
        assert_eq!(Offloads::of("no-such-interface-here").unwrap(), Offloads::default());
    }
}
