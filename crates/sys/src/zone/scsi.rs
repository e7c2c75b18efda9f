//! Zones of SCSI disks through commands: Zoned Block Commands 2 ("ZBC-2"). Disks with the ATA command set (ZAC) take
//! these commands from libata and from host adapters that translate them.

use std::os::fd::BorrowedFd;

use fiord_types::{Bytes, Errno};

use super::{DESCRIPTOR, Model, State, Zone, ZoneAction, ZoneType, ZonedFacts};
use crate::scsi::cdb::{self, Cdb};
use crate::scsi::generic::{self, CommandData, Failure};
use crate::scsi::{Capacity, sense};
use crate::{Error, Result};

/// Peripheral device type of host-managed disks in the standard INQUIRY data (SPC-5, table 152).
const HOST_MANAGED: u8 = 0x14;
/// Number of bytes of INQUIRY data to read.
const INQUIRY: usize = 64;

/// A zoned logical unit, as its INQUIRY data described it when the device was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ZonedUnit {
    facts: ZonedFacts,
}

impl ZonedUnit {
    /// Reads the INQUIRY data, the capacity and the first zone.
    pub(super) fn identify(fd: BorrowedFd) -> Result<ZonedUnit> {
        let model = model(fd)?;
        let mut data = [0; 32];
        ask("SCSI READ CAPACITY(16)", fd, &cdb::read_capacity(32), CommandData::In(&mut data))?;
        let capacity = Capacity::parse_16(&data).ok_or_else(|| {
            Error::new("SCSI READ CAPACITY(16) (the block size is 0)", Errno::EBADMSG)
        })?;
        let first = report_at(fd, 0, 1, capacity.block)?;
        let zone_size = first.first().map_or(Bytes::ZERO, |zone| zone.len);
        if zone_size == Bytes::ZERO {
            return Err(Error::new("SCSI REPORT ZONES", Errno::EOPNOTSUPP));
        }
        let size = Bytes(capacity.bytes());
        Ok(ZonedUnit {
            facts: ZonedFacts {
                model,
                size,
                zone_size,
                count: size.div_ceil(zone_size),
                max_open: if model == Model::HostManaged { max_open(fd) } else { None },
                // SCSI disks limit open zones only, and have no zone append.
                max_active: None,
                block: capacity.block,
                write_granularity: match model {
                    Model::HostManaged => capacity.block * physical_factor(&data),
                    _ => capacity.block,
                },
                append_max: Bytes::ZERO,
            },
        })
    }

    pub(super) fn facts(&self) -> ZonedFacts {
        self.facts
    }

    pub(super) fn report(&self, fd: BorrowedFd, from: Bytes, limit: usize) -> Result<Vec<Zone>> {
        let block = self.facts.block;
        super::collect(&self.facts, from, limit, |at, most| report_at(fd, at / block, most, block))
    }

    pub(super) fn manage(
        &self,
        fd: BorrowedFd,
        action: ZoneAction,
        start: Bytes,
        len: Bytes,
    ) -> Result<()> {
        let name = match action {
            ZoneAction::Close => "SCSI CLOSE ZONE",
            ZoneAction::Finish => "SCSI FINISH ZONE",
            ZoneAction::Open => "SCSI OPEN ZONE",
            ZoneAction::Reset => "SCSI RESET WRITE POINTER",
        };
        super::for_each_zone(&self.facts, start, len, |lba| {
            ask(name, fd, &command(action, lba), CommandData::None)
        })
    }
}

/// Returns the command that applies an action to the zone that begins at a block.
fn command(action: ZoneAction, lba: u64) -> Cdb {
    // Service actions of ZBC OUT (ZBC-2, table 16).
    let code = match action {
        ZoneAction::Close => 0x01,
        ZoneAction::Finish => 0x02,
        ZoneAction::Open => 0x03,
        ZoneAction::Reset => 0x04,
    };
    cdb::manage_zone(code, lba)
}

/// Reads the zone model.
///
/// # Errors
/// `EOPNOTSUPP` if the unit has no zones.
fn model(fd: BorrowedFd) -> Result<Model> {
    let mut data = [0; INQUIRY];
    let name = "SCSI INQUIRY";
    ask(name, fd, &cdb::standard_inquiry(INQUIRY as u16), CommandData::In(&mut data))?;
    if data[0] & 0x1f == HOST_MANAGED {
        return Ok(Model::HostManaged);
    }
    let page = page(fd, cdb::BLOCK_CHARACTERISTICS);
    // The ZONED field: 1 is host-aware (SBC-4, clause 6.6.2).
    match page.is_some_and(|page| page[8] >> 4 & 3 == 1) {
        true => Ok(Model::HostAware),
        false => Err(Error::new(name, Errno::EOPNOTSUPP).saying("the device has no zones")),
    }
}

