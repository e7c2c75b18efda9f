//! Zones of NVMe namespaces through their generic character device: the Zoned Namespace Command Set
//! specification (ZNS), revision 1.1, by `NVME_IOCTL_ADMIN_CMD` and `NVME_IOCTL_IO_CMD` of
//! `linux/nvme_ioctl.h` (generic devices: Linux 5.13).

use std::os::fd::{AsRawFd, BorrowedFd};

use super::{Action, Facts, Kind, Model, State, Zone, u32_at, u64_at};
use crate::error::check;
use crate::{Error, Result};

/// `struct nvme_passthru_cmd`.
#[repr(C)]
#[derive(Debug, Default, Clone, Copy)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

// `_IO('N', 0x40)` and `_IOWR('N', number, struct nvme_passthru_cmd)`, which read and write and so
// are the same on every architecture.
const NVME_IOCTL_ID: u32 = 0x4e40;
const fn iowr(number: u32) -> u32 {
    3 << 30 | (size_of::<Command>() as u32) << 16 | 0x4e << 8 | number
}
const NVME_IOCTL_ADMIN_CMD: u32 = iowr(0x41);
const NVME_IOCTL_IO_CMD: u32 = iowr(0x43);

/// Admin command Identify (NVMe base specification, section 5.17).
const IDENTIFY: u8 = 0x06;
/// Zone Management Send (ZNS section 3.4.3).
const ZONE_SEND: u8 = 0x79;
/// Zone Management Receive (ZNS section 3.4.2).
const ZONE_RECEIVE: u8 = 0x7a;
/// Every identify structure.
const PAGE: usize = 4096;
/// The ZNS command set's identifier (CSI).
const ZONED: u32 = 2;
/// The header of a report, and each zone descriptor (ZNS section 3.4.2.2).
const DESCRIPTOR: usize = 64;
/// Zones asked for in one command: an answer of 64 KiB, which every controller can transfer that
/// has an MDTS worth speaking of; smaller ones are asked for less.
const BATCH: usize = 1023;

/// A zoned namespace, as Identify described it when it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Namespace {
    id: u32,
    facts: Facts,
}

impl Namespace {
    /// Asks for the identify structures.
    pub fn identify(fd: BorrowedFd) -> Result<Namespace> {
        // SAFETY: this request has no argument.
        let id = unsafe { libc::ioctl(fd.as_raw_fd(), NVME_IOCTL_ID as libc::Ioctl) };
        let id = check("ioctl NVME_IOCTL_ID", id)? as u32;
        let page = |cns: u32, csi: u32| {
            let mut data = vec![0u8; PAGE];
            let command = Command {
                opcode: IDENTIFY,
                nsid: id,
                cdw10: cns,
                cdw11: csi << 24,
                ..Command::default()
            };
            submit("NVMe Identify", fd, NVME_IOCTL_ADMIN_CMD, command, &mut data).map(|()| data)
        };
        // CNS 0: the namespace; CNS 5: what the command set says of it.
        let namespace = page(0, 0)?;
        let zoned = page(5, ZONED).map_err(|error| match error.errno {
            libc::EACCES | libc::EPERM => error,
            // It is of another command set.
            _ => Error::new("NVMe Identify of a zoned namespace", libc::EOPNOTSUPP),
        })?;
        let facts = parse_identify(&namespace, &zoned)
            .ok_or(Error::new("NVMe Identify of a zoned namespace", libc::EOPNOTSUPP))?;
        Ok(Namespace { id, facts })
    }

    pub fn facts(&self) -> Facts {
        self.facts
    }

    pub fn report(&self, fd: BorrowedFd, from: u64, limit: usize) -> Result<Vec<Zone>> {
        let mut zones: Vec<Zone> = Vec::new();
        let mut at = from;
        let mut batch = BATCH;
        while zones.len() < limit && at < self.facts.size {
            let asked = (limit - zones.len()).min(batch);
            let mut data = vec![0u8; (asked + 1) * DESCRIPTOR];
            let lba = at / u64::from(self.facts.block);
            let command = Command {
                opcode: ZONE_RECEIVE,
                nsid: self.id,
                cdw10: lba as u32,
                cdw11: (lba >> 32) as u32,
                cdw12: (data.len() / 4 - 1) as u32,
                // Action 0: report zones; all states; bit 16: count only what was transferred.
                cdw13: 1 << 16,
                ..Command::default()
            };
            let name = "NVMe Zone Management Receive";
            match submit(name, fd, NVME_IOCTL_IO_CMD, command, &mut data) {
                Err(error) if error.errno == libc::EINVAL && batch > 63 => {
                    // More than one command of this controller transfers.
                    batch /= 2;
                    continue;
                }
                done => done?,
            }
            let found = parse_report(&data, &self.facts)?;
            let Some(last) = found.last().filter(|last| last.end() > at) else { break };
            at = last.end();
            zones.extend(found);
        }
        Ok(zones)
    }

