//! Zones of block devices: the ioctls of `linux/blkzoned.h` (Linux 4.10; open, close and finish since
//! 5.5; zone capacities since 5.9) and the queue limits in sysfs (Linux 5.9).

use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

use fiord_types::{Bytes, Errno};

use super::{BATCH, DESCRIPTOR, Model, Outline, State, Zone, ZoneAction, ZoneType, ZonedFacts};
use crate::error::{check, retry};
use crate::file::Device;
use crate::{Error, Result, block};

/// Zone positions are in sectors of this size, whatever the device's block size is.
const SECTOR: u64 = 512;

// Encodes an ioctl request number: `_IOC(direction, type, number, size)` of `asm-generic/ioctl.h`. The
// direction is 1 << 30 for writing, 3 << 30 for both; MIPS, PowerPC and SPARC use 4 << 29 for writing.
const fn ioc(read: bool, number: u32, size: u32) -> u32 {
    let other = cfg!(any(
        target_arch = "mips",
        target_arch = "mips64",
        target_arch = "powerpc",
        target_arch = "powerpc64",
        target_arch = "sparc64"
    ));
    let direction: u32 = match (read, other) {
        (true, _) => 3 << 30,
        (false, false) => 1 << 30,
        (false, true) => 4 << 29,
    };
    direction | size << 16 | 0x12 << 8 | number
}

const BLKREPORTZONE: u32 = ioc(true, 130, HEADER as u32);
const BLKRESETZONE: u32 = ioc(false, 131, RANGE as u32);
const BLKOPENZONE: u32 = ioc(false, 134, RANGE as u32);
const BLKCLOSEZONE: u32 = ioc(false, 135, RANGE as u32);
const BLKFINISHZONE: u32 = ioc(false, 136, RANGE as u32);

/// Size of `struct blk_zone_report`: `__u64 sector; __u32 nr_zones; __u32 flags;`, before the zones.
const HEADER: usize = 16;
/// Size of `struct blk_zone_range`.
const RANGE: usize = 16;
/// `BLK_ZONE_REP_CAPACITY` in the flags of a report: its zones contain their capacity.
const HAS_CAPACITY: u32 = 1;

/// Reads `queue/zoned` of the disk.
pub(super) fn model(node: Device) -> Model {
    let disk = block::whole_disk_path(node);
    disk.map_or(Model::NotZoned, |disk| model_of(&disk.join("queue/zoned")))
}

/// Reads the outline of a zoned disk from its queue attributes.
pub(super) fn outline(disk: &Path) -> Option<Outline> {
    let queue = disk.join("queue");
    let number = |name| std::fs::read_to_string(queue.join(name)).ok()?.trim().parse::<u64>().ok();
    let limit = |name| number(name).filter(|n| *n > 0).and_then(|n| u32::try_from(n).ok());
    let model = model_of(&queue.join("zoned"));
    Some(Outline {
        model: Some(model).filter(|model| *model != Model::NotZoned)?,
        zone_size: Bytes(number("chunk_sectors").filter(|n| *n > 0)?.checked_mul(SECTOR)?),
        max_open: limit("max_open_zones"),
        max_active: limit("max_active_zones"),
    })
}

fn model_of(path: &Path) -> Model {
    match std::fs::read_to_string(path).unwrap_or_default().trim() {
        "host-managed" => Model::HostManaged,
        "host-aware" => Model::HostAware,
        _ => Model::NotZoned,
    }
}

