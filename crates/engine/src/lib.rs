//! I/O engines: they do what they are told, one module an engine. What to do and when is decided
//! elsewhere.
//!
//! The contract is [`Engine`]; [`Op`] is one I/O. Every op that an engine accepts completes exactly
//! once, either at once ([`Queued::Done`]) or through [`Engine::reap`].

//!
//! | question | module |
//! |---|---|
//! | how does engine X issue an I/O | its own module: `null`, `sync::psync`, … |
//! | what does an engine need to be built | `config` |
//! | how do synchronous calls run on threads of their own | `offload` |
//! | where do the buffers lie | `buffers` |
//! | how is a trim or an fsync done | `dataless` |

mod buffers;
mod clock;
mod config;
mod dataless;
mod error;
mod files;
mod flags;
mod io_uring;
mod io_uring_cmd;
mod libaio;
mod null;
mod offload;
mod sg;
pub mod sim;
mod sync;
mod syscall;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use fiord_sys::nvme::Status;
use fiord_sys::scsi::Sense;

pub use clock::MachineClock;
pub use config::EngineConfig;
pub use io_uring::IoUring;
pub use io_uring_cmd::IoUringCmd;
pub use libaio::Libaio;
pub use null::Null;
pub use offload::Offload;
pub use sg::Sg;
pub use sim::Sim;
pub use sync::{Mmap, Psync, Pvsync, Pvsync2, SyncRw, Vsync};

pub use fiord_plan::{FileKind, Tag, TrimRange, WriteForm};

/// Names one of the job's I/O units, `0 .. depth`. A slot has one buffer and at most one op in flight.
pub type Slot = u32;

/// What an op does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Into the slot's buffer.
    Read,
    /// From the slot's buffer.
    Write,
    /// Deallocate. Carries no data.
    Trim,
    /// `fsync(2)`. Carries no data, `offset` and `len` are 0.
    Fsync,
    /// `fdatasync(2)`. As `Fsync`.
    Fdatasync,
    /// `sync_file_range(2)` over `offset .. offset + len` with these flags. Carries no data.
    SyncFileRange(u32),
}

/// One I/O. It has no pointer: data lives in the slot's buffer, and kinds that carry no data touch none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// What to do.
    pub kind: OpKind,
    /// Index of the attached file.
    pub file: u32,
    /// Byte offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Where in the slot's buffer the data begins (not 0 only for the rest of a short transfer).
    pub at: u32,
    /// What it carries beside its place: engines that know nothing of a part pass over it, the plan
    /// has seen to it that none is asked for there.
    pub tag: Tag,
}

/// How an op ended: bytes transferred (0 for syncs and trims that worked), an errno, or what the
/// device said.
///
/// One number: counts are not negative; errnos are negative and small; a device's status is negative
/// with its kind above bit 32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Outcome(i64);

impl Outcome {
    /// It worked.
    #[inline]
    pub const fn ok(bytes: u32) -> Self {
        Outcome(bytes as i64)
    }
    /// It failed with this (positive) errno.
    #[inline]
    pub const fn err(errno: i32) -> Self {
        Outcome(-(errno as i64))
    }
    /// The device failed it with this NVMe status (the status field of the completion above its
    /// phase tag).
    #[inline]
    pub const fn nvme(status: u16) -> Self {
        Outcome(-(Self::NVME << 32 | status as i64))
    }
    /// The device failed it with these sense data: an `EIO`, as the kernel would make of it.
    #[inline]
    pub const fn scsi(sense: Sense) -> Self {
        Outcome(-((((sense.bits() as i64) << 8) | Self::SCSI) << 32 | libc::EIO as i64))
    }
    /// From what the kernel returns: a count, or a negative errno.
    #[inline]
    pub const fn from_raw(result: i64) -> Self {
        Outcome(result)
    }
    /// Bytes, or a positive errno. A device's status stands for one, as fio has it in its reports.
    #[inline]
    pub const fn get(self) -> Result<u32, i32> {
        if self.0 >= 0 { Ok(self.0 as u32) } else { Err(-self.0 as i32) }
    }
    /// What the device said, if that is why it failed.
    pub const fn device_status(self) -> Option<DeviceStatus> {
        let above = self.0.wrapping_neg() >> 32;
        match above & 0xff {
            Self::NVME => Some(DeviceStatus::Nvme(Status(self.0.wrapping_neg() as u16))),
            Self::SCSI => Some(DeviceStatus::Scsi(Sense::from_bits((above >> 8) as u32))),
            _ => None,
        }
    }
    /// The kind of an NVMe status.
    const NVME: i64 = 1;
    /// The kind of sense data, which stand above it.
    const SCSI: i64 = 2;
}

/// What a device said of a command that it did not carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceStatus {
    /// A status of NVMe.
    Nvme(Status),
    /// Sense data of SCSI.
    Scsi(Sense),
}

impl DeviceStatus {
    /// Whether it is about the blocks of this one command, so that others may work.
    pub const fn is_about_these_blocks(self) -> bool {
        match self {
            DeviceStatus::Nvme(status) => status.is_about_these_blocks(),
            DeviceStatus::Scsi(sense) => sense.is_about_these_blocks(),
        }
    }
    /// Whether the device had no room.
    pub const fn is_full(self) -> bool {
        match self {
            DeviceStatus::Nvme(status) => status.is_full(),
            DeviceStatus::Scsi(sense) => sense.is_full(),
        }
    }
    /// What may have been the cause, where that is well known; else empty.
    pub fn advice(self) -> &'static str {
        match self {
            DeviceStatus::Nvme(status) => status.advice(),
            DeviceStatus::Scsi(sense) => sense.advice(),
        }
    }
}

