//! Zones of NVMe namespaces through their generic character device: Zone Management Send and Receive of
//! the Zoned Namespace Command Set Specification (ZNS), revision 1.1.

use std::os::fd::BorrowedFd;

use fiord_types::{Bytes, Errno};

use super::{Model, State, Zone, ZoneAction, ZoneType, ZonedFacts, u64_at};
use crate::nvme::admin::{self, CommandQueue, IdentifySubject, PassthruCmd, Refused};
use crate::nvme::{self, Controller, Status, ZonedIdentify};
use crate::{Error, Result};

/// Zone Management Send (ZNS section 3.4.3).
const ZONE_SEND: u8 = 0x79;
/// Zone Management Receive (ZNS section 3.4.2).
const ZONE_RECEIVE: u8 = 0x7a;
/// Command set identifier (CSI) of the Zoned Namespace command set.
const ZONED: u8 = 2;
/// Size in bytes of the header of a report, and of each zone descriptor (ZNS section 3.4.2.2).
const DESCRIPTOR: usize = 64;
/// Number of zones requested in one command. The report then has 64 KiB, which almost every controller
/// can transfer; for others, fewer zones are requested.
const BATCH: usize = 1023;

/// A zoned namespace, as Identify described it when the device was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ZonedNamespace {
    id: u32,
    facts: ZonedFacts,
}

impl ZonedNamespace {
    /// Reads the Identify data structures.
    pub(super) fn identify(fd: BorrowedFd) -> Result<ZonedNamespace> {
        const NAME: &str = "NVMe Identify of a zoned namespace";
        let id = admin::namespace_id(fd)?;
        let ask = |subject| {
            admin::identify(fd, id, subject).map_err(|refused| failure("NVMe Identify", refused))
        };
        let namespace = nvme::Namespace::parse(&*ask(IdentifySubject::Namespace)?);
        let zoned =
            ask(IdentifySubject::NamespaceOf(ZONED)).map_err(|error| match error.errno {
                Errno::EACCES | Errno::EPERM => error,
                // The namespace has another command set.
                _ => Error::new(NAME, Errno::EOPNOTSUPP),
            })?;
        let mut zoned = ZonedIdentify::parse(&zoned, namespace.format_index);
        if let Ok(limits) = ask(IdentifySubject::ControllerOf(ZONED)) {
            zoned = zoned.with_controller(&limits);
        }
        let transfer = Controller::parse(&*ask(IdentifySubject::Controller)?).max_transfer;
        let facts =
            facts(&namespace, &zoned, transfer).ok_or(Error::new(NAME, Errno::EOPNOTSUPP))?;
        Ok(ZonedNamespace { id, facts })
    }

    pub(super) fn facts(&self) -> ZonedFacts {
        self.facts
    }