pub(super) fn facts(fd: BorrowedFd, node: Device) -> Result<ZonedFacts> {
    let number = |name| block::queue_number(node, name);
    let limit = |name| number(name).filter(|n| *n > 0).and_then(|n| u32::try_from(n).ok());
    let size = block::size(fd)?;
    // All zones but the last have the size in `chunk_sectors`.
    let zone_size = match number("chunk_sectors").filter(|n| *n > 0) {
        Some(sectors) => sectors * SECTOR,
        None => report(fd, Bytes::ZERO, 1)?.first().map_or(0, |zone| zone.len.0),
    };
    if zone_size == 0 {
        return Err(Error::new("zone report", Errno::EOPNOTSUPP));
    }
    let logical = block::logical_block(fd)?;
    Ok(ZonedFacts {
        model: model(node),
        size: Bytes(size),
        zone_size: Bytes(zone_size),
        count: size.div_ceil(zone_size),
        max_open: limit("max_open_zones"),
        max_active: limit("max_active_zones"),
        block: Bytes(u64::from(logical)),
        write_granularity: Bytes(u64::from(limit("zone_write_granularity").unwrap_or(logical))),
        append_max: Bytes(number("zone_append_max_bytes").unwrap_or(0)),
    })
}

pub(super) fn report(fd: BorrowedFd, from: Bytes, limit: usize) -> Result<Vec<Zone>> {
    let mut zones = Vec::new();
    let mut sector = from.0 / SECTOR;
    let mut buffer = vec![0u8; HEADER + BATCH * DESCRIPTOR];
    while zones.len() < limit {
        let asked = (limit - zones.len()).min(BATCH);
        buffer[..8].copy_from_slice(&sector.to_ne_bytes());
        buffer[8..12].copy_from_slice(&(asked as u32).to_ne_bytes());
        buffer[12..HEADER].fill(0);
        let request = libc::Ioctl::from(BLKREPORTZONE);
        retry(|| {
            // SAFETY: the buffer has room for the header and the requested zones.
            let rc = unsafe { libc::ioctl(fd.as_raw_fd(), request, buffer.as_mut_ptr()) };
            check("ioctl BLKREPORTZONE", rc)
        })?;
        let found = parse(&buffer)?;
        let Some(last) = found.last().filter(|last| last.end().0 / SECTOR > sector) else { break };
        sector = last.end().0 / SECTOR;
        let fewer = found.len() < asked;
        zones.extend(found);
        if fewer {
            break;
        }
    }
    Ok(zones)
}

/// Parses the zones of a report, which is in the machine's byte order.
///
/// # Errors
/// `EBADMSG` if a zone is invalid.
pub(super) fn parse(answer: &[u8]) -> Result<Vec<Zone>> {
    let u32_at = |at: usize| u32::from_ne_bytes(super::array(answer, at));
    let (count, flags) = (u32_at(8) as usize, u32_at(12));
    super::parse_descriptors(answer.get(HEADER..), count, |raw| {
        let bytes = |at| u64::from_ne_bytes(super::array(raw, at)).checked_mul(SECTOR);
        let (start, len) = (bytes(0)?, bytes(8)?);
        start.checked_add(len).filter(|_| len > 0)?;
        Some(Zone {
            start: Bytes(start),
            len: Bytes(len),
            capacity: if flags & HAS_CAPACITY != 0 { Bytes(bytes(32)?) } else { Bytes(len) },
            write_pointer: Bytes(bytes(16).unwrap_or(start)),
            kind: ZoneType::from_number(raw[24])?,
            state: State::from_number(raw[25])?,
        })
    })
}

pub(super) fn manage(fd: BorrowedFd, action: ZoneAction, start: Bytes, len: Bytes) -> Result<()> {
    let (name, request) = match action {
        ZoneAction::Reset => ("ioctl BLKRESETZONE", BLKRESETZONE),
        ZoneAction::Open => ("ioctl BLKOPENZONE", BLKOPENZONE),
        ZoneAction::Close => ("ioctl BLKCLOSEZONE", BLKCLOSEZONE),
        ZoneAction::Finish => ("ioctl BLKFINISHZONE", BLKFINISHZONE),
    };
    let range = [start / SECTOR, len / SECTOR];
    retry(|| {
        // SAFETY: these requests read a `struct blk_zone_range`: two 64-bit numbers.
        let rc = unsafe { libc::ioctl(fd.as_raw_fd(), libc::Ioctl::from(request), range.as_ptr()) };
        check(name, rc).map(drop)
    })
}