/// Reads a VPD page. `None` if the unit does not have it.
fn page(fd: BorrowedFd, code: u8) -> Option<[u8; INQUIRY]> {
    let mut data = [0; INQUIRY];
    let command = cdb::inquiry(code, INQUIRY as u16);
    ask("SCSI INQUIRY", fd, &command, CommandData::In(&mut data)).ok()?;
    (data[1] == code).then_some(data)
}

/// Reads the largest number of open zones from the Zoned Block Device Characteristics page (ZBC-2, clause 6.5.2).
/// `None` if the unit has or reports no limit.
fn max_open(fd: BorrowedFd) -> Option<u32> {
    page(fd, cdb::ZONED_CHARACTERISTICS).and_then(|page| limit_of(&page))
}

fn limit_of(page: &[u8; INQUIRY]) -> Option<u32> {
    Some(u32::from_be_bytes(super::array(page, 16))).filter(|limit| !matches!(*limit, 0 | u32::MAX))
}

/// Returns the number of logical blocks in a physical block, from the data of READ CAPACITY(16).
fn physical_factor(data: &[u8; 32]) -> u64 {
    1 << (data[13] & 0xf)
}

/// Reads at most `count` zones, from the one that contains the block `lba`.
fn report_at(fd: BorrowedFd, lba: u64, count: usize, block: Bytes) -> Result<Vec<Zone>> {
    let mut data = vec![0u8; (count + 1) * DESCRIPTOR];
    let command = cdb::report_zones(lba, data.len() as u32);
    ask("SCSI REPORT ZONES", fd, &command, CommandData::In(&mut data))?;
    parse_report(&data, block)
}

/// Parses the zones of REPORT ZONES. The first 4 bytes of the header are the length of the descriptors that follow,
/// with the type in bits 3:0 of byte 0, the condition in bits 7:4 of byte 1, and length, start and write pointer in
/// blocks at offsets 8, 16 and 24. All numbers are big-endian.
///
/// # Errors
/// `EBADMSG` if a zone is invalid.
pub(super) fn parse_report(answer: &[u8], block: Bytes) -> Result<Vec<Zone>> {
    let count = u32::from_be_bytes(super::array(answer, 0)) as usize / DESCRIPTOR;
    super::parse_descriptors(answer.get(DESCRIPTOR..), count, |raw| {
        let bytes = |at| u64::from_be_bytes(super::array(raw, at)).checked_mul(block.0);
        let (len, start) = (bytes(8)?, bytes(16)?);
        start.checked_add(len).filter(|_| len > 0)?;
        Some(Zone {
            start: Bytes(start),
            len: Bytes(len),
            capacity: Bytes(len),
            write_pointer: Bytes(bytes(24).unwrap_or(start)),
            kind: ZoneType::from_number(raw[0] & 0xf)?,
            state: State::from_number(raw[1] >> 4)?,
        })
    })
}

/// Sends a command and waits for it. Repeats it after a UNIT ATTENTION, which reports an event from before the command.
fn ask(name: &'static str, fd: BorrowedFd, cdb: &Cdb, mut data: CommandData) -> Result<()> {
    const TRIES: u32 = 5;
    for attempt in 1..=TRIES {
        match generic::execute(fd, cdb, data.again()) {
            Ok(_) => return Ok(()),
            Err(Failure::Device(sense))
                if sense.key == sense::key::UNIT_ATTENTION && attempt < TRIES => {}
            Err(failure) => return Err(error(name, failure)),
        }
    }
    Err(Error::new(name, Errno::EIO))
}

