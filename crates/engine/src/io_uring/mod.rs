//! `io_uring`: submissions and completions in rings shared with the kernel.
//!
//! One `io_uring_enter(2)` submits all queued ops and waits; the engine takes completions from the
//! ring in memory. Only the thread that created an engine may use it.

pub(crate) mod abi;
pub(crate) mod driver;
mod entry;
pub(crate) mod extras;
pub(crate) mod registered;
pub(crate) mod ring;
mod setup;

use fiord_plan::IoUringPlan;
use fiord_stat::engine::EngineReport;
use fiord_types::{Errno, FileIndex};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::flags::{self, RWF_DSYNC};
use crate::{
    Attachment, Completions, Engine, EngineError, FileKind, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Want, WriteCommand, dataless,
};
use abi::*;
use driver::{CompletionMode, RingDriver};
use extras::RingExtras;
use registered::RingFiles;
use ring::Ring;

/// Bit of `user_data` that marks a discard command, which the engine repeats with an `ioctl(2)` if
/// the kernel does not support it, or finds pages in the cache that another job is writing.
const DISCARD: u64 = 1 << 32;

/// The `io_uring` engine.
#[derive(Debug)]
pub struct IoUring {
    ring: Ring,
    mode: CompletionMode,
    buffers: Buffers,
    files: RingFiles,
    options: IoUringPlan,
    /// Fields that all reads, and all writes, have in common.
    read: Sqe,
    write: Sqe,
    extras: RingExtras,
    /// An entry needs more than the data's address: something in `extras`, a priority or a write
    /// stream.
    has_optional_fields: bool,
    /// Values for [`crate::IoAttributes::priority`]; empty if no I/O has a priority of its own.
    priorities: Box<[u16]>,
    /// Write streams for [`crate::IoAttributes::placement`], per file; empty if the job places no writes.
    /// Linux 6.16.
    streams: Box<[Vec<u16>]>,
    /// Number of ops that are queued and not reaped; at most `limit`.
    in_flight: u32,
    limit: u32,
    /// Whether the kernel supports `sync_file_range(2)`, `fallocate(2)` and discards through the
    /// ring.
    ring_syncs: bool,
    ring_fallocate: bool,
    ring_discard: bool,
    /// The last trim of each slot, to repeat it with an `ioctl(2)`.
    trims: Vec<Op>,
    /// What the kernel turned out not to support. `reap` reports it.
    unsupported: Option<EngineError>,
}

impl IoUring {
    /// Submission entry of a read or write.
    #[inline(always)]
    fn transfer(&self, slot: Slot, op: &Op, data: *mut u8) -> Sqe {
        let common = if op.kind == OpKind::Read { &self.read } else { &self.write };
        Sqe {
            fd: self.files.name(op.file),
            off: op.offset,
            addr: data as u64,
            len: op.len,
            user_data: u64::from(slot),
            ..*common
        }
    }

    /// Pushes the entry of a read or write with the fields that only some options need. It makes the entry itself:
    /// one that `queue` passes to a function is assembled in memory and copied to the ring.
    #[inline(never)]
    fn push_with_optional_fields(&mut self, slot: Slot, op: Op, data: *mut u8) {
        let mut sqe = self.transfer(slot, &op, data);
        // 0, also for an index beyond the list, means the priority of the thread.
        sqe.ioprio = self.priorities.get(usize::from(op.attributes.priority)).copied().unwrap_or(0);
        if op.attributes.placement != 0
            && let Some(ids) = self.streams.get(op.file.get())
            && let Some(id) = ids.get(usize::from(op.attributes.placement) - 1)
        {
            sqe.file_index = write_stream(*id);
        }
        if op.attributes.command == WriteCommand::Durable {
            sqe.op_flags |= RWF_DSYNC as u32;
        }
        self.extras.vector(slot, &mut sqe.addr, &mut sqe.len);
        sqe.buf_index = self.extras.buffer_index(slot);
        sqe.flags |= self.extras.force_async();
        // SAFETY: as in `queue`; the vector belongs to the slot as well.
        unsafe { self.ring.push(sqe) };
    }

    /// Queues an op without data, or carries it out if the ring cannot.
    #[cold]
    #[inline(never)]
    fn queue_without_data(&mut self, slot: FreeSlot, op: Op) -> Queued {
        let Some(sqe) = self.without_data(slot.index(), &op) else {
            return Queued::Done(slot, dataless::on(self.files.files(), op));
        };
        self.buffers.begin(slot);
        // SAFETY: the entry refers to no memory.
        unsafe { self.ring.push(sqe) };
        self.in_flight += 1;
        Queued::Pending
    }

