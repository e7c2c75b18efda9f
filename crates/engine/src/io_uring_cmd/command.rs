//! NVMe commands in the form in which `io_uring` passes them to the driver (`linux/nvme_ioctl.h`).

use fiord_plan::WriteCommand;

use super::space::NamespaceBlocks;

/// Request number for a command with its data in one buffer: `_IOWR('N', 0x80, struct
/// nvme_uring_cmd)`. Linux 5.19.
pub(super) const NVME_URING_CMD_IO: u32 = 0xc048_4e80;
/// Request number for a command with its data in vectors: `_IOWR('N', 0x81, struct
/// nvme_uring_cmd)`.
pub(super) const NVME_URING_CMD_IO_VEC: u32 = 0xc048_4e81;

/// `struct nvme_uring_cmd`, padded to the end of the ring entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct NvmeCommand {
    pub opcode: u8,
    pub flags: u8,
    pub rsvd1: u16,
    pub nsid: u32,
    pub cdw2: u32,
    pub cdw3: u32,
    pub metadata: u64,
    pub addr: u64,
    pub metadata_len: u32,
    pub data_len: u32,
    pub cdw10: u32,
    pub cdw11: u32,
    pub cdw12: u32,
    pub cdw13: u32,
    pub cdw14: u32,
    pub cdw15: u32,
    pub timeout_ms: u32,
    pub rsvd2: u32,
    pub fill: u64,
}

const _: () = assert!(size_of::<NvmeCommand>() == 80);

/// Opcodes (NVM Command Set Specification 1.0, figure "Opcodes for NVM Commands"; ZNS 1.1).
pub(super) mod opcode {
    pub(crate) const FLUSH: u8 = 0x00;
    pub(crate) const WRITE: u8 = 0x01;
    pub(crate) const READ: u8 = 0x02;
    pub(crate) const WRITE_UNCORRECTABLE: u8 = 0x04;
    pub(crate) const COMPARE: u8 = 0x05;
    pub(crate) const WRITE_ZEROES: u8 = 0x08;
    pub(crate) const DATASET_MANAGEMENT: u8 = 0x09;
    pub(crate) const VERIFY: u8 = 0x0c;
    pub(crate) const ZONE_APPEND: u8 = 0x7d;
}

/// Command Dword 12, bit 25 of Write Zeroes: the controller may deallocate the blocks (DEAC).
pub(super) const DEALLOCATE: u32 = 1 << 25;
/// Command Dword 12, bit 25 of Zone Append (PIREMAP; ZNS 1.1, 3.4.1): the command's reference tags
/// begin with that of the zone's first block, and the controller replaces them by those of the
/// blocks that it chose. Type 1 requires the bit, type 2 allows it, and with type 3 it is an error.
pub(super) const REMAP_TAGS: u32 = 1 << 25;
/// Command Dword 12, bit 30: force unit access (FUA).
pub(super) const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// Command Dword 11, bit 2 of Dataset Management: deallocate (AD).
const ATTRIBUTE_DEALLOCATE: u32 = 1 << 2;

/// A range of Dataset Management (NVM 3.2.3, figure "Dataset Management – Range Definition").
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct BlockRange {
    /// Context attributes.
    pub attributes: u32,
    /// Number of blocks, counted from 1.
    pub blocks: u32,
    /// First block.
    pub start: u64,
}

const _: () = assert!(size_of::<BlockRange>() == 16);

/// Flags in Command Dword 12 of all commands of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    pub read: u32,
    /// Flags of writes and zone appends.
    pub write: u32,
    /// Flags of Write Zeroes.
    pub zeroes: u32,
}

impl NvmeCommand {
    /// A command on a range of blocks: the first block in dwords 10 and 11, the number of blocks,
    /// counted from 0, in dword 12 (NVM 3.2).
    #[inline(always)]
    fn on_blocks(opcode: u8, space: &NamespaceBlocks, first: u64, blocks: u32, flags: u32) -> Self {
        NvmeCommand {
            opcode,
            nsid: space.nsid,
            cdw10: first as u32,
            cdw11: (first >> 32) as u32,
            cdw12: flags | (blocks.wrapping_sub(1) & 0xffff),
            ..Default::default()
        }
    }

    /// Reads `len` bytes from the byte `offset`.
    #[inline(always)]
    pub(crate) fn read(space: &NamespaceBlocks, offset: u64, len: u32, flags: &Flags) -> Self {
        let (first, blocks) = space.blocks(offset, len);
        Self::on_blocks(opcode::READ, space, first, blocks, flags.read)
    }

    /// Writes `len` bytes at the byte `offset` with the command that `form` names.
    #[inline(always)]
    pub(crate) fn write(
        space: &NamespaceBlocks,
        form: WriteCommand,
        offset: u64,
        len: u32,
        flags: &Flags,
    ) -> Self {
        let (first, blocks) = space.blocks(offset, len);
        match form {
            WriteCommand::Data => Self::on_blocks(opcode::WRITE, space, first, blocks, flags.write),
            WriteCommand::Durable => {
                let flags = flags.write | FORCE_UNIT_ACCESS;
                Self::on_blocks(opcode::WRITE, space, first, blocks, flags)
            }
            WriteCommand::Zeroes => {
                Self::on_blocks(opcode::WRITE_ZEROES, space, first, blocks, flags.zeroes)
            }
            WriteCommand::Uncorrectable => {
                Self::on_blocks(opcode::WRITE_UNCORRECTABLE, space, first, blocks, 0)
            }
            WriteCommand::Verify => Self::on_blocks(opcode::VERIFY, space, first, blocks, 0),
            WriteCommand::Compare => {
                Self::on_blocks(opcode::COMPARE, space, first, blocks, flags.read)
            }
            // A zone append names the zone by its first block (ZNS 3.4.1).
            WriteCommand::Append => {
                let zone = space.zone_start(first);
                Self::on_blocks(opcode::ZONE_APPEND, space, zone, blocks, flags.write)
            }
        }
    }

    /// Sets the placement of a write: the directive type (DTYPE) in bits 20 to 23 of dword 12, the
    /// placement identifier (DSPEC) in the upper half of dword 13 (NVM 3.2.6).
    pub(crate) fn place(&mut self, directive: u8, id: u16) {
        self.cdw12 |= u32::from(directive & 0xf) << 20;
        self.cdw13 |= u32::from(id) << 16;
    }

    /// Flush: makes written data and metadata non-volatile (Base 7.1).
    pub(crate) fn flush(space: &NamespaceBlocks) -> Self {
        NvmeCommand { opcode: opcode::FLUSH, nsid: space.nsid, ..Default::default() }
    }

    /// Deallocates the ranges of a list. The list must have 1 to 256 ranges and stay in place until
    /// the command has completed.
    pub(crate) fn deallocate(space: &NamespaceBlocks, ranges: &[BlockRange]) -> Self {
        NvmeCommand {
            opcode: opcode::DATASET_MANAGEMENT,
            nsid: space.nsid,
            cdw10: (ranges.len() as u32).wrapping_sub(1) & 0xff,
            cdw11: ATTRIBUTE_DEALLOCATE,
            addr: ranges.as_ptr() as u64,
            data_len: size_of_val(ranges) as u32,
            ..Default::default()
        }
    }
}

#[cfg(test)]
mod tests;