    pub fn manage(&self, fd: BorrowedFd, action: Action, start: u64, len: u64) -> Result<()> {
        let (name, code) = match action {
            Action::Close => ("NVMe Zone Management Send (close)", 1),
            Action::Finish => ("NVMe Zone Management Send (finish)", 2),
            Action::Open => ("NVMe Zone Management Send (open)", 3),
            Action::Reset => ("NVMe Zone Management Send (reset)", 4),
        };
        let end = start.saturating_add(len).min(self.facts.size);
        let mut at = start / self.facts.zone_size * self.facts.zone_size;
        while at < end {
            let lba = at / u64::from(self.facts.block);
            let command = Command {
                opcode: ZONE_SEND,
                nsid: self.id,
                cdw10: lba as u32,
                cdw11: (lba >> 32) as u32,
                cdw13: code,
                ..Command::default()
            };
            submit(name, fd, NVME_IOCTL_IO_CMD, command, &mut [])?;
            at += self.facts.zone_size;
        }
        Ok(())
    }
}

/// Gives a command to the driver and waits for it.
fn submit(
    name: &'static str,
    fd: BorrowedFd,
    request: u32,
    mut command: Command,
    data: &mut [u8],
) -> Result<()> {
    if !data.is_empty() {
        command.addr = data.as_mut_ptr() as u64;
        command.data_len = data.len() as u32;
    }
    // SAFETY: both requests read and write one `struct nvme_passthru_cmd`; the data it points at is
    // ours for the length of the call, and as long as it says.
    let rc = unsafe {
        libc::ioctl(fd.as_raw_fd(), request as libc::Ioctl, std::ptr::from_mut(&mut command))
    };
    match check(name, rc)? {
        0 => Ok(()),
        status => Err(Error::new(name, errno_of(status as u16))),
    }
}

/// The errno nearest to a status (status code and type, as the ioctl returns them), as the kernel's
/// block layer translates those of zones. Codes: ZNS section 4.1.1, NVMe base section 4.6.
pub(super) fn errno_of(status: u16) -> i32 {
    match status & 0x7ff {
        // Invalid opcode.
        0x001 => libc::EOPNOTSUPP,
        // Invalid field.
        0x002 => libc::EINVAL,
        // LBA out of range.
        0x080 => libc::ENXIO,
        // Too many active zones.
        0x1bd => libc::EOVERFLOW,
        // Too many open zones.
        0x1be => libc::ETOOMANYREFS,
        // The zone is read-only.
        0x1ba => libc::EROFS,
        // The boundary, full, offline, not at the write pointer, no such transition.
        _ => libc::EIO,
    }
}

/// What two identify structures say. `None` when that makes no sense.
pub(super) fn parse_identify(namespace: &[u8], zoned: &[u8]) -> Option<Facts> {
    // Identify Namespace (NVM command set, figure "Identify Namespace data structure"): NSZE at 0,
    // FLBAS at 26 (the number of the format in use, in bits 3:0 and 6:5), formats of 4 bytes at 128,
    // their LBADS at byte 2.
    let flbas = namespace.get(26).copied()?;
    let format = usize::from(flbas & 0xf) | usize::from(flbas >> 5 & 3) << 4;
    let shift = namespace.get(128 + 4 * format + 2).copied()?;
    if !(9..=31).contains(&shift) {
        return None;
    }
    let bytes = |blocks: u64| blocks.checked_mul(1 << shift);
    // Identify I/O Command Set specific Namespace of ZNS: MAR at 4 and MOR at 8 count from 0, all
    // ones is no limit; formats of 16 bytes at 2816, which begin with the zone size in blocks.
    let zone_size = bytes(u64_at(zoned, 2816 + 16 * format)).filter(|size| *size > 0)?;
    let limit = |at: usize| u32_at(zoned, at).checked_add(1);
    let size = bytes(u64_at(namespace, 0)).filter(|size| *size > 0)?;
    Some(Facts {
        model: Model::HostManaged,
        size,
        zone_size,
        count: size.div_ceil(zone_size),
        max_open: limit(8),
        max_active: limit(4),
        block: 1 << shift,
        write_granularity: 1 << shift,
        // Its limit (ZASL) is of the controller and not of the namespace.
        append_max: 0,
    })
}

/// The zones in an answer to Zone Management Receive: the number of zones in the first 8 bytes of
/// the header, then descriptors: type in bits 3:0 of byte 0, state in bits 7:4 of byte 1, capacity,
/// start and write pointer in blocks at 8, 16 and 24.
///
/// # Errors
/// `EBADMSG`: one of them makes no sense.
pub(super) fn parse_report(answer: &[u8], facts: &Facts) -> Result<Vec<Zone>> {
    let count = usize::try_from(u64_at(answer, 0)).unwrap_or(usize::MAX);
    let descriptors = answer.get(DESCRIPTOR..).unwrap_or_default().as_chunks::<DESCRIPTOR>().0;
    let bytes = |raw: &[u8; DESCRIPTOR], at| u64_at(raw, at).checked_mul(u64::from(facts.block));
    let zone = |raw: &[u8; DESCRIPTOR]| {
        let start = bytes(raw, 16).filter(|start| *start < facts.size)?;
        let zone = Zone {
            start,
            len: facts.zone_size.min(facts.size - start),
            capacity: bytes(raw, 8)?,
            write_pointer: bytes(raw, 24).unwrap_or(start),
            // ZNS knows no other: type 2.
            kind: (raw[0] & 0xf == 2).then_some(Kind::SequentialRequired)?,
            state: State::from_number(raw[1] >> 4)?,
        };
        Some(zone.normal())
    };
    let zone = |raw| zone(raw).ok_or_else(super::not_understood);
    descriptors.iter().take(count).map(zone).collect()
}
