//! Engines whose I/O is one system call that returns when the I/O is done.
//!
//! [`SyncEngine`] implements everything but the call itself, which is a [`Transfer`].

pub(crate) mod e4defrag;
pub(crate) mod libzbc;
mod mapped;
pub(crate) mod mmap;
pub(crate) mod operation;
pub(crate) mod page_fault;
pub(crate) mod pmem;
pub(crate) mod psync;
pub(crate) mod pvsync;
pub(crate) mod pvsync2;
pub(crate) mod splice;
#[allow(clippy::module_inception)]
pub(crate) mod sync;
pub(crate) mod vsync;

use std::os::fd::RawFd;

use fiord_stat::engine::EngineReport;
use fiord_types::{Errno, FileIndex};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::files::AttachedFiles;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FileKind, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Want, dataless,
};

/// `ioengine=psync`.
pub type Psync = SyncEngine<psync::PsyncCalls>;

/// `ioengine=sync`.
pub type SyncRw = SyncEngine<sync::SyncCalls>;
/// `ioengine=mmap`.
pub type Mmap = SyncEngine<mmap::MmapCalls>;
/// `ioengine=libzbc`.
pub type Libzbc = SyncEngine<libzbc::ZbcCommands>;
/// `ioengine=libpmem`.
pub type Libpmem = SyncEngine<pmem::PmemCalls>;
/// `ioengine=dev-dax`.
pub type DevDax = Libpmem;
/// `ioengine=page_fault`.
pub type PageFault = SyncEngine<page_fault::PageFaultCalls>;
/// `ioengine=pvsync`.
pub type Pvsync = SyncEngine<pvsync::PvsyncCalls>;
/// `ioengine=pvsync2`.
pub type Pvsync2 = SyncEngine<pvsync2::Pvsync2Calls>;
/// `ioengine=splice`.
pub type Splice = SyncEngine<splice::SpliceCalls>;
pub use e4defrag::E4defrag;
pub use operation::{Falloc, Ftruncate};
pub use vsync::Vsync;

/// The system calls of a synchronous engine.
///
/// An implementation must not retry a call or continue a short transfer: reads and writes return
/// what the kernel returns, a byte count or a negative errno. Only one that moves blocks over a
/// stream continues them, because there the kernel chooses the pieces; it may also return
/// [`Outcome::ENDED`].
pub trait Transfer: Sized {
    /// See [`Engine::moves_position`].
    const POSITIONED: bool = false;

    /// Creates the transfer.
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

    /// See [`Engine::connect`].
    ///
    /// # Errors
    ///
    /// A peer cannot be reached.
    fn connect(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// See [`Engine::report`].
    fn report(&self) -> EngineReport {
        EngineReport::default()
    }

    /// See [`Engine::explain`].
    fn explain(&mut self) -> Option<String> {
        None
    }

    /// Reads from the file into `span`. Returns a byte count or a negative errno.
    ///
    /// # Safety
    ///
    /// `span` must be writable memory that nothing else uses.
    unsafe fn read(&mut self, file: File, span: Span) -> i64;

    /// Writes `span` to the file. Returns a byte count or a negative errno.
    ///
    /// # Safety
    ///
    /// `span` must be readable memory that nothing else changes.
    unsafe fn write(&mut self, file: File, span: Span) -> i64;

    /// Issues a trim or a sync. Returns [`Outcome::ok`] with 0 bytes if it succeeds. This implementation makes system
    /// calls on the descriptor of the file, so an engine without descriptors needs one of its own.
    fn dataless(&mut self, file: File, kind: FileKind, op: &Op) -> Outcome {
        dataless::carry_out(file.fd, kind, op)
    }
}

/// The file of an I/O.
#[derive(Debug, Clone, Copy)]
pub struct File {
    /// The file's descriptor; -1 if it has none.
    pub fd: RawFd,
    /// The file's index.
    pub index: FileIndex,
}

/// A range of memory and its position in the file.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    /// First byte in memory.
    pub data: *mut u8,
    /// Number of bytes.
    pub len: usize,
    /// First byte in the file.
    pub offset: u64,
}

/// A synchronous engine, built from a [`Transfer`]. It has one slot.
#[derive(Debug)]
pub struct SyncEngine<T> {
    transfer: T,
    buffers: Buffers,
    files: AttachedFiles,
    clock: MachineClock,
}

impl<T: Transfer> SyncEngine<T> {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The transfer cannot be created, or the buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        // One I/O at a time.
        let slots = 1 + config.spare_slots;
        Ok(SyncEngine {
            transfer: T::new(config)?,
            buffers: Buffers::new(&EngineConfig { slots, ..config.clone() })?,
            files: AttachedFiles::new(config.files),
            clock: config.clock,
        })
    }

    /// Issues a trim or a sync. A function of its own, so that its code stays out of the path of
    /// reads and writes. The op comes by value: an op whose address escapes is made in memory.
    #[cold]
    #[inline(never)]
    fn dataless(&mut self, op: Op) -> Outcome {
        let file = File { fd: self.files.fd(op.file), index: op.file };
        self.transfer.dataless(file, self.files.kind(op.file), &op)
    }
}

impl<T: Transfer> Engine for SyncEngine<T> {
    const ASYNC: bool = false;
    type Clock = MachineClock;

    fn moves_position(&self) -> bool {
        T::POSITIONED
    }

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.files.attach(file, target)?;
        self.transfer.attached(file, Some(target))
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.files.detach(file);
        self.transfer.attached(file, None)
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        self.transfer.connect()
    }

    fn report(&self, _path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        self.transfer.report()
    }

    fn explain(&mut self, _slot: &FreeSlot) -> Option<String> {
        self.transfer.explain()
    }

    slots_of_buffers!();

    #[inline(always)]
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return Queued::Done(slot, self.dataless(*op));
        }
        let Some(data) = self.buffers.span(&slot, op.at, op.len) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let file = File { fd: self.files.fd(op.file), index: op.file };
        let span = Span { data, len: op.len as usize, offset: op.offset };
        let ret = if op.kind == OpKind::Read {
            // SAFETY: `span` lies in the slot's buffer, and the token excludes other users.
            unsafe { self.transfer.read(file, span) }
        } else {
            // SAFETY: `span` lies in the slot's buffer, and the token excludes other users.
            unsafe { self.transfer.write(file, span) }
        };
        Queued::Done(slot, Outcome::from_raw(ret))
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
