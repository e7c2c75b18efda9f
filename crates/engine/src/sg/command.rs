//! Translation of ops to SCSI commands.

use fiord_plan::{SgPlan, SgWrite};
use fiord_sys::scsi::{Capacity, Cdb, Command, Compare, Length, cdb};

use crate::{Op, OpKind};

/// A SCSI command and its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    /// The command descriptor block.
    pub cdb: Cdb,
    /// The data that the command transfers.
    pub data: DataPhase,
}

/// The data that a command transfers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DataPhase {
    /// No data.
    Nothing,
    /// This many bytes from the device to the slot's buffer.
    In(u32),
    /// This many bytes from the slot's buffer to the device.
    Out(u32),
    /// First logical block and number of blocks of a trim. One or more ranges make up the parameter
    /// list of an UNMAP.
    Range(u64, u32),
}

/// Translates ops to commands as the options of a job demand.
#[derive(Debug, Clone, Copy)]
pub(super) struct CommandBuilder {
    read_fua: bool,
    write: Command,
    /// The part of a write's data that the command sends.
    sends: Sends,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    All,
    OneBlock,
    Nothing,
}

impl CommandBuilder {
    /// `stream`: the stream that writes belong to; used only by `sg_write_mode=write_stream`.
    pub(super) fn new(plan: &SgPlan, stream: u16) -> Self {
        let fua = plan.write_fua;
        let (write, sends) = match plan.write {
            SgWrite::Write => (Command::Write { fua }, Sends::All),
            SgWrite::WriteAndVerify => (Command::WriteAndVerify, Sends::All),
            SgWrite::WriteSame => (Command::WriteSame { no_data: false }, Sends::OneBlock),
            SgWrite::WriteSameNoData => (Command::WriteSame { no_data: true }, Sends::Nothing),
            SgWrite::Verify(0) => (Command::Verify(Compare::Nothing), Sends::Nothing),
            SgWrite::Verify(1) => (Command::Verify(Compare::All), Sends::All),
            SgWrite::Verify(_) => (Command::Verify(Compare::One), Sends::OneBlock),
            SgWrite::Stream(_) => (Command::WriteStream { stream, fua }, Sends::All),
        };
        CommandBuilder { read_fua: plan.read_fua, write, sends }
    }

    /// The command for an op. `None` if the op is not a whole number of blocks, lies beyond what
    /// the command can address, or is not an operation of a SCSI device.
    pub(super) fn of(&self, op: &Op, capacity: Capacity) -> Option<Request> {
        let block = capacity.block.0;
        if !op.offset.is_multiple_of(block) || !u64::from(op.len).is_multiple_of(block) {
            return None;
        }
        let (lba, blocks) = (op.offset / block, op.len / capacity.block.0 as u32);
        let command = match op.kind {
            OpKind::Read => Command::Read { fua: self.read_fua },
            OpKind::Write => self.write,
            OpKind::Trim => {
                let cdb = cdb::unmap(cdb::ONE_RANGE);
                return Some(Request { cdb, data: DataPhase::Range(lba, blocks) });
            }
            OpKind::Fsync | OpKind::Fdatasync => Command::Synchronize,
            OpKind::SyncFileRange(_) => return None,
        };
        let data = match (op.kind, self.sends) {
            (OpKind::Read, _) => DataPhase::In(op.len),
            (OpKind::Write, Sends::All) => DataPhase::Out(op.len),
            (OpKind::Write, Sends::OneBlock) => DataPhase::Out(capacity.block.0 as u32),
            _ => DataPhase::Nothing,
        };
        let cdb = command.encode(lba, blocks, Length::Shortest).ok()?;
        Some(Request { cdb, data })
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, FileIndex};

    use super::*;
    use crate::IoAttributes;

    const DISK: Capacity = Capacity { blocks: 1 << 20, block: Bytes(512) };

    fn order(write: SgWrite, kind: OpKind, offset: u64, len: u32) -> Option<Request> {
        let plan = SgPlan { read_fua: true, write, ..Default::default() };
        let op =
            Op { kind, file: FileIndex(0), offset, len, at: 0, attributes: IoAttributes::PLAIN };
        CommandBuilder::new(&plan, 7).of(&op, DISK)
    }

    #[test]
    fn ops_are_commands_in_blocks_of_the_device() {
        let read = order(SgWrite::Write, OpKind::Read, 1024, 4096).unwrap();
        assert_eq!(read.cdb.as_bytes(), [0x28, 8, 0, 0, 0, 2, 0, 0, 8, 0]);
        assert_eq!(read.data, DataPhase::In(4096));
        let write = order(SgWrite::Write, OpKind::Write, 512, 512).unwrap();
        assert_eq!(write.cdb.as_bytes(), [0x2a, 0, 0, 0, 0, 1, 0, 0, 1, 0]);
        assert_eq!(write.data, DataPhase::Out(512));
        let sync = order(SgWrite::Write, OpKind::Fsync, 0, 0).unwrap();
        assert_eq!((sync.cdb.as_bytes()[0], sync.data), (0x35, DataPhase::Nothing));
        let trim = order(SgWrite::Write, OpKind::Trim, 512, 1024).unwrap();
        assert_eq!((trim.cdb.as_bytes()[0], trim.data), (0x42, DataPhase::Range(1, 2)));
    }

    #[test]
    fn every_kind_of_write() {
        for (write, code, flags, data) in [
            (SgWrite::WriteAndVerify, 0x2e, 0, DataPhase::Out(4096)),
            (SgWrite::WriteSame, 0x41, 0, DataPhase::Out(512)),
            (SgWrite::WriteSameNoData, 0x93, 1, DataPhase::Nothing),
            (SgWrite::Verify(0), 0x2f, 0, DataPhase::Nothing),
            (SgWrite::Verify(1), 0x2f, 2, DataPhase::Out(4096)),
            (SgWrite::Verify(3), 0x2f, 6, DataPhase::Out(512)),
            (SgWrite::Stream(7), 0x9a, 0, DataPhase::Out(4096)),
        ] {
            let order = order(write, OpKind::Write, 0, 4096).unwrap();
            let bytes = order.cdb.as_bytes();
            assert_eq!((bytes[0], bytes[1], order.data), (code, flags, data), "{write:?}");
        }
    }

    #[test]
    fn a_partial_block_is_no_command() {
        assert_eq!(order(SgWrite::Write, OpKind::Read, 100, 512), None);
        assert_eq!(order(SgWrite::Write, OpKind::Write, 0, 100), None);
        assert_eq!(order(SgWrite::Write, OpKind::SyncFileRange(1), 0, 512), None);
    }
}
