//! Zones of NVMe namespaces through their generic character device: Zone Management Send and Receive of
//! the Zoned Namespace Command Set Specification (ZNS), revision 1.1.

use std::os::fd::BorrowedFd;

use fiord_types::{Bytes, Errno};

use super::{BATCH, DESCRIPTOR, Model, State, Zone, ZoneAction, ZoneType, ZonedFacts, u64_at};
use crate::nvme::admin::{self, CommandQueue, IdentifySubject, PassthruCmd, Refused};
use crate::nvme::{self, Controller, Status, ZonedIdentify};
use crate::{Error, Result};

/// Zone Management Send (ZNS section 3.4.3).
const ZONE_SEND: u8 = 0x79;
/// Zone Management Receive (ZNS section 3.4.2).
const ZONE_RECEIVE: u8 = 0x7a;
/// Command set identifier (CSI) of the Zoned Namespace command set.
const ZONED: u8 = 2;

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
        let mut batch = BATCH;
        super::collect(&self.facts, from, limit, |at, most| {
            loop {
                match self.report_at(fd, at / self.facts.block, most.min(batch)) {
                    // The report exceeds the controller's transfer limit.
                    Err(error) if error.errno == Errno::EINVAL && batch > 63 => batch /= 2,
                    done => return done,
                }
            }
        })
    }

    /// Reads at most `count` zones, from the one that contains the block `lba`.
    fn report_at(&self, fd: BorrowedFd, lba: u64, count: usize) -> Result<Vec<Zone>> {
        let mut data = vec![0u8; (count + 1) * DESCRIPTOR];
        let command = PassthruCmd {
            cdw12: (data.len() / 4 - 1) as u32,
            // Action 0: report zones; all states; bit 16: count only the zones that are transferred.
            cdw13: 1 << 16,
            ..self.command(ZONE_RECEIVE, lba)
        };
        submit("NVMe Zone Management Receive", fd, command, &mut data)?;
        parse_report(&data, &self.facts)
    }

    fn command(&self, opcode: u8, lba: u64) -> PassthruCmd {
        let (cdw10, cdw11) = (lba as u32, (lba >> 32) as u32);
        PassthruCmd { opcode, nsid: self.id, cdw10, cdw11, ..PassthruCmd::default() }
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
        super::for_each_zone(&self.facts, start, len, |lba| {
            let command = PassthruCmd { cdw13: code, ..self.command(ZONE_SEND, lba) };
            submit(name, fd, command, &mut [])
        })
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
    super::parse_descriptors(answer.get(DESCRIPTOR..), count, |raw| {
        let bytes = |at| u64_at(raw, at).checked_mul(facts.block.0);
        let start = bytes(16).filter(|start| *start < facts.size.0)?;
        Some(Zone {
            start: Bytes(start),
            len: facts.zone_size.min(facts.size - Bytes(start)),
            capacity: Bytes(bytes(8)?),
            write_pointer: Bytes(bytes(24).unwrap_or(start)),
            // ZNS defines only type 2.
            kind: (raw[0] & 0xf == 2).then_some(ZoneType::SequentialRequired)?,
            state: State::from_number(raw[1] >> 4)?,
        })
    })
}
