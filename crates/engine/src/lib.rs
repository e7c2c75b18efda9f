//! I/O engines: each engine issues the I/Os that it is given, and reports how they ended.
//!
//! An engine decides nothing. The load (`fiord-load`) chooses offsets, sizes and bytes, the worker
//! (`fiord-run`) chooses the moment. The contract between the worker and an engine is the trait
//! [`Engine`]; [`Op`] is one I/O. Every op that an engine accepts completes exactly once: at once
//! ([`Queued::Done`]) or through [`Engine::reap`].
//!
//! # Example
//!
//! Two reads on the simulated device, which needs no file and runs on a virtual clock:
//!
//! ```
//! use fiord_engine::{
//!     Completions, Engine, EngineConfig, Op, OpKind, Outcome, Queued, Sim, IoAttributes, Time, Want,
//! };
//! use fiord_plan::EnginePlan;
//! use fiord_types::FileIndex;
//!
//! let slots = 2;
//! let config = EngineConfig::plain(EnginePlan::Sim(Default::default()), slots, 4096);
//! let mut engine = Sim::new(&config)?;
//! let start = engine.clock().now();
//!
//! for slot in engine.take_slots() {
//!     let offset = u64::from(slot.index()) * 4096;
//!     let op = Op { kind: OpKind::Read, file: FileIndex(0), offset, len: 4096, at: 0, attributes: IoAttributes::PLAIN };
//!     assert_eq!(engine.queue(slot, &op), Queued::Pending);
//! }
//!
//! let mut done = Completions::with_capacity(slots);
//! engine.reap(Want { min: 2, max: 2, timeout: None }, &mut done)?;
//! assert!(done.as_slice().iter().all(|(_, outcome)| *outcome == Outcome::ok(4096)));
//! // The default latency of the simulated device is 100 us, and it serves both ops at a time.
//! assert_eq!(engine.clock().now() - start, 100_000);
//! # Ok::<(), fiord_engine::EngineError>(())
//! ```
//!
//! | question | module |
//! |---|---|
//! | how engine X issues an I/O | the module of that engine: `null`, `sync::psync`, … |
//! | which engines exist | [`fiord_plan::for_each_engine`] |
//! | what an engine is built from | `config` |
//! | what do engines do that do no I/O | `activity` |
//! | how an engine in a library is called | `external` |
//! | what a job does to raw flash | `flash` |
//! | how engines use libraries that report completions on threads of their own | `callback` |
//! | how objects and images of Ceph are accessed | `ceph` |
//! | how files of GlusterFS are accessed | `gluster` |
//! | how a library of the system is loaded | `library` |
//! | how an engine learns that its job ends | `end` |
//! | which requests to a server get no answer | `endpoint` |
//! | how synchronous calls run on threads of their own | `offload` |
//! | how engines use libraries that work only within calls of the engine | `polled` |
//! | where the data buffers are | `buffers` |
//! | who may use a slot and its buffer | `slot` |
//! | how trims and syncs are issued | `dataless` |
//! | what a device said about a command that failed | `device_status` |

mod activity;
mod address;
mod buffers;
mod callback;
mod ceph;
mod clock;
mod config;
mod dataless;
mod device_status;
mod end;
mod endpoint;
mod error;
mod external;
mod files;
mod flags;
mod flash;
mod gluster;
mod http;
mod io_uring;
mod io_uring_cmd;
mod iscsi;
mod libaio;
#[cfg(feature = "libblkio")]
mod libblkio;
#[cfg(any(test, not(feature = "libblkio")))]
#[cfg_attr(feature = "libblkio", allow(unreachable_pub, reason = "only tests use it"))]
mod libblkio_absent;
mod library;
mod names;
mod nbd;
mod net;
mod nfs;
mod null;
mod offload;
mod polled;
mod posixaio;
mod rdma;
mod sg;
pub mod sim;
mod slot;
mod socket_calls;
mod sync;
mod syscall;
mod targets;
#[cfg(feature = "tls")]
mod tls;
#[cfg(not(feature = "tls"))]
#[path = "tls_absent.rs"]
mod tls;
mod tls_options;
mod transport;

