//! Zoned storage: reading zones, and resetting, opening, closing and finishing them.
//!
//! | question | module |
//! |---|---|
//! | what is a zone, what are the properties of a zoned device | here |
//! | block devices: the ioctls of `linux/blkzoned.h`, limits from sysfs | `block.rs` |
//! | NVMe generic character devices (`/dev/ng0n1`): the commands of the Zoned Namespace Command Set Specification | `nvme.rs` |
//! | SCSI generic character devices (`/dev/sg0`): the commands of Zoned Block Commands (ZBC) | `scsi.rs` |
//! | a simulated device for tests, which refuses what a real one refuses | [`fake`] |
//!
//! The trait [`ZonedDevice`] covers all of them; [`ZonedNode`] is a real device. All offsets and lengths are
//! in bytes.

mod block;
pub mod fake;
mod nvme;
mod scsi;

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use fiord_types::{Bytes, Errno};

use crate::file::{self, Device, InodeType as FileKind, Open};
use crate::scsi::generic;
use crate::{Error, Result};

/// The type of a zone, which determines how it may be written (`enum blk_zone_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneType {
    /// Can be written anywhere, like other storage; has no write pointer.
    Conventional,
    /// Can be written only at its write pointer.
    SequentialRequired,
    /// Should be written at its write pointer.
    SequentialPreferred,
}

impl ZoneType {
    /// Returns the type with this number in `linux/blkzoned.h`, ZNS and ZBC.
    fn from_number(number: u8) -> Option<ZoneType> {
        Some(match number {
            1 => ZoneType::Conventional,
            2 => ZoneType::SequentialRequired,
            3 => ZoneType::SequentialPreferred,
            _ => return None,
        })
    }
}

/// The condition of a zone (`enum blk_zone_cond`; ZNS calls it the zone state).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Has no write pointer: a conventional zone.
    NoWritePointer,
    /// Nothing has been written.
    Empty,
    /// Partly written, and opened by a write.
    ImplicitlyOpen,
    /// Opened by a command.
    ExplicitlyOpen,
    /// Partly written and not open. It still counts as active.
    Closed,
    /// Can be read but no longer written.
    ReadOnly,
    /// Written to its capacity, or finished.
    Full,
    /// Can be neither read nor written.
    Offline,
}

impl State {
    /// Returns the condition with this number in `linux/blkzoned.h` and ZNS (section 3.1.1 of revision
    /// 1.1).
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

    /// Returns a short name, which tables and JSON show.
    #[must_use]
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

    /// Whether the zone occupies one of the device's open resources.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, State::ImplicitlyOpen | State::ExplicitlyOpen)
    }

    /// Whether the zone occupies one of the device's active resources.
    #[must_use]
    pub const fn is_active(self) -> bool {
        matches!(self, State::ImplicitlyOpen | State::ExplicitlyOpen | State::Closed)
    }
}

/// One zone of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zone {
    /// Offset of the first byte.
    pub start: Bytes,
    /// Distance to the next zone.
    pub len: Bytes,
    /// Number of bytes that can be written, from `start`; at most `len`.
    pub capacity: Bytes,
    /// Offset of the next write. It is `start` for zones without a write pointer and for those whose
    /// pointer is undefined (read-only, offline), and `start + capacity` for full zones.
    pub write_pointer: Bytes,
    pub kind: ZoneType,
    /// Condition of the zone.
    pub state: State,
}

impl Zone {
    /// Returns the offset after the last byte that can be written.
    #[must_use]
    pub fn writable_end(&self) -> Bytes {
        self.start + self.capacity
    }
    /// Returns the offset of the first byte of the next zone.
    #[must_use]
    pub fn end(&self) -> Bytes {
        self.start + self.len
    }
    /// Returns the bytes between the start and the write pointer: 0 if there is no valid pointer, the
    /// whole capacity if the zone is full.
    #[must_use]
    pub fn written(&self) -> Bytes {
        self.write_pointer - self.start
    }
    /// Whether the zone has a write pointer.
    #[must_use]
    pub const fn is_sequential(&self) -> bool {
        !matches!(self.kind, ZoneType::Conventional)
    }