/// Converts a failure to an error with the device's sense data as its text, and the errno that the kernel's block layer
/// returns for it.
fn error(name: &'static str, failure: Failure) -> Error {
    let Failure::Device(sense) = failure else {
        let error = Error::new(name, failure.errno());
        return match failure {
            Failure::Kernel(_) => error,
            _ => error.saying(failure),
        };
    };
    let errno = match (sense.key, sense.asc, sense.ascq) {
        // Invalid command operation code.
        (_, 0x20, 0x00) => Errno::EOPNOTSUPP,
        // Logical block address out of range.
        (_, 0x21, 0x00) => Errno::ENXIO,
        // Zone is read only.
        (_, 0x27, 0x08) => Errno::EROFS,
        // Insufficient zone resources.
        (_, 0x55, 0x0e) => Errno::ETOOMANYREFS,
        _ => Errno::EIO,
    };
    Error::new(name, errno).saying(sense)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scsi::Sense;

    fn descriptor(kind: u8, condition: u8, [len, start, pointer]: [u64; 3]) -> [u8; DESCRIPTOR] {
        let mut raw = [0; DESCRIPTOR];
        (raw[0], raw[1]) = (kind, condition << 4);
        raw[8..16].copy_from_slice(&len.to_be_bytes());
        raw[16..24].copy_from_slice(&start.to_be_bytes());
        raw[24..32].copy_from_slice(&pointer.to_be_bytes());
        raw
    }

    fn report(zones: &[[u8; DESCRIPTOR]]) -> Vec<u8> {
        let mut raw = vec![0; DESCRIPTOR];
        raw[..4].copy_from_slice(&((zones.len() * DESCRIPTOR) as u32).to_be_bytes());
        raw.extend(zones.concat());
        raw
    }

    #[test]
    fn reports_of_scsi_disks_are_parsed() {
        let raw = report(&[
            descriptor(1, 0, [0x800, 0, u64::MAX]),
            descriptor(2, 2, [0x800, 0x800, 0x808]),
            descriptor(3, 0xe, [0x800, 0x1000, u64::MAX]),
        ]);
        let zones = parse_report(&raw, Bytes(512)).unwrap();
        let mib = |count| Bytes::from_mib(count);
        assert_eq!(zones.len(), 3);
        assert_eq!(
            (zones[0].kind, zones[0].state),
            (ZoneType::Conventional, State::NoWritePointer)
        );
        assert_eq!((zones[1].start, zones[1].len), (mib(1), mib(1)));
        assert_eq!(zones[1].write_pointer, mib(1) + Bytes(4096));
        assert_eq!((zones[2].kind, zones[2].state), (ZoneType::SequentialPreferred, State::Full));
        assert_eq!(zones[2].write_pointer, mib(3), "a full zone's pointer is its end");
        // The list is longer than the part that the command transferred.
        let mut long = raw;
        long[..4].copy_from_slice(&u32::MAX.to_be_bytes());
        assert_eq!(parse_report(&long, Bytes(512)).unwrap().len(), 3);
    }

    #[test]
    fn invalid_zones_are_an_error() {
        for bad in [
            descriptor(9, 1, [0x800, 0, 0]),
            descriptor(2, 7, [0x800, 0, 0]),
            descriptor(2, 1, [0, 0, 0]),
            descriptor(2, 1, [u64::MAX, 0, 0]),
        ] {
            let error = parse_report(&report(&[bad]), Bytes(512)).unwrap_err();
            assert_eq!(error.errno, Errno::EBADMSG);
        }
        assert_eq!(parse_report(&[], Bytes(512)).unwrap(), []);
    }

    #[test]
    fn limits_and_block_sizes_are_parsed() {
        let mut page = [0; INQUIRY];
        assert_eq!(limit_of(&page), None);
        page[16..20].copy_from_slice(&[0, 0, 0, 128]);
        assert_eq!(limit_of(&page), Some(128));
        page[16..20].fill(0xff);
        assert_eq!(limit_of(&page), None, "no limit");
        let mut capacity = [0; 32];
        assert_eq!(physical_factor(&capacity), 1);
        capacity[13] = 0x13;
        assert_eq!(physical_factor(&capacity), 8, "4 KiB in blocks of 512 bytes");
    }

    #[test]
    fn failures_have_the_errnos_of_the_block_layer() {
        let failed = |key, asc, ascq| {
            let error = error("SCSI OPEN ZONE", Failure::Device(Sense { key, asc, ascq }));
            (error.errno, error.said.unwrap_or_default())
        };
        let (errno, said) = failed(7, 0x55, 0x0e);
        assert_eq!(errno, Errno::ETOOMANYREFS);
        assert!(said.contains("insufficient zone resources"), "{said}");
        assert_eq!(failed(5, 0x20, 0).0, Errno::EOPNOTSUPP);
        assert_eq!(failed(5, 0x24, 0).0, Errno::EIO);
        let kernel = error("SCSI OPEN ZONE", Failure::Kernel(Errno::EPERM));
        assert_eq!((kernel.errno, kernel.said), (Errno::EPERM, None));
    }

    #[test]
    fn a_device_without_scsi_commands_is_refused() {
        use std::os::fd::AsFd;
        let null = crate::file::Open::read_only().open("/dev/null".as_ref()).unwrap();
        let error = ZonedUnit::identify(null.as_fd()).unwrap_err();
        assert!(matches!(error.errno, Errno::ENOTTY | Errno::EINVAL), "{error}");
    }

    #[test]
    fn actions_are_commands_to_one_zone() {
        for (action, code) in [
            (ZoneAction::Close, 1),
            (ZoneAction::Finish, 2),
            (ZoneAction::Open, 3),
            (ZoneAction::Reset, 4),
        ] {
            let cdb = command(action, 0x0102_0304_0506_0708);
            let bytes = cdb.as_bytes();
            assert_eq!((bytes[0], bytes[1]), (0x94, code));
            assert_eq!((&bytes[2..10], &bytes[10..]), (&[1, 2, 3, 4, 5, 6, 7, 8][..], &[0; 6][..]));
        }
    }
}
