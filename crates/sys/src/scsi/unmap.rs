//! The limits of a device on one UNMAP command.

use std::os::fd::AsFd;

use super::cdb;
use super::generic::{self, CommandData};

/// Number of bytes of the Block Limits page to read; they include the limits on UNMAP.
const PAGE: usize = 64;

/// The limits on one UNMAP command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnmapLimits {
    /// Number of ranges (block descriptors).
    pub ranges: u32,
    /// Number of logical blocks in all ranges together.
    pub blocks: u32,
}

impl UnmapLimits {
    /// The limits that every device with UNMAP supports.
    pub const MIN: UnmapLimits = UnmapLimits { ranges: 1, blocks: u32::MAX };

    /// Parses the Block Limits page (SBC-4, clause 6.6.4). `None` if the device reports no limits.
    #[must_use]
    pub fn parse(page: &[u8; PAGE]) -> Option<Self> {
        let field = |at: usize| Some(u32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?));
        let length = usize::from(u16::from_be_bytes([page[2], page[3]]));
        let (blocks, ranges) = (field(20)?, field(24)?);
        // The length field of the parameter list has 16 bits.
        let most = (u32::from(u16::MAX) - 8) / 16;
        let named = page[1] == cdb::BLOCK_LIMITS && length >= 24 && blocks > 0 && ranges > 0;
        named.then_some(UnmapLimits { ranges: ranges.min(most), blocks })
    }
}

/// Reads the limits of a device. A device that does not report them gets one range per command.
pub fn limits(fd: impl AsFd) -> UnmapLimits {
    let mut page = [0; PAGE];
    let command = cdb::inquiry(cdb::BLOCK_LIMITS, PAGE as u16);
    match generic::execute(fd.as_fd(), &command, CommandData::In(&mut page)) {
        Ok(_) => UnmapLimits::parse(&page).unwrap_or(UnmapLimits::MIN),
        Err(_) => UnmapLimits::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_from_the_block_limits_page() {
        let mut page = [0; PAGE];
        (page[1], page[3]) = (0xb0, 0x3c);
        assert_eq!(UnmapLimits::parse(&page), None, "the device reports no limits");
        page[20..28].copy_from_slice(&[0, 0, 0x10, 0, 0, 0, 1, 0]);
        assert_eq!(UnmapLimits::parse(&page), Some(UnmapLimits { ranges: 256, blocks: 4096 }));
        page[24..28].fill(0xff);
        assert_eq!(UnmapLimits::parse(&page), Some(UnmapLimits { ranges: 4095, blocks: 4096 }));
        page[3] = 0x10;
        assert_eq!(UnmapLimits::parse(&page), None, "an older page ends before the limits");
    }
}