#[cfg(not(feature = "libblkio"))]
use libblkio_absent as libblkio;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use fiord_stat::engine::EngineReport;
use fiord_sys::nvme::Status;
use fiord_sys::scsi::Sense;
use fiord_types::{Bytes, Errno, FileIndex};

pub use activity::{Cpuio, CycleEngine, Exec};
pub use buffers::Buffers;
pub use clock::MachineClock;
pub use config::EngineConfig;
pub use device_status::DeviceStatus;
pub use end::EndSignal;
pub use external::External;
pub use flash::Mtd;
pub use gluster::Gfapi;
pub use http::Http;
pub use io_uring::IoUring;
pub use io_uring_cmd::IoUringCmd;
pub use libaio::Libaio;
#[cfg(feature = "libblkio")]
pub use libblkio::Libblkio;
#[cfg(not(feature = "libblkio"))]
pub use libblkio_absent::NoLibblkio as Libblkio;
pub use names::{Names, NamesRing};
pub use nbd::Nbd;
pub use net::{Net, Netsplice};
pub use null::Null;
pub use offload::Offload;
pub use posixaio::PosixAio;
pub use rdma::Rdma;
pub use sg::Sg;
pub use sim::Sim;
pub use slot::{Completions, FreeSlot, HeldSlot};
pub use sync::{
    DevDax, E4defrag, Falloc, Ftruncate, Libpmem, Libzbc, Mmap, PageFault, Psync, Pvsync, Pvsync2,
    Splice, SyncRw, Vsync,
};
pub use targets::Targets;

/// The `rados` engine.
pub type Rados = callback::Callbacks<ceph::RadosClient>;
/// The `rbd` engine.
pub type Rbd = callback::Callbacks<ceph::RbdClient>;
/// The `nfs` engine.
pub type Nfs = polled::Polled<nfs::NfsClient>;
/// The `libiscsi` engine.
pub type Libiscsi = polled::Polled<iscsi::IscsiClient>;
/// The `gfapi_async` engine.
pub type GfapiAsync = callback::Callbacks<gluster::GfapiClient>;

pub use fiord_plan::{FileKind, IoAttributes, TrimRange, WriteCommand};

/// Index of one I/O unit of a job, `0 .. iodepth`. A slot owns one data buffer and has at most one
/// op in flight. The right to use it is a [`FreeSlot`].
pub type Slot = u32;

/// The operation that an [`Op`] performs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpKind {
    /// Reads from the file into the slot's buffer.
    Read,
    /// Writes the slot's buffer to the file.
    Write,
    /// Deallocates the range. Transfers no data.
    Trim,
    /// `fsync(2)`. Transfers no data; `offset` and `len` are 0.
    Fsync,
    /// `fdatasync(2)`. Transfers no data; `offset` and `len` are 0.
    Fdatasync,
    /// `sync_file_range(2)` over `offset .. offset + len` with these flags. Transfers no data.
    SyncFileRange(u32),
}

impl OpKind {
    /// Whether the operation transfers the data of the slot's buffer.
    #[inline(always)]
    #[must_use]
    pub const fn moves_data(self) -> bool {
        matches!(self, OpKind::Read | OpKind::Write)
    }
}

/// One I/O, as the worker hands it to an engine.
///
/// An op holds no pointer: the data are in the buffer of the slot that it is queued on. An engine
/// must not touch that buffer for a kind that transfers no data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    pub kind: OpKind,
    /// Index under which the file was attached ([`Engine::attach`]).
    pub file: FileIndex,
    /// First byte in the file.
    pub offset: u64,
    /// Number of bytes.
    pub len: u32,
    /// First byte of the data in the slot's buffer. It is 0 unless the op transfers the rest after
    /// a short transfer.
    pub at: u32,
    /// Priority, placement and kind of write command. An engine ignores the attributes that it does
    /// not support: the plan refuses a job that needs them on such an engine.
    pub attributes: IoAttributes,
}

