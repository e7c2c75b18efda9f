//! PCI Express: the links between a device and the root complex, their present and their possible speed.
//!
//! The data comes from sysfs (Linux 4.13: Documentation/ABI/testing/sysfs-bus-pci): `current_link_speed`,
//! `current_link_width`, `max_link_speed`, `max_link_width` of each function. A link has a function at
//! each end, so its best speed is the lesser of their maxima.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::root::{number, text};

/// Speed and width of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Speed {
    /// Speed in tenths of gigatransfers per second and lane: 25, 50, 80, 160, 320, 640.
    pub tenths: u32,
    /// Number of lanes.
    pub width: u32,
}

impl Speed {
    /// Returns the bandwidth in one direction in bytes per second, after line coding: 8b/10b up to 5 GT/s,
    /// 128b/130b up to 32 GT/s, 242 of the 256 bytes of each flit from 64 GT/s on (PCI Express Base 6.0,
    /// 4.2). Packet headers take more: about 10 % with payloads of 256 bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        let bits = u128::from(self.tenths) * 100_000_000 * u128::from(self.width);
        let (good, all) = match self.tenths {
            0..=50 => (8, 10),
            51..=320 => (128, 130),
            _ => (242, 256),
        };
        (bits * good / all / 8) as u64
    }

    /// Returns the PCI Express generation with this speed, 1 to 7; `None` if no generation has it.
    #[must_use]
    pub fn generation(self) -> Option<u32> {
        [25, 50, 80, 160, 320, 640, 1280]
            .iter()
            .position(|t| *t == self.tenths)
            .map(|n| n as u32 + 1)
    }

    fn of(function: &Path, which: &str) -> Option<Speed> {
        let tenths = parse_speed(&text(&function.join(format!("{which}_link_speed")))?)?;
        let width = number(&function.join(format!("{which}_link_width")))?;
        let width = u32::try_from(width).ok().filter(|width| *width > 0 && *width < 255)?;
        Some(Speed { tenths, width })
    }
}

/// Formats the link as `8 GT/s x4`.
impl std::fmt::Display for Speed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tenths % 10 {
            0 => write!(f, "{} GT/s x{}", self.tenths / 10, self.width),
            rest => write!(f, "{}.{rest} GT/s x{}", self.tenths / 10, self.width),
        }
    }
}

/// Parses a speed such as `8.0 GT/s PCIe` or `2.5 GT/s` into tenths of GT/s; `None` for `Unknown`.
fn parse_speed(text: &str) -> Option<u32> {
    let word = text.split_whitespace().next()?;
    let (whole, rest) = word.split_once('.').unwrap_or((word, "0"));
    let tenth: u32 = rest.chars().next()?.to_digit(10)?;
    whole.parse::<u32>().ok()?.checked_mul(10)?.checked_add(tenth).filter(|tenths| *tenths > 0)
}

/// A PCI function on the path to a device, with the link above it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// PCI address, such as `0000:01:00.0`.
    pub address: String,
    /// Class code: 0x010802 is an NVMe controller, 0x0604xx a bridge.
    pub class: u32,
    /// Vendor and device identifiers.
    pub id: (u32, u32),
    /// Name of its driver.
    pub driver: Option<String>,
    /// Present speed of the link above it. `None` if it has no link (integrated into the root complex,
    /// or virtual).
    pub now: Option<Speed>,
    /// Best speed that this function supports.
    pub own_best: Option<Speed>,
    /// Best speed that the port above it supports; `None` for a root port, or if nothing is above.
    pub port_best: Option<Speed>,
}

impl Function {
    fn at(path: &Path, above: Option<&Function>) -> Option<Function> {
        let hex = |name: &str| {
            let word = text(&path.join(name))?;
            u32::from_str_radix(word.strip_prefix("0x").unwrap_or(&word), 16).ok()
        };
        let link = std::fs::read_link(path.join("driver")).ok();
        Some(Function {
            address: path.file_name()?.to_str()?.to_owned(),
            class: hex("class").unwrap_or_default(),
            id: (hex("vendor").unwrap_or_default(), hex("device").unwrap_or_default()),
            driver: link.and_then(|link| Some(link.file_name()?.to_str()?.to_owned())),
            now: Speed::of(path, "current"),
            own_best: Speed::of(path, "max"),
            port_best: above.and_then(|above| above.own_best),
        })
    }

    /// Whether the function is a bridge to other functions.
    #[must_use]
    pub fn is_bridge(&self) -> bool {
        self.class >> 8 == 0x0604
    }