    /// Normalises a reported zone, so that the write pointer has one meaning for all devices.
    fn normalised(mut self) -> Zone {
        self.capacity = self.capacity.min(self.len);
        self.write_pointer = match self.state {
            State::NoWritePointer | State::ReadOnly | State::Offline | State::Empty => self.start,
            State::Full => self.writable_end(),
            _ => self.write_pointer.clamp(self.start, self.writable_end()),
        };
        self
    }
}

/// The zone model of a device (`queue/zoned`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Model {
    /// The device has no zones.
    NotZoned,
    /// The device accepts writes anywhere and prefers sequential ones (removed in Linux 6.9).
    HostAware,
    /// Sequential zones must be written sequentially. Every ZNS namespace has this model.
    HostManaged,
}

impl Model {
    /// Returns the name that sysfs uses.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Model::NotZoned => "none",
            Model::HostAware => "host-aware",
            Model::HostManaged => "host-managed",
        }
    }
}

/// Properties of a zoned device, apart from the state of its zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZonedFacts {
    pub model: Model,
    /// Size of the device.
    pub size: Bytes,
    /// Distance from one zone to the next; the last zone may be shorter.
    pub zone_size: Bytes,
    /// Number of zones.
    pub count: u64,
    /// Number of zones that can be open at a time; `None` if the device has or reports no limit.
    pub max_open: Option<u32>,
    /// Number of zones that can be active (open or closed) at a time; `None` if the device has or reports
    /// no limit.
    pub max_active: Option<u32>,
    /// Logical block size.
    pub block: Bytes,
    /// Writes to sequential zones must be a multiple of this number of bytes.
    pub write_granularity: Bytes,
    /// Size of the largest zone append; 0 if the device does not support it.
    pub append_max: Bytes,
}

/// A zone management action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ZoneAction {
    /// Makes the zone empty. Its data is lost.
    Reset,
    /// Opens the zone explicitly.
    Open,
    /// Closes the zone: it no longer occupies an open resource.
    Close,
    /// Makes the zone full without writing the rest.
    Finish,
}

impl ZoneAction {
    /// Returns the name of the action in errors.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            ZoneAction::Reset => "zone reset",
            ZoneAction::Open => "zone open",
            ZoneAction::Close => "zone close",
            ZoneAction::Finish => "zone finish",
        }
    }
}

/// A device with zones.
///
/// ```
/// use fiord_sys::zone::fake::Fake;
/// use fiord_sys::zone::{ZoneAction, ZonedDevice};
/// use fiord_types::Bytes;
///
/// // Four zones of 16 MiB, all of them sequential.
/// let device = Fake::new(4, 0, 16 << 20, 16 << 20);
/// device.write(0, 4096)?;
/// assert_eq!(device.zones()?[0].write_pointer, Bytes(4096));
/// device.manage(ZoneAction::Reset, Bytes::ZERO, Bytes(16 << 20))?;
/// assert_eq!(device.zones()?[0].write_pointer, Bytes::ZERO);
/// # Ok::<(), fiord_sys::Error>(())
/// ```
pub trait ZonedDevice: Send + Sync + std::fmt::Debug {
    /// Returns the properties of the device.
    ///
    /// # Errors
    /// Errors of the ioctls that read them.
    fn facts(&self) -> Result<ZonedFacts>;
    /// Returns at most `limit` zones, beginning with the zone that contains the byte `from`. It returns
    /// fewer only at the end of the device.
    ///
    /// # Errors
    /// Errors of the zone report; `EBADMSG` if a zone in it is invalid.
    fn report(&self, from: Bytes, limit: usize) -> Result<Vec<Zone>>;
    /// Applies an action to every zone of a range that begins and ends at zone boundaries. Some devices do
    /// this zone by zone: after an error, the zones before the failed one are done.
    ///
    /// # Errors
    /// Errors of the device: `EIO` or a status for a transition that the zone's condition does not allow.
    fn manage(&self, action: ZoneAction, start: Bytes, len: Bytes) -> Result<()>;