impl std::fmt::Display for DeviceStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceStatus::Nvme(status) => status.fmt(f),
            DeviceStatus::Scsi(sense) => sense.fmt(f),
        }
    }
}

/// What became of an op that was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queued {
    /// It has already ended; it will not be reaped.
    Done(Outcome),
    /// It will be reaped.
    Pending,
    /// No room: nothing was taken. Flush or reap, then queue it again. Not an error.
    Full,
}

/// How many completions a [`Engine::reap`] is to wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// Wait until there are this many (0: only look).
    pub min: u32,
    /// Take no more than this.
    pub max: u32,
    /// Wait no longer than this, in ns of the engine's clock. `None`: as long as it takes.
    pub timeout: Option<u64>,
}

/// Completions of one reap; holds as many as there are slots and never grows.
#[derive(Debug)]
pub struct Completions {
    list: Vec<(Slot, Outcome)>,
}

impl Completions {
    /// For this many slots.
    pub fn with_capacity(depth: u32) -> Self {
        Completions { list: Vec::with_capacity(depth as usize) }
    }
    /// Adds one. The caller never adds more than the capacity.
    #[inline]
    pub fn push(&mut self, slot: Slot, outcome: Outcome) {
        debug_assert!(self.list.len() < self.list.capacity());
        self.list.push((slot, outcome));
    }
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.list.len()
    }
    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Forgets them.
    #[inline]
    pub fn clear(&mut self) {
        self.list.clear();
    }
    /// All of them, in the order in which they completed.
    #[inline]
    pub fn as_slice(&self) -> &[(Slot, Outcome)] {
        &self.list
    }
}

/// An open file or device as an engine sees it.
#[derive(Debug, Clone)]
pub struct Target {
    /// The descriptor; engines may keep a clone while the file is attached. `None` for engines that
    /// touch no file.
    pub fd: Option<Arc<OwnedFd>>,
    /// What it is.
    pub kind: FileKind,
    /// First byte in use.
    pub offset: u64,
    /// Bytes in use.
    pub len: u64,
    /// Opened without write access.
    pub read_only: bool,
}

/// Why an engine cannot go on: not an I/O error (those are [`Outcome`]s).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", .help.as_ref().map_or(String::new(), |help| format!("; {help}")))]
pub struct EngineError {
    /// What failed and why, one sentence: the call, the errno's name and text.
    pub what: String,
    /// What to do about it: the kernel version needed, the option to drop.
    pub help: Option<String>,
    /// The errno, 0 if there is none.
    pub errno: i32,
}

/// The time an engine's I/Os happen in: the machine's for real engines, virtual for `sim`.
pub trait Time: Clone {
    /// Nanoseconds since an arbitrary start; never goes back.
    fn now(&self) -> u64;
    /// Returns at or shortly after this time.
    fn sleep_until(&self, when: u64);
}

/// What carries out I/Os for one job on one thread.
///
/// Buffers belong to the engine, one a slot, so that it can register them with the kernel.
pub trait Engine {
    /// Whether ops can be pending: false when `queue` always answers `Done`.
    const ASYNC: bool;
    /// Whether [`completes_at_once`](Self::completes_at_once) may be true though `ASYNC` is too.
    const SOMETIMES_AT_ONCE: bool = false;
    /// Whether its calls move the file's position: two such engines must not share an open file.
    const POSITIONED: bool = false;
    /// Its time.
    type Clock: Time;

    /// Whether this very engine, as it was made, completes every op in `queue`.
    fn completes_at_once(&self) -> bool {
        !Self::ASYNC
    }
    /// The clock that its I/Os are timed by.
    fn clock(&self) -> Self::Clock;
    /// Makes a file known under an index below the number given at construction.
    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError>;
    /// Forgets it. No op on it may be in flight.
    fn detach(&mut self, file: u32) -> Result<(), EngineError>;
    /// A slot's buffer. The slot must have no op in flight.
    fn buffer(&mut self, slot: Slot) -> &mut [u8];
    /// What there is to say, beside its outcome, of the slot's op that has just failed, where it was the
    /// engine and not the kernel or the device that found something wrong. To be asked before the slot has
    /// another op.
    fn explain(&mut self, _slot: Slot) -> Option<String> {
        None
    }
    /// The ranges of the slot's next op, a trim that has several (`num_range`). The plan has seen to
    /// it that only engines which know of ranges are told.
    fn ranges(&mut self, _slot: Slot, _ranges: &[TrimRange]) {}
    /// Takes an op, or carries it out.
    fn queue(&mut self, slot: Slot, op: &Op) -> Queued;
    /// Makes everything pending visible to the kernel, in one system call where it can. Returns how
    /// many ops that were.
    fn flush(&mut self) -> Result<u32, EngineError>;
    /// Takes completions. Pending ops that were not flushed yet are, in the same system call as the
    /// wait where the engine can. An interrupted wait returns early, which is no error.
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError>;
}
