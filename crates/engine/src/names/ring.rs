//! Calls on names through io_uring: as many in flight as the job has slots.
//!
//! The kernel carries these calls out on its own threads. A file is created with two linked entries: the first one
//! opens it into the ring's table of files, the second one closes it. The I/O is complete when both are.

use std::ffi::CStr;

use fiord_plan::{NameCall, StatType};
use fiord_types::{Bytes, Errno, FileIndex};

use super::paths::{PathBuffer, Paths};
use super::{DIRECTORY_MODE, FILE_MODE, explain, flags_of_new, plan_of};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::io_uring::abi::*;
use crate::io_uring::driver::{CompletionMode, RingDriver};
use crate::io_uring::ring::{Ring, RingOptions};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Want,
};

/// Bit of `user_data` that marks the second entry of an I/O, which closes the file.
const CLOSE: u64 = 1 << 32;

/// `filecreate` and its relatives with `via_uring`.
#[derive(Debug)]
pub struct NamesRing {
    ring: Ring,
    mode: CompletionMode,
    buffers: Buffers,
    call: NameCall,
    stat_flags: u32,
    open_flags: u32,
    paths: Paths,
    slots: Vec<SlotMemory>,
    in_flight: u32,
    /// Completions that the ring still owes for the I/Os in flight.
    owed: u32,
}

/// The memory that the kernel uses for the op of a slot.
#[derive(Debug)]
struct SlotMemory {
    path: PathBuffer,
    attributes: Box<Attributes>,
    /// The result of the first entry of a pair, then that of the op.
    result: i32,
    /// Length of the op.
    len: u32,
}

/// Room for the result of `statx(2)`.
#[repr(C, align(8))]
#[derive(Debug)]
struct Attributes([u8; size_of::<libc::statx>()]);

impl NamesRing {
    /// Creates the engine for use by the calling thread.
    ///
    /// # Errors
    ///
    /// The kernel refused the ring, or does not support the call in a ring.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = plan_of(config);
        let call = plan.call;
        let entries = if call == NameCall::CreateFile { 2 } else { 1 };
        let options = RingOptions {
            entries: config.slots.saturating_mul(entries),
            iopoll: false,
            sqpoll: false,
            sqpoll_cpu: None,
        };
        let ring: Ring = Ring::new(options)
            .map_err(|errno| EngineError::call("via_uring=1", "io_uring_setup", errno))?;
        let (opcode, since) = needs(call);
        if !ring.operations().has(opcode) {
            let what =
                format!("via_uring=1: this kernel has no such call in a ring (Linux {since})");
            return Err(EngineError::plain(what).help("To fix: leave out via_uring"));
        }
        if call == NameCall::CreateFile {
            register_places(&ring, config.slots)?;
        }
        let empty = EngineConfig { buffer_bytes: Bytes::ZERO, ..config.clone() };
        let paths = Paths::new(config);
        let memory = || SlotMemory {
            path: PathBuffer::new(),
            attributes: Box::new(Attributes([0; size_of::<libc::statx>()])),
            result: 0,
            len: 0,
        };
        Ok(NamesRing {
            ring,
            mode: CompletionMode { iopoll: false, sqpoll: false, clock: config.clock },
            buffers: Buffers::new(&empty)?,
            call,
            stat_flags: match plan.stat {
                StatType::Lstat => libc::AT_SYMLINK_NOFOLLOW as u32,
                StatType::Stat | StatType::Statx => 0,
            },
            // The kernel accepts no `O_CLOEXEC` for a file in the ring's table.
            open_flags: (flags_of_new(paths.is_tree(), config.generated) & !libc::O_CLOEXEC) as u32,
            paths,
            slots: std::iter::repeat_with(memory).take(config.slots as usize).collect(),
            in_flight: 0,
            owed: 0,
        })
    }

    /// The entry that makes the call of a slot. Its path is in the slot's memory.
    fn entry(&mut self, slot: u32) -> Sqe {
        let memory = &mut self.slots[slot as usize];
        let mut sqe = Sqe {
            fd: self.paths.base(),
            addr: memory.path.as_ptr().expose_provenance() as u64,
            user_data: slot.into(),
            ..Default::default()
        };
        match self.call {
            NameCall::CreateFile => {
                sqe.opcode = OP_OPENAT;
                sqe.flags = IOSQE_IO_LINK;
                sqe.len = FILE_MODE;
                sqe.op_flags = self.open_flags;
                sqe.file_index = slot + 1;
            }
            NameCall::StatFile | NameCall::StatDirectory => {
                sqe.opcode = OP_STATX;
                sqe.off = (&raw mut *memory.attributes).expose_provenance() as u64;
                sqe.len = libc::STATX_BASIC_STATS;
                sqe.op_flags = self.stat_flags;
            }
            NameCall::RemoveFile => sqe.opcode = OP_UNLINKAT,
            NameCall::RemoveDirectory => {
                sqe.opcode = OP_UNLINKAT;
                sqe.op_flags = libc::AT_REMOVEDIR as u32;
            }
            NameCall::CreateDirectory => {
                sqe.opcode = OP_MKDIRAT;
                sqe.len = DIRECTORY_MODE;
            }
        }
        sqe
    }
}