    /// Returns all zones; the index of the zone that contains byte `at` is `at / zone_size`.
    ///
    /// # Errors
    /// Errors of [`ZonedDevice::report`]; `EBADMSG` if a zone is missing or misplaced.
    fn zones(&self) -> Result<Vec<Zone>> {
        let zones = self.report(Bytes::ZERO, usize::MAX)?;
        let facts = self.facts()?;
        let mut starts = zones.iter().zip(0..).map(|(zone, number)| (zone.start, number));
        let placed =
            starts.all(|(start, number)| facts.zone_size.0.checked_mul(number) == Some(start.0));
        if placed && zones.len() as u64 == facts.count {
            Ok(zones)
        } else {
            Err(Error::new("zone report (a zone is missing or misplaced)", Errno::EBADMSG))
        }
    }
    /// Returns the zone that contains a byte.
    ///
    /// # Errors
    /// Errors of [`ZonedDevice::report`]; `ENXIO` if the byte lies beyond the end of the device.
    fn zone(&self, at: u64) -> Result<Zone> {
        self.report(Bytes(at), 1)?.pop().ok_or(Error::new("zone report", Errno::ENXIO))
    }
}

/// A real zoned device: a block device, or an NVMe or SCSI generic character device.
#[derive(Debug)]
pub struct ZonedNode {
    fd: OwnedFd,
    backend: Backend,
}

#[derive(Debug)]
enum Backend {
    Block(Device),
    Nvme(nvme::ZonedNamespace),
    Scsi(scsi::ZonedUnit),
}

impl ZonedNode {
    /// Opens a device for reports or, with `write`, for all actions.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if the device has no zones; `ENOTTY` if the file is not a device that could have
    /// zones; otherwise those of `open(2)`.
    pub fn open(path: &Path, write: bool) -> Result<ZonedNode> {
        let access = if write { Open::read_write() } else { Open::read_only() };
        ZonedNode::of(access.open(path)?).map_err(|error| error.at(path))
    }

    /// Takes a descriptor of an open device.
    ///
    /// # Errors
    /// Errors of [`ZonedNode::open`].
    pub fn of(fd: OwnedFd) -> Result<ZonedNode> {
        let facts = file::facts_of(&fd)?;
        let backend = match (facts.kind, facts.node) {
            (FileKind::Block, Some(node)) => {
                if block::model(node) == Model::NotZoned {
                    return Err(Error::new("zone report", Errno::EOPNOTSUPP));
                }
                Backend::Block(node)
            }
            (FileKind::Char, Some(node)) if generic::name(node).is_some() => {
                Backend::Scsi(scsi::ZonedUnit::identify(fd.as_fd())?)
            }
            (FileKind::Char, _) => Backend::Nvme(nvme::ZonedNamespace::identify(fd.as_fd())?),
            _ => return Err(Error::new("zone report", Errno::ENOTTY)),
        };
        Ok(ZonedNode { fd, backend })
    }
}

impl ZonedDevice for ZonedNode {
    fn facts(&self) -> Result<ZonedFacts> {
        match &self.backend {
            Backend::Block(node) => block::facts(self.fd.as_fd(), *node),
            Backend::Nvme(namespace) => Ok(namespace.facts()),
            Backend::Scsi(unit) => Ok(unit.facts()),
        }
    }

    fn report(&self, from: Bytes, limit: usize) -> Result<Vec<Zone>> {
        match &self.backend {
            Backend::Block(_) => block::report(self.fd.as_fd(), from, limit),
            Backend::Nvme(namespace) => namespace.report(self.fd.as_fd(), from, limit),
            Backend::Scsi(unit) => unit.report(self.fd.as_fd(), from, limit),
        }
    }

    fn manage(&self, action: ZoneAction, start: Bytes, len: Bytes) -> Result<()> {
        match &self.backend {
            Backend::Block(_) => block::manage(self.fd.as_fd(), action, start, len),
            Backend::Nvme(namespace) => namespace.manage(self.fd.as_fd(), action, start, len),
            Backend::Scsi(unit) => unit.manage(self.fd.as_fd(), action, start, len),
        }
    }
}