/// Result of an op: a number of bytes, an errno, or a status of the device.
///
/// A sync or a trim that succeeds transfers 0 bytes. A short transfer is a success with fewer bytes
/// than [`Op::len`]; the worker queues the rest. At the end of a file a read transfers 0 bytes.
///
/// Representation: a byte count is not negative, an errno is a small negative number, and a device
/// status is negative with its type in the bits from 32 on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Outcome(i64);

impl Outcome {
    /// Success: `bytes` were transferred.
    #[inline]
    #[must_use]
    pub const fn ok(bytes: u32) -> Self {
        Outcome(bytes as i64)
    }
    /// Success of an I/O for which the engine did nothing: it counts, and has no latency, like the second I/O on a
    /// file that the engine creates.
    #[inline]
    #[must_use]
    pub const fn uncounted(bytes: u32) -> Self {
        Outcome(Self::UNCOUNTED | bytes as i64)
    }
    /// Whether the engine did nothing for this I/O ([`Outcome::uncounted`]).
    #[inline]
    #[must_use]
    pub const fn is_uncounted(self) -> bool {
        self.0 > 0 && self.0 & Self::UNCOUNTED != 0
    }
    /// Failure with this errno.
    #[inline]
    #[must_use]
    pub const fn err(errno: Errno) -> Self {
        Outcome(-(errno.raw() as i64))
    }
    /// The device failed the command with this NVMe status: the status field of the completion
    /// queue entry without the phase tag.
    #[inline]
    #[must_use]
    pub const fn nvme(status: u16) -> Self {
        Outcome(-(Self::NVME << 32 | status as i64))
    }
    /// The device failed the command with this SCSI sense data. [`Outcome::get`] reports `EIO`, as
    /// the kernel does for such a failure.
    #[inline]
    #[must_use]
    pub const fn scsi(sense: Sense) -> Self {
        Outcome(-((((sense.bits() as i64) << 8) | Self::SCSI) << 32 | Errno::EIO.raw() as i64))
    }
    /// Converts the return value of the kernel: a byte count, or a negative errno.
    #[inline]
    #[must_use]
    pub const fn from_raw(result: i64) -> Self {
        Outcome(result)
    }
    /// Number of bytes transferred.
    ///
    /// # Errors
    ///
    /// The errno. For an NVMe status it is the number of the status, because fio
    /// reports that number.
    #[inline]
    pub const fn get(self) -> Result<u32, Errno> {
        if self.0 >= 0 { Ok(self.0 as u32) } else { Err(Errno::from_raw(-self.0 as i32)) }
    }
    /// The status that the device reported, if the device failed the op.
    #[must_use]
    pub const fn device_status(self) -> Option<DeviceStatus> {
        let above = self.0.wrapping_neg() >> 32;
        match above & 0xff {
            Self::NVME => Some(DeviceStatus::Nvme(Status(self.0.wrapping_neg() as u16))),
            Self::SCSI => Some(DeviceStatus::Scsi(Sense::from_bits((above >> 8) as u32))),
            _ => None,
        }
    }
    /// Bit of a success without latency.
    const UNCOUNTED: i64 = 1 << 40;
    /// The op did not take place, and nothing failed: its stream has ended, or the job must stop.
    /// [`Outcome::get`] reports `ECANCELED`. The job ends without an error.
    pub const ENDED: Outcome = Outcome(-(Self::END << 32 | Errno::ECANCELED.raw() as i64));
    /// The number that represents the outcome, for [`Outcome::from_raw`].
    #[inline]
    #[must_use]
    pub const fn raw(self) -> i64 {
        self.0
    }
    /// Type of an NVMe status.
    const NVME: i64 = 1;
    /// Type of SCSI sense data, which are stored above the type.
    const SCSI: i64 = 2;
    /// Type of [`Outcome::ENDED`].
    const END: i64 = 3;
}

