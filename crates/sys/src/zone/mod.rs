//! Zoned storage: reports, resets, opens, closes and finishes of zones.
//!
//! | question | module |
//! |---|---|
//! | what is a zone, what does a zoned device say of itself | here |
//! | block devices: the ioctls of `linux/blkzoned.h`, limits from sysfs | `block.rs` |
//! | NVMe generic character devices (`/dev/ng0n1`): the commands of the Zoned Namespace Command Set specification | `nvme.rs` |
//! | a device made up for tests, which refuses what a real one refuses | [`fake`] |
//!
//! [`ZonedDevice`] is one face over all of them; [`Device`] is a real one. Offsets and lengths are in
//! bytes everywhere.

mod block;
pub mod fake;
mod nvme;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use crate::file::{self, Kind as FileKind, Open};
use crate::{Error, Result};

/// How a zone may be written (`enum blk_zone_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Anywhere, as other storage; it has no write pointer.
    Conventional,
    /// Only at its write pointer.
    SequentialRequired,
    /// Best at its write pointer.
    SequentialPreferred,
}

/// The condition of a zone (`enum blk_zone_cond`; ZNS calls it its state).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It has no write pointer: a conventional zone.
    NoWritePointer,
    /// Nothing was written.
    Empty,
    /// Partly written, opened by a write.
    ImplicitlyOpen,
    /// Opened by command.
    ExplicitlyOpen,
    /// Partly written and not open; it still counts as active.
    Closed,
    /// It can be read and no longer written.
    ReadOnly,
    /// Written to its capacity, or finished.
    Full,
    /// It can be neither read nor written.
    Offline,
}

impl State {
    /// The number that both `linux/blkzoned.h` and ZNS (section 3.1.1 of revision 1.1) have for it.
    fn from_number(number: u8) -> Option<State> {
        Some(match number {
            0x0 => State::NoWritePointer,
            0x1 => State::Empty,
            0x2 => State::ImplicitlyOpen,
            0x3 => State::ExplicitlyOpen,
            0x4 => State::Closed,
            0xd => State::ReadOnly,
            0xe => State::Full,
            0xf => State::Offline,
            _ => return None,
        })
    }

    /// A short name, the same in tables and in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            State::NoWritePointer => "conventional",
            State::Empty => "empty",
            State::ImplicitlyOpen => "implicit-open",
            State::ExplicitlyOpen => "explicit-open",
            State::Closed => "closed",
            State::ReadOnly => "read-only",
            State::Full => "full",
            State::Offline => "offline",
        }
    }

    /// Whether it takes one of the device's open resources.
    pub const fn is_open(self) -> bool {
        matches!(self, State::ImplicitlyOpen | State::ExplicitlyOpen)
    }

    /// Whether it takes one of the device's active resources.
    pub const fn is_active(self) -> bool {
        matches!(self, State::ImplicitlyOpen | State::ExplicitlyOpen | State::Closed)
    }
}

/// One zone of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// First byte.
    pub start: u64,
    /// Bytes to the next zone.
    pub len: u64,
    /// Bytes that can be written, from `start`; at most `len`.
    pub capacity: u64,
    /// Where the next write goes. Zones without a write pointer, and those whose pointer means
    /// nothing (read-only, offline), have `start`; full ones `start + capacity`.
    pub write_pointer: u64,
    /// How it may be written.
    pub kind: Kind,
    /// Its condition.
    pub state: State,
}

impl Zone {
    /// The first byte behind what can be written.
    pub const fn writable_end(&self) -> u64 {
        self.start + self.capacity
    }
    /// The first byte of the next zone.
    pub const fn end(&self) -> u64 {
        self.start + self.len
    }
    /// Bytes between its start and its write pointer; 0 where there is no pointer to tell, all of
    /// them where it is full.
    pub const fn written(&self) -> u64 {
        self.write_pointer - self.start
    }
    /// Whether it has a write pointer.
    pub const fn is_sequential(&self) -> bool {
        !matches!(self.kind, Kind::Conventional)
    }

    /// From what a device reports; the pointer is made to say the same on all of them.
    fn normal(mut self) -> Zone {
        self.capacity = self.capacity.min(self.len);
        self.write_pointer = match self.state {
            State::NoWritePointer | State::ReadOnly | State::Offline | State::Empty => self.start,
            State::Full => self.writable_end(),
            _ => self.write_pointer.clamp(self.start, self.writable_end()),
        };
        self
    }
}

/// What a device says about zones (`queue/zoned`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// It has none.
    NotZoned,
    /// It takes writes anywhere and likes them sequential (gone from Linux with 6.9).
    HostAware,
    /// Sequential zones must be written sequentially. Every ZNS namespace.
    HostManaged,
}

impl Model {
    /// As sysfs spells it.
    pub const fn word(self) -> &'static str {
        match self {
            Model::NotZoned => "none",
            Model::HostAware => "host-aware",
            Model::HostManaged => "host-managed",
        }
    }
}

/// What a zoned device is, apart from the state of its zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Its zone model.
    pub model: Model,
    /// Bytes of the device.
    pub size: u64,
    /// Bytes from one zone to the next; the last zone may be shorter.
    pub zone_size: u64,
    /// Zones.
    pub count: u64,
    /// Zones that can be open at a time; `None`: the device has no limit or tells none.
    pub max_open: Option<u32>,
    /// Zones that can be open or closed at a time.
    pub max_active: Option<u32>,
    /// Bytes of a logical block.
    pub block: u32,
    /// Bytes of which every write to a sequential zone must be a multiple.
    pub write_granularity: u32,
    /// Bytes of the largest zone append; 0: there is none.
    pub append_max: u64,
}

