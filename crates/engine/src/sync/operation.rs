//! Engines whose I/O is one system call that moves no data, such as `fallocate(2)`.
//!
//! [`OperationEngine`] implements everything but the call itself, which is an [`Operation`].

use fiord_types::{Bytes, FileIndex};

use super::File;
use crate::buffers::{Buffers, slots_of_buffers};
use crate::error::raw_result;
use crate::files::AttachedFiles;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FileKind, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Want, dataless,
};

/// `ioengine=falloc`.
pub type Falloc = OperationEngine<FallocCalls>;
/// `ioengine=ftruncate`.
pub type Ftruncate = OperationEngine<FtruncateCalls>;

/// The system call of an engine that moves no data.
pub trait Operation: Sized {
    /// Creates the operation.
    ///
    /// # Errors
    ///
    /// The kernel or the options rule it out.
    fn new(config: &EngineConfig) -> Result<Self, EngineError>;

    /// Called when a file was attached under this index, or detached (`None`).
    ///
    /// # Errors
    ///
    /// The system call cannot work on this file.
    fn attached(
        &mut self,
        _file: FileIndex,
        _target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        Ok(())
    }

    /// Carries out a read, write or trim.
    fn issue(&mut self, file: File, op: &Op) -> Outcome;

    /// Carries out a sync.
    fn sync(&mut self, file: File, kind: FileKind, op: &Op) -> Outcome {
        dataless::carry_out(file.fd, kind, op)
    }

    /// See [`Engine::explain`].
    fn explain(&mut self) -> Option<String> {
        None
    }
}

/// A synchronous engine that moves no data, built from an [`Operation`]. It has one slot, whose buffer is empty.
#[derive(Debug)]
pub struct OperationEngine<T> {
    operation: T,
    buffers: Buffers,
    files: AttachedFiles,
    clock: MachineClock,
}

impl<T: Operation> OperationEngine<T> {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The operation cannot be created, or the slots cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let slots = 1 + config.spare_slots;
        let config = EngineConfig { slots, buffer_bytes: Bytes::ZERO, ..config.clone() };
        Ok(OperationEngine {
            operation: T::new(&config)?,
            buffers: Buffers::new(&config)?,
            files: AttachedFiles::new(config.files),
            clock: config.clock,
        })
    }
}

impl<T: Operation> Engine for OperationEngine<T> {
    const ASYNC: bool = false;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.files.attach(file, target)?;
        self.operation.attached(file, Some(target))
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.files.detach(file);
        self.operation.attached(file, None)
    }

    slots_of_buffers!();

    fn explain(&mut self, _slot: &FreeSlot) -> Option<String> {
        self.operation.explain()
    }

    #[inline]
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let file = File { fd: self.files.fd(op.file), index: op.file };
        let outcome = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Trim => self.operation.issue(file, op),
            _ => self.operation.sync(file, self.files.kind(op.file), op),
        };
        Queued::Done(slot, outcome)
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    #[inline]
    fn reap(&mut self, _want: Want, _done: &mut Completions) -> Result<(), EngineError> {
        Ok(())
    }
}

/// `falloc`: reads reserve space and keep the size of the file, writes extend the file, trims punch holes.
#[derive(Debug)]
pub struct FallocCalls;

impl Operation for FallocCalls {
    fn new(_config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(FallocCalls)
    }

    fn attached(
        &mut self,
        _file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        only("falloc", "`fallocate(2)`", target, &[FileKind::Regular, FileKind::Block])
    }

    fn issue(&mut self, file: File, op: &Op) -> Outcome {
        let mode = match op.kind {
            OpKind::Read => libc::FALLOC_FL_KEEP_SIZE,
            OpKind::Write => 0,
            _ => libc::FALLOC_FL_KEEP_SIZE | libc::FALLOC_FL_PUNCH_HOLE,
        };
        // SAFETY: the call takes no pointers.
        let ret = unsafe { libc::fallocate(file.fd, mode, op.offset as i64, i64::from(op.len)) };
        moved_nothing(ret, op)
    }
}

/// `ftruncate`: each write sets the size of the file to its offset.
#[derive(Debug)]
pub struct FtruncateCalls;

impl Operation for FtruncateCalls {
    fn new(_config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(FtruncateCalls)
    }

    fn attached(
        &mut self,
        _file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        only("ftruncate", "`ftruncate(2)`", target, &[FileKind::Regular])
    }

    fn issue(&mut self, file: File, op: &Op) -> Outcome {
        // SAFETY: the call takes no pointers.
        let ret = unsafe { libc::ftruncate(file.fd, op.offset as i64) };
        moved_nothing(ret, op)
    }
}