    pub(super) fn report(&self, fd: BorrowedFd, from: Bytes, limit: usize) -> Result<Vec<Zone>> {
        let mut zones: Vec<Zone> = Vec::new();
        let mut at = from;
        let mut batch = BATCH;
        while zones.len() < limit && at < self.facts.size {
            let asked = (limit - zones.len()).min(batch);
            let mut data = vec![0u8; (asked + 1) * DESCRIPTOR];
            let lba = at / self.facts.block;
            let command = PassthruCmd {
                opcode: ZONE_RECEIVE,
                nsid: self.id,
                cdw10: lba as u32,
                cdw11: (lba >> 32) as u32,
                cdw12: (data.len() / 4 - 1) as u32,
                // Action 0: report zones; all states; bit 16: count only the zones that are transferred.
                cdw13: 1 << 16,
                ..PassthruCmd::default()
            };
            let name = "NVMe Zone Management Receive";
            match submit(name, fd, command, &mut data) {
                Err(error) if error.errno == Errno::EINVAL && batch > 63 => {
                    // The report exceeds the controller's transfer limit.
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

    pub(super) fn manage(
        &self,
        fd: BorrowedFd,
        action: ZoneAction,
        start: Bytes,
        len: Bytes,
    ) -> Result<()> {
        let (name, code) = match action {
            ZoneAction::Close => ("NVMe Zone Management Send (close)", 1),
            ZoneAction::Finish => ("NVMe Zone Management Send (finish)", 2),
            ZoneAction::Open => ("NVMe Zone Management Send (open)", 3),
            ZoneAction::Reset => ("NVMe Zone Management Send (reset)", 4),
        };
        let end = start.saturating_add(len).min(self.facts.size);
        let mut at = start - start % self.facts.zone_size;
        while at < end {
            let lba = at / self.facts.block;
            let command = PassthruCmd {
                opcode: ZONE_SEND,
                nsid: self.id,
                cdw10: lba as u32,
                cdw11: (lba >> 32) as u32,
                cdw13: code,
                ..PassthruCmd::default()
            };
            submit(name, fd, command, &mut [])?;
            at += self.facts.zone_size;
        }
        Ok(())
    }
}

/// Passes a command to the driver and waits for it.
fn submit(name: &'static str, fd: BorrowedFd, command: PassthruCmd, data: &mut [u8]) -> Result<()> {
    admin::send(fd, CommandQueue::Io, command, data).map_err(|refused| failure(name, refused))
}

/// Converts a failure to an error with the controller's status as its text, and the errno that
/// corresponds to it.
pub(super) fn failure(name: &'static str, refused: Refused) -> Error {
    match refused {
        Refused::Kernel(error) => Error::new(name, error.errno),
        Refused::Controller(status) => Error::new(name, errno_of(status)).saying(status),
    }
}

/// Returns the errno that corresponds best to a status, as the kernel's block layer translates those of
/// zones. Codes: ZNS section 4.1.1, NVMe base section 4.6.
fn errno_of(status: Status) -> Errno {
    match status.0 & 0x7ff {
        // Invalid opcode.
        0x001 => Errno::EOPNOTSUPP,
        // Invalid field.
        0x002 => Errno::EINVAL,
        // LBA out of range.
        0x080 => Errno::ENXIO,
        // Too many active zones.
        0x1bd => Errno::EOVERFLOW,
        // Too many open zones.
        0x1be => Errno::ETOOMANYREFS,
        // The zone is read-only.
        0x1ba => Errno::EROFS,
        // Zone boundary error, zone full, offline, invalid write, invalid state transition.
        _ => Errno::EIO,
    }
}

/// Computes the properties of a zoned namespace from the Identify data structures. `transfer` is the
/// largest transfer of one command (MDTS). `None` if the data is invalid.
pub(super) fn facts(
    namespace: &nvme::Namespace,
    zoned: &ZonedIdentify,
    transfer: Option<Bytes>,
) -> Option<ZonedFacts> {
    let block = namespace.format.data;
    let bytes = |blocks: u64| blocks.checked_mul(block.0).filter(|size| *size > 0);
    let zone_size = bytes(zoned.zone_blocks)?;
    let size = bytes(namespace.size)?;
    Some(ZonedFacts {
        model: Model::HostManaged,
        size: Bytes(size),
        zone_size: Bytes(zone_size),
        count: size.div_ceil(zone_size),
        max_open: zoned.max_open,
        max_active: zoned.max_active,
        block,
        write_granularity: block,
        // Every zoned namespace supports zone append, and no append crosses a zone boundary.
        append_max: zoned.max_append.or(transfer).unwrap_or(Bytes::MAX).min(Bytes(zone_size)),
    })
}

/// Parses the zones of a report of Zone Management Receive. The first 8 bytes of the header are the number
/// of zones; descriptors follow, with the type in bits 3:0 of byte 0, the state in bits 7:4 of byte 1, and
/// capacity, start and write pointer in blocks at offsets 8, 16 and 24.
///
/// # Errors
/// `EBADMSG` if a zone is invalid.
pub(super) fn parse_report(answer: &[u8], facts: &ZonedFacts) -> Result<Vec<Zone>> {
    let count = usize::try_from(u64_at(answer, 0)).unwrap_or(usize::MAX);
    let descriptors = answer.get(DESCRIPTOR..).unwrap_or_default().as_chunks::<DESCRIPTOR>().0;
    let bytes = |raw: &[u8; DESCRIPTOR], at| u64_at(raw, at).checked_mul(facts.block.0);
    let zone = |raw: &[u8; DESCRIPTOR]| {
        let start = bytes(raw, 16).filter(|start| *start < facts.size.0)?;
        let zone = Zone {
            start: Bytes(start),
            len: facts.zone_size.min(facts.size - Bytes(start)),
            capacity: Bytes(bytes(raw, 8)?),
            write_pointer: Bytes(bytes(raw, 24).unwrap_or(start)),
            // ZNS defines only type 2.
            kind: (raw[0] & 0xf == 2).then_some(ZoneType::SequentialRequired)?,
            state: State::from_number(raw[1] >> 4)?,
        };
        Some(zone.normalised())
    };
    let zone = |raw| zone(raw).ok_or_else(super::invalid_zone);
    descriptors.iter().take(count).map(zone).collect()
}