/// The operation of a ring that a call needs, and the Linux version that has it.
fn needs(call: NameCall) -> (u8, &'static str) {
    match call {
        // Linux 5.15 opens files into the ring's table, and has `mkdirat` as well.
        NameCall::CreateFile | NameCall::CreateDirectory => (OP_MKDIRAT, "5.15"),
        NameCall::StatFile | NameCall::StatDirectory => (OP_STATX, "5.6"),
        NameCall::RemoveFile | NameCall::RemoveDirectory => (OP_UNLINKAT, "5.11"),
    }
}

/// Registers a table with an empty place for the file of each slot.
fn register_places(ring: &Ring, slots: u32) -> Result<(), EngineError> {
    let places = vec![-1i32; slots as usize];
    // SAFETY: the call reads `slots` descriptors.
    let done = unsafe { ring.register(REGISTER_FILES, places.as_ptr().cast(), slots) };
    done.map(drop).map_err(|errno| EngineError::call("via_uring=1", "io_uring_register", errno))
}

impl RingDriver for NamesRing {
    type Sqe = Sqe;
    type Cqe = Cqe;

    #[inline]
    fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    #[inline]
    fn mode(&self) -> &CompletionMode {
        &self.mode
    }

    #[inline]
    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn take(&mut self, max: u32, done: &mut Completions) -> u32 {
        let pairs = self.call == NameCall::CreateFile;
        let (slots, buffers) = (&mut self.slots, &mut self.buffers);
        let (mut ended, mut seen) = (0, 0);
        while ended < max {
            let taken = self.ring.take(1, |cqe| {
                let slot = cqe.user_data as u32;
                let memory = &mut slots[slot as usize];
                if pairs && cqe.user_data & CLOSE == 0 {
                    memory.result = cqe.res;
                    return;
                }
                let result = match pairs {
                    // A file that was not opened is not closed, which says nothing new.
                    true if memory.result < 0 => memory.result,
                    _ => cqe.res,
                };
                memory.result = result;
                let outcome = match result {
                    0.. => Outcome::ok(memory.len),
                    errno => Outcome::from_raw(errno.into()),
                };
                ended += 1;
                // SAFETY: the last entry of the slot's op has completed, so the kernel is done with its memory.
                done.push(unsafe { buffers.end(slot) }, outcome);
            });
            if taken == 0 {
                break;
            }
            seen += taken;
        }
        self.owed -= seen;
        self.in_flight -= ended;
        ended
    }
}

impl Engine for NamesRing {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.mode.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.paths.attached(file.get(), Some(target));
        Ok(())
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        let memory = self.slots.get(slot.index() as usize)?;
        let path = CStr::from_bytes_with_nul(&memory.path).ok();
        let item = path.and_then(|path| self.paths.of_item(path));
        explain(self.call, Errno::from_raw(-memory.result), item.as_deref())
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if self.in_flight as usize >= self.slots.len() {
            return Queued::Full(slot);
        }
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            // The plan permits neither trims nor syncs.
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        }
        let Some(memory) = self.slots.get_mut(slot.index() as usize) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        memory.len = op.len;
        let found = self.paths.write(op, &mut memory.path);
        if !found {
            return Queued::Done(slot, Outcome::uncounted(op.len));
        }
        let slot = self.buffers.begin(slot);
        self.in_flight += 1;
        let sqe = self.entry(slot);
        // SAFETY: the path and the room for attributes belong to the slot, which is in flight until `take` has seen
        // its last entry. A drop with ops in flight waits for them or leaks the memory.
        unsafe { self.ring.push(sqe) };
        self.owed += 1;
        if self.call == NameCall::CreateFile {
            let close = Sqe {
                opcode: OP_CLOSE,
                file_index: slot + 1,
                user_data: u64::from(slot) | CLOSE,
                ..Default::default()
            };
            // SAFETY: the entry refers to no memory.
            unsafe { self.ring.push(close) };
            self.owed += 1;
        }
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let sent = self.ring.send().map_err(enter_error)?;
        Ok(if self.call == NameCall::CreateFile { sent / 2 } else { sent })
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.submit_and_reap(want, done).map_err(enter_error)
    }

    /// Waits for the ops in flight.
    fn close(&mut self) -> Result<(), EngineError> {
        self.in_flight = 0;
        self.ring.drain(std::mem::take(&mut self.owed)).map_err(|errno| {
            std::mem::forget(std::mem::take(&mut self.slots));
            self.buffers.leak();
            EngineError::leaked("via_uring=1", "io_uring_enter", errno)
        })
    }
}

impl Drop for NamesRing {
    /// Waits for the ops in flight: the kernel must be done with the paths before they are freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}

fn enter_error(errno: Errno) -> EngineError {
    EngineError::call("via_uring=1", "io_uring_enter", errno)
}
