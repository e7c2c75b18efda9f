//! READ CAPACITY: how large a logical unit is.

use std::os::fd::AsFd;
use std::path::Path;

use super::cdb;
use super::generic::{self, Data, Failure};
use crate::file::Open;

/// Size and block size of a logical unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Logical blocks.
    pub blocks: u64,
    /// Bytes of a logical block.
    pub block: u32,
}

impl Capacity {
    /// Bytes in all.
    pub fn bytes(self) -> u64 {
        self.blocks.saturating_mul(u64::from(self.block))
    }

    /// From what READ CAPACITY(16) returns (SBC-4, table 64). `None`: a block of no bytes.
    pub fn parse_16(data: &[u8; 32]) -> Option<Self> {
        let last = u64::from_be_bytes(data[..8].try_into().ok()?);
        let block = u32::from_be_bytes(data[8..12].try_into().ok()?);
        (block > 0).then_some(Capacity { blocks: last.saturating_add(1), block })
    }

    /// From what READ CAPACITY(10) returns. `None`: a block of no bytes, or more blocks than fit.
    pub fn parse_10(data: &[u8; 8]) -> Option<Self> {
        let last = u32::from_be_bytes(data[..4].try_into().ok()?);
        let block = u32::from_be_bytes(data[4..].try_into().ok()?);
        (block > 0 && last < u32::MAX).then_some(Capacity { blocks: u64::from(last) + 1, block })
    }
}

/// Asks a device. It must be open for commands.
///
/// # Errors
/// When the device or the kernel refuses READ CAPACITY in both its forms.
pub fn read(fd: impl AsFd) -> Result<Capacity, Failure> {
    let mut long = [0; 32];
    let asked = generic::execute(fd.as_fd(), &cdb::read_capacity(32), Data::In(&mut long));
    if asked.is_ok()
        && let Some(capacity) = Capacity::parse_16(&long)
    {
        return Ok(capacity);
    }
    let mut short = [0; 8];
    match generic::execute(fd.as_fd(), &cdb::read_capacity_10(), Data::In(&mut short)) {
        Ok(_) => Capacity::parse_10(&short).ok_or(Failure::Nonsense),
        // What the newer form was refused for is the better reason.
        Err(error) => Err(asked.err().unwrap_or(error)),
    }
}

/// Asks the device at a path.
///
/// # Errors
/// As [`read`], and when it cannot be opened.
pub fn of(path: &Path) -> Result<Capacity, Failure> {
    let fd = Open::read_only().open(path).map_err(|e| Failure::Kernel(e.errno))?;
    read(&fd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_devices_return() {
        let mut long = [0; 32];
        long[..12].copy_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 0]);
        let capacity = Capacity::parse_16(&long).unwrap();
        assert_eq!(capacity, Capacity { blocks: (1 << 32) + 1, block: 4096 });
        assert_eq!(capacity.bytes(), ((1 << 32) + 1) * 4096);
        let short = [0, 0, 0xff, 0xff, 0, 0, 2, 0];
        assert_eq!(Capacity::parse_10(&short), Some(Capacity { blocks: 65536, block: 512 }));
        assert_eq!(Capacity::parse_10(&[0xff, 0xff, 0xff, 0xff, 0, 0, 2, 0]), None);
        assert_eq!(Capacity::parse_16(&[0; 32]), None);
    }

    #[test]
    fn what_is_no_scsi_device_says_so() {
        assert!(matches!(of(Path::new("/dev/null")), Err(Failure::Kernel(_))));
    }
}
