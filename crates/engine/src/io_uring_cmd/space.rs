//! Address space of a namespace.

use fiord_plan::NvmeTarget;

/// Translates byte offsets to logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NamespaceBlocks {
    /// Namespace identifier.
    pub nsid: u32,
    /// Length in bytes of a block in a data buffer.
    block: u32,
    /// Binary logarithm of `block`, if that is a power of two.
    shift: Option<u8>,
    /// Blocks of a zone; 0 if the namespace has no zones.
    zone: u64,
    /// Maximum number of bytes that one command may transfer. The engine splits longer ops.
    pub most_data: u32,
}

/// Maximum number of blocks of a command: the block count has 16 bits and is counted from 0 (NVM 3.2).
pub(super) const MAX_BLOCKS: u64 = 1 << 16;

impl NamespaceBlocks {
    /// Stands for a file that is not attached.
    pub(crate) const NONE: NamespaceBlocks =
        NamespaceBlocks { nsid: 0, block: 512, shift: Some(9), zone: 0, most_data: 0 };

    /// Address space of a target of the plan.
    pub(crate) fn new(target: &NvmeTarget) -> Self {
        let block = target.block.max(1);
        let most = MAX_BLOCKS.saturating_mul(block.into());
        NamespaceBlocks {
            nsid: target.device.nsid,
            block,
            shift: block.is_power_of_two().then(|| block.trailing_zeros() as u8),
            zone: target.device.zoned.map_or(0, |zoned| zoned.zone_blocks),
            most_data: u32::try_from(target.split.map_or(most, |split| most.min(split.into())))
                .unwrap_or(u32::MAX),
        }
    }

    /// First block and number of blocks of a range of bytes.
    #[inline(always)]
    pub(crate) fn blocks(&self, offset: u64, len: u32) -> (u64, u32) {
        match self.shift {
            Some(shift) => (offset >> shift, len >> shift),
            None => (offset / u64::from(self.block), len / self.block),
        }
    }

    /// First block of the zone that contains the block.
    pub(crate) fn zone_start(&self, block: u64) -> u64 {
        match self.zone {
            0 => block,
            zone => block - block % zone,
        }
    }
}