/// Answer of [`Engine::queue`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "the slot in it is lost"]
pub enum Queued {
    /// The op has completed with this outcome. [`Engine::reap`] must not return it again.
    Done(FreeSlot, Outcome),
    /// The engine accepted the op. [`Engine::reap`] returns its slot exactly once.
    Pending,
    /// The engine did not accept the op and holds nothing of it.
    ///
    /// This is not an error. The worker flushes or reaps and then queues the op again. An engine
    /// must not answer `Full` when no op is pending, because the worker would wait for a completion
    /// that never comes.
    Full(FreeSlot),
}

/// How many completions [`Engine::reap`] returns, and how long it waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Want {
    /// Wait for this many completions. 0: return what has completed and do not wait.
    pub min: u32,
    /// Return at most this many completions.
    pub max: u32,
    /// Wait at most this long, in nanoseconds of the engine's clock. `None`: no limit.
    pub timeout: Option<u64>,
}

/// An open file or device, as an engine sees it.
#[derive(Debug, Clone)]
pub struct Attachment {
    /// The file descriptor. An engine may keep a clone while the file is attached. `None` for
    /// engines that use no file.
    pub fd: Option<Arc<OwnedFd>>,
    /// Type of the file.
    pub kind: FileKind,
    /// First byte of the region that the job uses.
    pub offset: Bytes,
    /// Length of the region that the job uses.
    pub len: Bytes,
    /// The file is open without write access.
    pub read_only: bool,
}

/// Failure that ends the job. A single I/O that fails is an [`Outcome`], not an `EngineError`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", error::after(.help.as_deref()))]
pub struct EngineError {
    /// One sentence that says what failed and why: the system call, the text of the errno and its
    /// name.
    pub what: String,
    /// What the user can do. A remedy starts with "To fix:" and names the kernel version that is
    /// needed or the option to drop.
    pub help: Option<String>,
    /// The errno; `None` if no system call failed.
    pub errno: Option<Errno>,
}

/// Clock that times the I/Os of an engine: a clock of the machine for engines that do real I/O, a
/// virtual clock for `sim`.
///
/// All times of a job (due times, latencies, timeouts) are nanoseconds of this one clock. A
/// reading must be cheap, because the worker reads the clock on the path of every I/O.
///
/// ```
/// use fiord_engine::{Engine, EngineConfig, Sim, Time};
/// use fiord_plan::EnginePlan;
///
/// let config = EngineConfig::plain(EnginePlan::Sim(Default::default()), 1, 4096);
/// let clock = Sim::new(&config)?.clock();
/// let start = clock.now();
/// // The virtual clock jumps ahead: the test does not wait for an hour.
/// clock.sleep_until(start + 3_600_000_000_000);
/// assert_eq!(clock.now() - start, 3_600_000_000_000);
/// # Ok::<(), fiord_engine::EngineError>(())
/// ```
pub trait Time: Clone {
    /// Nanoseconds since an arbitrary start. Must not go backwards: latencies are differences of
    /// two readings.
    fn now(&self) -> u64;
    /// Sleeps until the time `when`, or returns immediately if `when` has passed. May return early
    /// when a signal arrives. A virtual clock must advance to `when`, because it moves only when
    /// something waits for it.
    fn sleep_until(&self, when: u64);
}