/// The outcome of a call that moved no data. As in fio, the I/O counts with its full length.
pub(crate) fn moved_nothing(ret: i32, op: &Op) -> Outcome {
    match raw_result(i64::from(ret)) {
        0 if op.kind == OpKind::Trim => Outcome::ok(0),
        0 => Outcome::ok(op.len),
        errno => Outcome::from_raw(errno),
    }
}

/// Refuses a file of a kind on which the system call does not work.
fn only(
    engine: &str,
    call: &str,
    target: Option<&Attachment>,
    kinds: &[FileKind],
) -> Result<(), EngineError> {
    let Some(target) = target.filter(|target| !kinds.contains(&target.kind)) else { return Ok(()) };
    let is = match target.kind {
        FileKind::Block => "a block device",
        FileKind::Char => "a character device",
        _ => "not a file with a size",
    };
    let works = match kinds.contains(&FileKind::Block) {
        true => "regular files and block devices",
        false => "regular files",
    };
    let what = format!("ioengine={engine}: {call} works on {works}, and this is {is}");
    Err(EngineError::plain(what).help("To fix: name a regular file"))
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::fs::MetadataExt;
    use std::sync::Arc;

    use fiord_plan::{EnginePlan, IoAttributes};

    use super::*;

    fn run<T: Operation>(plan: EnginePlan, ops: &[(OpKind, u64, u32)]) -> (u64, u64, Vec<Outcome>) {
        let path = std::env::temp_dir().join(format!("fiord-{}-{ops:?}", std::process::id()));
        let path = path.with_extension(plan.def().name);
        let mut options = std::fs::File::options();
        let file = options.create(true).truncate(true).read(true).write(true).open(&path).unwrap();
        let fd = OwnedFd::from(file.try_clone().unwrap());
        let mut engine = OperationEngine::<T>::new(&EngineConfig::plain(plan, 1, 0)).unwrap();
        let target = Attachment {
            fd: Some(Arc::new(fd)),
            kind: FileKind::Regular,
            offset: Bytes::ZERO,
            len: Bytes(1 << 20),
            read_only: false,
        };
        engine.attach(FileIndex(0), &target).unwrap();
        let mut slot = engine.take_slots().pop().unwrap();
        let mut outcomes = Vec::new();
        for &(kind, offset, len) in ops {
            let attributes = IoAttributes::PLAIN;
            let op = Op { kind, file: FileIndex(0), offset, len, at: 0, attributes };
            let Queued::Done(back, outcome) = engine.queue(slot, &op) else { panic!() };
            slot = back;
            outcomes.push(outcome);
        }
        let now = file.metadata().unwrap();
        std::fs::remove_file(path).unwrap();
        (now.len(), now.blocks(), outcomes)
    }

    #[test]
    fn falloc_reserves_extends_and_punches() {
        let falloc = |ops: &[_]| run::<FallocCalls>(EnginePlan::Falloc, ops);
        let (size, blocks, outcomes) = falloc(&[(OpKind::Read, 0, 65536)]);
        assert!(size == 0 && blocks >= 128, "{size} {blocks}");
        assert_eq!(outcomes, [Outcome::ok(65536)]);
        let (size, blocks, _) = falloc(&[(OpKind::Write, 65536, 65536)]);
        assert!(size == 131_072 && blocks >= 128, "{size} {blocks}");
        let trimmed = falloc(&[(OpKind::Write, 0, 65536), (OpKind::Trim, 0, 65536)]);
        assert_eq!(trimmed, (65536, 0, vec![Outcome::ok(65536), Outcome::ok(0)]));
    }

    #[test]
    fn ftruncate_sets_the_size_to_the_offset() {
        let ops = [(OpKind::Write, 81_920, 4096), (OpKind::Fsync, 0, 0), (OpKind::Write, 8192, 1)];
        let (size, blocks, outcomes) = run::<FtruncateCalls>(EnginePlan::Ftruncate, &ops);
        assert_eq!((size, blocks), (8192, 0));
        assert_eq!(outcomes, [Outcome::ok(4096), Outcome::ok(0), Outcome::ok(1)]);
    }

    #[test]
    fn other_kinds_of_files_are_refused() {
        let attach = |kind| {
            let target = Attachment {
                fd: None,
                kind,
                offset: Bytes::ZERO,
                len: Bytes(4096),
                read_only: false,
            };
            let config = EngineConfig::plain(EnginePlan::Ftruncate, 1, 0);
            let mut engine = Ftruncate::new(&config).unwrap();
            engine.attach(FileIndex(0), &target).map_err(|error| error.to_string())
        };
        let error = attach(FileKind::Block).unwrap_err();
        assert!(
            error.starts_with("ioengine=ftruncate: `ftruncate(2)` works on regular"),
            "{error}"
        );
        assert_eq!(attach(FileKind::Regular), Ok(()));
    }
}
