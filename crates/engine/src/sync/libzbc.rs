//! `libzbc`: SCSI commands to a zoned disk by `SG_IO`, one at a time.
//!
//! fio's engine uses the library libzbc. fiord sends the same commands itself: READ(16), WRITE(16) and SYNCHRONIZE
//! CACHE(16), which host-managed disks must support, unlike those of 10 bytes (ZBC-2, annex A). The zone tables of the
//! run send the commands to zones (`fiord_sys::zone`).

use std::os::fd::{BorrowedFd, RawFd};

use fiord_sys::scsi::generic::{self, CommandData, Failure};
use fiord_sys::scsi::{Command, Length};
use fiord_types::{Bytes, Errno, FileIndex};

use super::{File, Span, Transfer};
use crate::sg::ready;
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome};

/// The commands READ, WRITE and SYNCHRONIZE CACHE in 16 bytes.
#[derive(Debug)]
pub struct ZbcCommands {
    /// The logical block size of each attached disk.
    blocks: Box<[Bytes]>,
}

impl ZbcCommands {
    /// Sends a command for a range of the disk. Returns the number of bytes moved, or the device's answer, in the form of
    /// [`Outcome::raw`].
    fn send(&self, file: File, command: Command, at: Place, data: CommandData) -> i64 {
        let block = self.blocks.get(file.index.get()).map_or(0, |block| block.0);
        let Some((lba, blocks)) = at.in_blocks(block) else {
            return Outcome::err(Errno::EINVAL).raw();
        };
        let Ok(cdb) = command.encode(lba, blocks, Length::Sixteen) else {
            return Outcome::err(Errno::EINVAL).raw();
        };
        let Some(fd) = borrowed(file.fd) else { return Outcome::err(Errno::EBADF).raw() };
        let outcome = match generic::execute(fd, &cdb, data) {
            Ok(bytes) => Outcome::ok(bytes),
            Err(Failure::Device(sense)) => Outcome::scsi(sense),
            Err(failure) => Outcome::err(failure.errno()),
        };
        outcome.raw()
    }
}

/// A range of the disk in bytes.
#[derive(Debug, Clone, Copy)]
struct Place {
    offset: u64,
    len: usize,
}

impl Place {
    /// The first block and the number of blocks. `None`: they are not whole blocks, or too many.
    fn in_blocks(self, block: u64) -> Option<(u64, u32)> {
        let len = self.len as u64;
        let whole = block > 0 && self.offset.is_multiple_of(block) && len.is_multiple_of(block);
        whole.then(|| Some((self.offset / block, u32::try_from(len / block).ok()?)))?
    }
}

/// `None`: there is no file.
fn borrowed<'a>(fd: RawFd) -> Option<BorrowedFd<'a>> {
    // SAFETY: a descriptor that is not -1 is that of an attached file, which stays open during the call.
    (fd >= 0).then(|| unsafe { BorrowedFd::borrow_raw(fd) })
}

impl Transfer for ZbcCommands {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(ZbcCommands { blocks: vec![Bytes::ZERO; config.files as usize].into() })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        let block = match target {
            Some(Attachment { fd: Some(fd), .. }) => ready::capacity("ioengine=libzbc", fd)?.block,
            Some(_) => return Err(EngineError::plain("ioengine=libzbc needs a zoned SCSI disk")),
            None => Bytes::ZERO,
        };
        if let Some(entry) = self.blocks.get_mut(file.get()) {
            *entry = block;
        }
        Ok(())
    }

    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        let data = unsafe { std::slice::from_raw_parts_mut(span.data, span.len) };
        let place = Place { offset: span.offset, len: span.len };
        self.send(file, Command::Read { fua: false }, place, CommandData::In(data))
    }

    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        let data = unsafe { std::slice::from_raw_parts(span.data, span.len) };
        let place = Place { offset: span.offset, len: span.len };
        self.send(file, Command::Write { fua: false }, place, CommandData::Out(data))
    }

    fn dataless(&mut self, file: File, _kind: FileKind, op: &Op) -> Outcome {
        match op.kind {
            OpKind::Fsync | OpKind::Fdatasync => {
                let all = Place { offset: 0, len: 0 };
                Outcome::from_raw(self.send(file, Command::Synchronize, all, CommandData::None))
            }
            // The zone tables of the run reset zones.
            _ => Outcome::err(Errno::EOPNOTSUPP),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fiord_plan::EnginePlan;

    use super::*;
    use crate::sync::Libzbc;
    use crate::{Engine, IoAttributes, Queued};

    fn op(kind: OpKind) -> Op {
        let attributes = IoAttributes::PLAIN;
        Op { kind, file: FileIndex(0), offset: 0, len: 512, at: 0, attributes }
    }

    #[test]
    fn places_are_whole_blocks() {
        let place = |offset, len| Place { offset, len }.in_blocks(512);
        assert_eq!(place(1024, 4096), Some((2, 8)));
        assert_eq!(place(0, 0), Some((0, 0)));
        assert_eq!(place(100, 512), None);
        assert_eq!(place(0, 100), None);
        assert_eq!(place(0, 1 << 42), None, "more blocks than a command can name");
        assert_eq!(Place { offset: 0, len: 512 }.in_blocks(0), None, "no disk");
    }

    #[test]
    fn a_device_without_scsi_commands_is_refused() {
        let config = EngineConfig::plain(EnginePlan::Libzbc, 1, 4096);
        let mut engine = Libzbc::new(&config).unwrap();
        let null = std::fs::File::open("/dev/null").unwrap();
        let target = Attachment {
            fd: Some(Arc::new(null.into())),
            kind: FileKind::Char,
            offset: Bytes::ZERO,
            len: Bytes(4096),
            read_only: true,
        };
        let error = engine.attach(FileIndex(0), &target).unwrap_err().to_string();
        assert!(error.contains("ioengine=libzbc: READ CAPACITY"), "{error}");
        assert!(error.contains("it is not a SCSI device"), "{error}");
        for (kind, errno) in [(OpKind::Read, Errno::EINVAL), (OpKind::Trim, Errno::EOPNOTSUPP)] {
            let slot = engine.take_slots().pop();
            let Some(slot) = slot else { continue };
            let Queued::Done(_, outcome) = engine.queue(slot, &op(kind)) else {
                panic!("{kind:?}")
            };
            assert_eq!(outcome, Outcome::err(errno), "{kind:?}");
        }
    }
}