/// Properties of a zoned device that are usually known without opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outline {
    /// Zone model; never [`Model::NotZoned`].
    pub model: Model,
    /// Distance from one zone to the next.
    pub zone_size: Bytes,
    /// Number of zones that can be open at a time; `None` if the device has or reports no limit.
    pub max_open: Option<u32>,
    /// Number of zones that can be active (open or closed) at a time; `None` if the device has or reports
    /// no limit.
    pub max_active: Option<u32>,
}

/// Returns the outline of the zoned device at a path, from sysfs. A generic character device has the outline of its
/// block device; a SCSI device without one is asked for it. `None` if the device has no zones, or sysfs has no data
/// about them.
#[must_use]
pub fn outline(path: &Path) -> Option<Outline> {
    let facts = file::facts(path).ok()?;
    match (facts.kind, facts.node?) {
        (FileKind::Block, node) => block::outline(&crate::block::whole_disk_path(node)?),
        (FileKind::Char, node) => match crate::block::block_device_of_generic(node) {
            Some((_, sibling)) => block::outline(&crate::block::sysfs_path(sibling)?),
            None => outline_of_unit(path, node),
        },
        _ => None,
    }
}

/// Asks a SCSI device without a block device for its outline: kernels without support for zones have no block device for
/// host-managed disks.
fn outline_of_unit(path: &Path, node: Device) -> Option<Outline> {
    generic::name(node)?;
    let facts = ZonedNode::open(path, false).ok()?.facts().ok()?;
    let ZonedFacts { model, zone_size, max_open, max_active, .. } = facts;
    Some(Outline { model, zone_size, max_open, max_active })
}

/// Size in bytes of a zone descriptor in a report of any kind, and of the header before those of NVMe and SCSI.
const DESCRIPTOR: usize = 64;
/// Number of zones requested in one report. The report then has 64 KiB, which all SCSI host adapters and almost all NVMe
/// controllers can transfer.
const BATCH: usize = 1023;

/// Returns at most `limit` zones from the byte `from`, from reports that begin at a byte and have at most [`BATCH`] zones.
fn collect(
    facts: &ZonedFacts,
    from: Bytes,
    limit: usize,
    mut report: impl FnMut(Bytes, usize) -> Result<Vec<Zone>>,
) -> Result<Vec<Zone>> {
    let mut zones: Vec<Zone> = Vec::new();
    let mut at = from;
    while zones.len() < limit && at < facts.size {
        let found = report(at, (limit - zones.len()).min(BATCH))?;
        let Some(last) = found.last().filter(|last| last.end() > at) else { break };
        at = last.end();
        zones.extend(found);
    }
    Ok(zones)
}

/// Calls `act` with the first block of each zone of a range.
fn for_each_zone(
    facts: &ZonedFacts,
    start: Bytes,
    len: Bytes,
    mut act: impl FnMut(u64) -> Result<()>,
) -> Result<()> {
    let end = start.saturating_add(len).min(facts.size);
    let mut at = start - start % facts.zone_size;
    while at < end {
        act(at / facts.block)?;
        at += facts.zone_size;
    }
    Ok(())
}

/// Parses the first `count` zone descriptors of a report, or fewer if the report has fewer.
///
/// # Errors
/// `EBADMSG` if a zone has an unknown type or condition, or lies beyond the end of the device. Such a zone must not be
/// skipped, because the zones after it would get wrong numbers.
fn parse_descriptors(
    descriptors: Option<&[u8]>,
    count: usize,
    parse: impl Fn(&[u8; DESCRIPTOR]) -> Option<Zone>,
) -> Result<Vec<Zone>> {
    const INVALID: &str = "zone report (the type, condition or position of a zone is invalid)";
    let descriptors = descriptors.unwrap_or_default().as_chunks().0.iter().take(count);
    descriptors
        .map(|raw| parse(raw).map(Zone::normalised).ok_or(Error::new(INVALID, Errno::EBADMSG)))
        .collect()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

/// Reads a field of a structure; 0 if the data is too short.
fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    if let Some(found) = bytes.get(at..at + N) {
        out.copy_from_slice(found);
    }
    out
}

#[cfg(test)]
mod tests;