/// Issues the I/Os of one job.
///
/// An engine serves one worker thread, which creates it, drives it and drops it. The worker calls
/// [`queue`](Self::queue), [`flush`](Self::flush) and [`reap`](Self::reap) for every I/O or batch of
/// I/Os, so these should not allocate memory, take locks or format text: their cost is part of every
/// latency that the user measures.
///
/// The engine owns the data buffers, one per slot, so that it can register them with the kernel. The
/// right to use a slot is a token, [`FreeSlot`]: the worker has it while the slot is free, the engine
/// has it while the slot's op is in flight.
///
/// # What an implementation must guarantee
///
/// - Every op that it accepts completes exactly once: [`queue`](Self::queue) answers
///   [`Queued::Done`], or answers [`Queued::Pending`] and [`reap`](Self::reap) returns the slot later.
///   The statistics and the queue depth of a job rely on it. An op that cannot be submitted completes
///   with an errno; it must not disappear.
/// - An I/O that fails is an [`Outcome`], never an [`EngineError`]. The worker decides whether the job
///   continues (`continue_on_error`). An `EngineError` ends the job.
/// - It does not retry, split, merge, reorder or skip an I/O, unless an option asks for it or the
///   documentation of the engine says so: the user measures the I/Os that the job describes.
/// - It does not touch the buffer of a slot without an op in flight. The worker fills the buffer of a
///   write before it queues the op, and verifies the buffer of a read after it reaped the op.
/// - It returns the token of a slot when the kernel is done with the slot's buffer, and not earlier.
/// - When it is dropped, the kernel and the device are done with all buffers before their memory is
///   freed. If the engine cannot make sure of that, it must leak the memory; [`close`](Self::close)
///   reports it.
/// - If the kernel lacks something that the job needs, the constructor or
///   [`attach`](Self::attach) says so before the first I/O wherever the engine can find out. The
///   `EngineError` names the system call, the kernel version that is needed and the option to drop.
///
/// `tests/every_engine.rs` runs one body of tests on every engine; `tests/exactly_once.rs` makes random
/// calls and checks the first point.
///
/// # Example
///
/// Code that works on any engine: it reads one block.
///
/// ```
/// use fiord_engine::{
///     Completions, Engine, EngineConfig, EngineError, IoAttributes, Null, Op, OpKind, Outcome, Queued, Sim, Want,
/// };
/// use fiord_plan::EnginePlan;
/// use fiord_types::FileIndex;
///
/// fn read_block<E: Engine>(engine: &mut E) -> Result<Outcome, EngineError> {
///     let slot = engine.take_slots().pop().expect("a new engine has free slots");
///     let op = Op {
///         kind: OpKind::Read,
///         file: FileIndex(0),
///         offset: 8192,
///         len: 4096,
///         at: 0,
///         attributes: IoAttributes::PLAIN,
///     };
///     match engine.queue(slot, &op) {
///         Queued::Done(_slot, outcome) => Ok(outcome),
///         Queued::Pending => {
///             let mut done = Completions::with_capacity(1);
///             engine.reap(Want { min: 1, max: 1, timeout: None }, &mut done)?;
///             Ok(done.as_slice()[0].1)
///         }
///         Queued::Full(_slot) => unreachable!("no op is in flight"),
///     }
/// }
///
/// let mut sim = Sim::new(&EngineConfig::plain(EnginePlan::Sim(Default::default()), 1, 4096))?;
/// assert_eq!(read_block(&mut sim)?, Outcome::ok(4096));
/// let mut null = Null::new(&EngineConfig::plain(EnginePlan::Null, 1, 4096))?;
/// assert_eq!(read_block(&mut null)?, Outcome::ok(4096));
/// # Ok::<(), EngineError>(())
/// ```
pub trait Engine {
    /// Whether an op can be pending. `false` means that [`queue`](Self::queue) always answers
    /// [`Queued::Done`]; [`flush`](Self::flush) and [`reap`](Self::reap) then do nothing, and the
    /// worker runs a shorter loop.
    const ASYNC: bool;
    /// Whether [`completes_at_once`](Self::completes_at_once) can return `true` although `ASYNC` is
    /// `true`: the engine decides at construction.
    const SOMETIMES_AT_ONCE: bool = false;
    /// Whether ops take no time, so that a job measures the loop of the worker. The loop then skips work that is negligible
    /// for other engines.
    const INSTANT: bool = false;
    type Clock: Time;