    /// Returns the best possible speed of the link above: the lesser of what both ends support.
    #[must_use]
    pub fn link_best(&self) -> Option<Speed> {
        let own = self.own_best?;
        Some(match self.port_best {
            Some(port) => {
                Speed { tenths: own.tenths.min(port.tenths), width: own.width.min(port.width) }
            }
            None => own,
        })
    }
}

/// Whether a path component is a PCI address: domain of 4 or more digits, bus, device, function.
fn is_address(name: &str) -> bool {
    let hex = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit());
    let mut parts = name.split(':');
    let (Some(domain), Some(bus), Some(rest), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let device = rest.split_once('.');
    domain.len() >= 4
        && hex(domain)
        && bus.len() == 2
        && hex(bus)
        && device.is_some_and(|(d, f)| d.len() == 2 && hex(d) && f.len() == 1 && hex(f))
}

/// Cache of bridges. All drives behind a switch share the path through it.
#[derive(Debug, Default)]
pub struct Bridges(Mutex<HashMap<PathBuf, Function>>);

impl Bridges {
    /// Returns a function. For a bridge it returns the result of the first read.
    fn function(&self, path: &Path, above: Option<&Function>) -> Option<Function> {
        // Do not hold the lock while reading sysfs, because many disks are read in parallel.
        let seen = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = seen().get(path).cloned();
        if known.is_some() {
            return known;
        }
        let found = Function::at(path, above)?;
        if found.is_bridge() {
            seen().insert(path.to_owned(), found.clone());
        }
        Some(found)
    }
}

/// Returns the functions on the path from the root complex to a device, given by its resolved sysfs
/// directory: root port, switch ports, endpoint. Empty if the device is not on a PCI bus.
///
/// A root port's own link is inside the root complex. If the first function is a root port, its
/// [`Function::now`] is the link *below* it, which bounds nothing by itself.
pub fn path_to(sysfs: &Path, bridges: &Bridges) -> Vec<Function> {
    let mut here = PathBuf::new();
    let mut found: Vec<Function> = Vec::new();
    for part in sysfs.components() {
        here.push(part);
        let Component::Normal(name) = part else { continue };
        if name.to_str().is_some_and(is_address)
            && let Some(function) = bridges.function(&here, found.last().filter(|f| f.is_bridge()))
        {
            found.push(function);
        }
    }
    found
}

/// Iterates over the links on a path, from the root complex down. Each is represented by the function
/// at its lower end; the attributes of a root port describe the link to the function below it, so the
/// root port is skipped.
pub fn links(path: &[Function]) -> impl Iterator<Item = &Function> {
    let first_is_port = path.first().is_some_and(Function::is_bridge);
    path.iter().skip(usize::from(first_is_port)).filter(|function| function.now.is_some())
}

/// Returns the bandwidth of the narrowest link on a path, in bytes per second.
#[must_use]
pub fn bottleneck(path: &[Function]) -> Option<u64> {
    links(path).filter_map(|function| Some(function.now?.bytes())).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_are_parsed_as_the_kernel_prints_them() {
        assert_eq!(parse_speed("8.0 GT/s PCIe"), Some(80));
        assert_eq!(parse_speed("2.5 GT/s"), Some(25));
        assert_eq!(parse_speed("16 GT/s"), Some(160));
        for none in ["Unknown", "Unknown speed", "", "0.0 GT/s", "x"] {
            assert_eq!(parse_speed(none), None, "{none}");
        }
    }

    #[test]
    fn bandwidth_takes_line_coding_into_account() {
        let bytes = |tenths, width| Speed { tenths, width }.bytes();
        assert_eq!(bytes(25, 1), 250_000_000);
        assert_eq!(bytes(50, 4), 2_000_000_000);
        assert_eq!(bytes(80, 4), 3_938_461_538);
        assert_eq!(bytes(160, 4), 7_876_923_076);
        assert_eq!(bytes(320, 4), 15_753_846_153);
        assert_eq!(bytes(640, 4), 30_250_000_000);
        assert_eq!(Speed { tenths: 160, width: 4 }.generation(), Some(4));
        assert_eq!(Speed { tenths: 25, width: 1 }.to_string(), "2.5 GT/s x1");
    }

    #[test]
    fn pci_addresses_are_recognised() {
        for good in ["0000:01:00.0", "10000:e1:1f.7", "abcd:00:0a.3"] {
            assert!(is_address(good), "{good}");
        }
        for bad in ["pci0000:00", "0000:00", "0:0:0:0", "host0", "nvme0n1", "0000:01:00", "1:2:3.4"]
        {
            assert!(!is_address(bad), "{bad}");
        }
    }
}
