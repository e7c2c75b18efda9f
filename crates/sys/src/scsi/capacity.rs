//! READ CAPACITY: the size of a logical unit.

use std::os::fd::AsFd;
use std::path::Path;

use fiord_types::Bytes;

use super::cdb;
use super::generic::{self, CommandData, Failure};
use crate::file::Open;

/// Size and block size of a logical unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Number of logical blocks.
    pub blocks: u64,
    /// Size of a logical block.
    pub block: Bytes,
}

impl Capacity {
    /// Returns the size in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.blocks.saturating_mul(self.block.0)
    }

    /// Parses the data of READ CAPACITY(16) (SBC-4, table 64). `None` if the block size is 0.
    #[must_use]
    pub fn parse_16(data: &[u8; 32]) -> Option<Self> {
        let last = u64::from_be_bytes(data[..8].try_into().ok()?);
        let block = u32::from_be_bytes(data[8..12].try_into().ok()?);
        (block > 0)
            .then_some(Capacity { blocks: last.saturating_add(1), block: Bytes(block.into()) })
    }

    /// Parses the data of READ CAPACITY(10). `None` if the block size is 0, or the device has more blocks
    /// than this command can report.
    #[must_use]
    pub fn parse_10(data: &[u8; 8]) -> Option<Self> {
        let last = u32::from_be_bytes(data[..4].try_into().ok()?);
        let block = u32::from_be_bytes(data[4..].try_into().ok()?);
        (block > 0 && last < u32::MAX)
            .then_some(Capacity { blocks: u64::from(last) + 1, block: Bytes(block.into()) })
    }
}

/// Reads the capacity of a device that is open for commands.
///
/// # Errors
/// The device or the kernel refuses both forms of READ CAPACITY.
pub fn read(fd: impl AsFd) -> Result<Capacity, Failure> {
    let mut long = [0; 32];
    let asked = generic::execute(fd.as_fd(), &cdb::read_capacity(32), CommandData::In(&mut long));
    if asked.is_ok()
        && let Some(capacity) = Capacity::parse_16(&long)
    {
        return Ok(capacity);
    }
    let mut short = [0; 8];
    match generic::execute(fd.as_fd(), &cdb::read_capacity_10(), CommandData::In(&mut short)) {
        Ok(_) => Capacity::parse_10(&short).ok_or(Failure::InvalidAnswer),
        // The refusal of READ CAPACITY(16) is the more useful error.
        Err(error) => Err(asked.err().unwrap_or(error)),
    }
}

/// Reads the capacity of the device at a path.
///
/// # Errors
/// Errors of [`read`], and of opening the device.
pub fn of(path: &Path) -> Result<Capacity, Failure> {
    let fd = Open::read_only().open(path).map_err(|e| Failure::Kernel(e.errno))?;
    read(&fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_read_capacity_are_parsed() {
        let mut long = [0; 32];
        long[..12].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0]);
        let capacity = Capacity::parse_16(&long).unwrap();
        assert_eq!(capacity, Capacity { blocks: (1 << 32) + 1, block: Bytes(4096) });
        assert_eq!(capacity.bytes(), ((1 << 32) + 1) * 4096);
        let short = [0, 0, 0xff, 0xff, 0, 0, 2, 0];
        assert_eq!(Capacity::parse_10(&short), Some(Capacity { blocks: 65536, block: Bytes(512) }));
        assert_eq!(Capacity::parse_10(&[0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]), None);
        assert_eq!(Capacity::parse_16(&[0; 32]), None);
    }

    #[test]
    fn a_file_that_is_not_a_scsi_device_is_an_error() {
        assert!(matches!(of(Path::new("/dev/null")), Err(Failure::Kernel(_))));
    }
}