    /// Whether the engine's system calls use and move the file position. Two such engines must not
    /// share an open file, because each would move the position of the other.
    fn moves_position(&self) -> bool {
        false
    }

    /// Whether this instance answers [`Queued::Done`] to every op.
    fn completes_at_once(&self) -> bool {
        !Self::ASYNC
    }
    /// The clock that times the I/Os of this engine.
    fn clock(&self) -> Self::Clock;
    /// Makes a file known under the index `file`, which ops then use. The index is less than
    /// [`EngineConfig::files`].
    ///
    /// # Errors
    ///
    /// The engine cannot do the job's I/O on this file.
    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError>;
    /// Meets the peers of the attached files: connects to them, or waits for them. Called once, when
    /// all jobs that start together are ready and before the first op, so that what this takes is not
    /// measured. Returns early without an error when the job must stop ([`EngineConfig::end`]).
    ///
    /// # Errors
    ///
    /// A peer cannot be reached.
    fn connect(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
    /// What the engine counted beside the I/Os. Called after [`close`](Self::close). `path` returns the path of a file.
    fn report(&self, _path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        EngineReport::default()
    }
    /// Removes a file. The caller makes sure that no op on it is in flight.
    ///
    /// # Errors
    ///
    /// The kernel or the device refused to release the file.
    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError>;
    /// Hands out the slots, in the order of their indices. Only the first call returns slots. An
    /// engine that never has an op pending has one slot.
    fn take_slots(&mut self) -> Vec<FreeSlot>;
    /// The data buffer of a slot, [`EngineConfig::buffer_bytes`] long. After a read it contains the
    /// bytes that were read.
    ///
    /// # Panics
    ///
    /// If the slot belongs to another engine.
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8];
    /// Makes the slot's buffer readable for other threads until the slot is released.
    ///
    /// # Panics
    ///
    /// If the slot belongs to another engine.
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot;
    /// Details of a failure that the engine itself detected, such as wrong protection information;
    /// `None` if the kernel or the device reported the failure. The worker asks after an op of this
    /// slot failed and before it queues the next one on the slot.
    fn explain(&mut self, _slot: &FreeSlot) -> Option<String> {
        None
    }
    /// Sets the ranges of the next op on this slot, a trim of several ranges (`num_range`). The
    /// plan refuses such a job on an engine that does not implement this.
    fn ranges(&mut self, _slot: &FreeSlot, _ranges: &[TrimRange]) {}
    /// Accepts an op, or carries it out.
    ///
    /// The caller makes sure that the file is attached. An engine whose `ASYNC` is `true` should
    /// collect reads and writes here and submit them in [`flush`](Self::flush), so that one system
    /// call submits a batch. A data range outside the slot's buffer is `EINVAL`.
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued;
    /// Submits all pending ops, with one system call where the interface allows it. Returns the
    /// number of ops that it submitted.
    ///
    /// # Errors
    ///
    /// The job cannot continue. If the kernel refuses a single op, the call succeeds, and the op completes with an
    /// errno.
    fn flush(&mut self) -> Result<u32, EngineError>;
    /// Appends completions to `done`, which has room for all slots.
    ///
    /// The engine first submits the pending ops that were not flushed, in the same system call as
    /// the wait if the interface allows it. It waits until `want.min` completions are there, or
    /// `want.timeout` has passed, or a signal arrives; it must not wait for more ops than are in
    /// flight. Returning early is not an error. It returns at most `want.max` completions, except
    /// where one command carries several ops, which all end with it.
    ///
    /// # Errors
    ///
    /// The job cannot continue. If a single I/O fails, the call succeeds.
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError>;
    /// Ends the use of the engine: waits until the kernel and the device are done with all buffers.
    /// The slots of ops in flight are lost. An engine that is dropped does the same.
    ///
    /// # Errors
    ///
    /// The kernel may still use the buffers, so their memory stays allocated until the process ends.
    fn close(&mut self) -> Result<(), EngineError> {
        Ok(())
    }
}