    /// Submission entry of an op without data; `None` if the ring cannot carry it out.
    fn without_data(&mut self, slot: Slot, op: &Op) -> Option<Sqe> {
        // A ring with polled completions accepts only reads and writes.
        if self.options.hipri {
            return None;
        }
        let mut sqe = Sqe {
            flags: self.files.entry_flags(),
            fd: self.files.name(op.file),
            user_data: u64::from(slot),
            ..Default::default()
        };
        match (op.kind, self.files.kind(op.file)) {
            (OpKind::Fsync, _) => sqe.opcode = OP_FSYNC,
            (OpKind::Fdatasync, _) => {
                sqe.opcode = OP_FSYNC;
                sqe.op_flags = FSYNC_DATASYNC;
            }
            (OpKind::SyncFileRange(flags), _) if self.ring_syncs => {
                sqe.opcode = OP_SYNC_FILE_RANGE;
                sqe.off = op.offset;
                sqe.len = op.len;
                sqe.op_flags = flags;
            }
            (OpKind::Trim, FileKind::Block) if self.ring_discard => {
                sqe.opcode = OP_URING_CMD;
                sqe.off = BLOCK_URING_CMD_DISCARD;
                sqe.addr = op.offset;
                sqe.addr3 = u64::from(op.len);
                sqe.user_data |= DISCARD;
                self.trims[slot as usize] = *op;
            }
            (OpKind::Trim, FileKind::Regular) if self.ring_fallocate => {
                sqe.opcode = OP_FALLOCATE;
                sqe.off = op.offset;
                sqe.addr = u64::from(op.len);
                sqe.len = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as u32;
            }
            _ => return None,
        }
        Some(sqe)
    }
}

impl RingDriver for IoUring {
    type Sqe = Sqe;
    type Cqe = Cqe;

    #[inline(always)]
    fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    #[inline(always)]
    fn mode(&self) -> &CompletionMode {
        &self.mode
    }

    #[inline(always)]
    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    #[inline(always)]
    fn take(&mut self, max: u32, done: &mut Completions) -> u32 {
        let (buffers, files) = (&mut self.buffers, &self.files);
        let (trims, discard) = (&self.trims, &mut self.ring_discard);
        let mut unsupported = false;
        let count = self.ring.take(max, |cqe| {
            let slot = cqe.user_data as u32;
            let mut outcome = Outcome::from_raw(i64::from(cqe.res));
            if cqe.res < 0 {
                let refused = cqe.res == -Errno::EOPNOTSUPP.raw();
                unsupported |= refused;
                if cqe.user_data & DISCARD != 0 && (refused || cqe.res == -Errno::EBUSY.raw()) {
                    *discard &= !refused;
                    outcome = dataless::on(files.files(), trims[slot as usize]);
                }
            }
            // SAFETY: the kernel returns each entry once, when it is done with the buffer, with the
            // slot that `queue` put into it.
            done.push(unsafe { buffers.end(slot) }, outcome);
        });
        self.in_flight -= count;
        if unsupported {
            self.unsupported = setup::explain_unsupported(&self.options);
        }
        count
    }
}

impl Engine for IoUring {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.mode.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let all = self.read.op_flags | self.write.op_flags;
        flags::check(target, all as i32)?;
        self.files.attach(&self.ring, file, target)
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.files.detach(&self.ring, file)
    }

    fn report(&self, _path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        EngineReport { ring: self.ring.counts(), ..EngineReport::default() }
    }

    slots_of_buffers!();

    #[inline(always)]
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if self.in_flight >= self.limit {
            return Queued::Full(slot);
        }
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            return self.queue_without_data(slot, *op);
        }
        let Some(data) = self.buffers.span(&slot, op.at, op.len) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let slot = self.buffers.begin(slot);
        self.in_flight += 1;
        if self.has_optional_fields {
            self.push_with_optional_fields(slot, *op, data);
            return Queued::Pending;
        }
        let sqe = self.transfer(slot, op, data);
        // SAFETY: the entry refers to the buffer of a slot that is now in flight and whose token `take`
        // returns when the op has completed. A drop with ops in flight waits for them or leaks the
        // memory.
        unsafe { self.ring.push(sqe) };
        Queued::Pending
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.ring.send().map_err(setup::enter_error)
    }

    #[inline(always)]
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.submit_and_reap(want, done).map_err(setup::enter_error)?;
        match self.unsupported.take() {
            None => Ok(()),
            Some(error) => Err(error),
        }
    }

    /// Waits for the ops in flight, then releases the registered files.
    fn close(&mut self) -> Result<(), EngineError> {
        self.ring.drain(std::mem::take(&mut self.in_flight)).map_err(|errno| {
            self.extras.leak();
            self.buffers.leak();
            EngineError::leaked("ioengine=io_uring", "io_uring_enter", errno)
        })?;
        self.files.release(&self.ring);
        Ok(())
    }
}

impl Drop for IoUring {
    /// Waits for the ops in flight: the kernel must be done with the buffers before they are freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}