/// What can be done to a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Back to empty: its data are lost.
    Reset,
    /// Open it explicitly.
    Open,
    /// Close it: it no longer takes an open resource.
    Close,
    /// Make it full without writing the rest.
    Finish,
}

impl Action {
    /// What errors call it.
    pub const fn name(self) -> &'static str {
        match self {
            Action::Reset => "zone reset",
            Action::Open => "zone open",
            Action::Close => "zone close",
            Action::Finish => "zone finish",
        }
    }
}

/// What has zones.
pub trait ZonedDevice: Send + Sync + std::fmt::Debug {
    /// What it is.
    fn facts(&self) -> Result<Facts>;
    /// The zones from the one that holds the byte `from`, at most `limit`. Fewer come only at the
    /// end of the device.
    fn report(&self, from: u64, limit: usize) -> Result<Vec<Zone>>;
    /// Does something to every zone of a range that begins and ends with a zone. A range of several
    /// zones is done zone by zone: when it fails, zones before the failed one are done.
    fn manage(&self, action: Action, start: u64, len: u64) -> Result<()>;

    /// All zones, each at its number: the zone of byte `at` is number `at / zone_size`.
    ///
    /// # Errors
    /// As [`ZonedDevice::report`]; `EBADMSG` when a zone is left out or not where it must be.
    fn zones(&self) -> Result<Vec<Zone>> {
        let zones = self.report(0, usize::MAX)?;
        let facts = self.facts()?;
        let mut starts = zones.iter().zip(0..).map(|(zone, number)| (zone.start, number));
        let placed =
            starts.all(|(start, number)| facts.zone_size.checked_mul(number) == Some(start));
        if placed && zones.len() as u64 == facts.count {
            Ok(zones)
        } else {
            Err(Error::new("zone report (zones left out or not in their places)", libc::EBADMSG))
        }
    }
    /// The zone that holds a byte.
    fn zone(&self, at: u64) -> Result<Zone> {
        self.report(at, 1)?.pop().ok_or(Error::new("zone report", libc::ENXIO))
    }
}

/// A zoned device of the kernel: a block device, or an NVMe generic character device.
#[derive(Debug)]
pub struct Device {
    fd: OwnedFd,
    way: Way,
}

#[derive(Debug)]
enum Way {
    Block(file::Device),
    Nvme(nvme::Namespace),
}

impl Device {
    /// Opens a device: for reports, or (`write`) for everything.
    ///
    /// # Errors
    /// `EOPNOTSUPP` when it has no zones, `ENOTTY` when it is no device that could have any.
    pub fn open(path: &Path, write: bool) -> Result<Device> {
        let access = if write { Open::read_write() } else { Open::read_only() };
        Device::of(access.open(path)?).map_err(|error| error.at(path))
    }

    /// Of a descriptor.
    ///
    /// # Errors
    /// As [`Device::open`].
    pub fn of(fd: OwnedFd) -> Result<Device> {
        let facts = file::facts_of(&fd)?;
        let way = match (facts.kind, facts.node) {
            (FileKind::Block, Some(node)) => {
                if block::model(node) == Model::NotZoned {
                    return Err(Error::new("zone report", libc::EOPNOTSUPP));
                }
                Way::Block(node)
            }
            (FileKind::Char, _) => Way::Nvme(nvme::Namespace::identify(fd.as_fd())?),
            _ => return Err(Error::new("zone report", libc::ENOTTY)),
        };
        Ok(Device { fd, way })
    }
}

impl ZonedDevice for Device {
    fn facts(&self) -> Result<Facts> {
        match &self.way {
            Way::Block(node) => block::facts(self.fd.as_fd(), *node),
            Way::Nvme(namespace) => Ok(namespace.facts()),
        }
    }

    fn report(&self, from: u64, limit: usize) -> Result<Vec<Zone>> {
        match &self.way {
            Way::Block(_) => block::report(self.fd.as_fd(), from, limit),
            Way::Nvme(namespace) => namespace.report(self.fd.as_fd(), from, limit),
        }
    }

    fn manage(&self, action: Action, start: u64, len: u64) -> Result<()> {
        match &self.way {
            Way::Block(_) => block::manage(self.fd.as_fd(), action, start, len),
            Way::Nvme(namespace) => namespace.manage(self.fd.as_fd(), action, start, len),
        }
    }
}

/// What is known of a zoned device without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// Its zone model, never [`Model::NotZoned`].
    pub model: Model,
    /// Bytes from one zone to the next.
    pub zone_size: u64,
    /// Zones that can be open at a time; `None`: no limit, or none told.
    pub max_open: Option<u32>,
    /// Zones that can be open or closed at a time.
    pub max_active: Option<u32>,
}

/// The outline of the zoned device at a path, from sysfs; an NVMe generic device's is that of its
/// block device. `None`: it has no zones, or nothing is known of them.
pub fn outline(path: &Path) -> Option<Outline> {
    let facts = file::facts(path).ok()?;
    match (facts.kind, facts.node?) {
        (FileKind::Block, node) => block::outline(&crate::block::whole_disk_path(node)?),
        (FileKind::Char, node) => block::outline(&block::of_generic(node)?),
        _ => None,
    }
}

/// A zone in a report is of a type or in a state that nothing here knows, or lies outside of the
/// device. It must not be left out: those behind it would be taken for their neighbours.
fn not_understood() -> Error {
    Error::new(
        "zone report (a zone's type, state or place is not one of the standard)",
        libc::EBADMSG,
    )
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// Bytes of a structure; those that a short answer does not have are 0.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(found) = bytes.get(at..at + N) {
        out.copy_from_slice(found);
    }
    out
}

#[cfg(test)]
mod tests;
