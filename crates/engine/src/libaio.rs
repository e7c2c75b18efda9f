//! `libaio`: Linux native asynchronous I/O with the kernel's system calls (`io_setup(2)`,
//! `io_submit(2)`, `io_getevents(2)`) and without the library.
//!
//! One `io_submit(2)` submits all queued ops. The engine takes completions from the ring that the
//! kernel maps into the process and calls `io_getevents(2)` only to wait, so it always does what
//! `userspace_reap=1` asks for. The calling thread carries out ops without data when they are
//! queued, after the ops queued before them were submitted.

use std::sync::atomic::{AtomicU32, Ordering};

use fiord_plan::{EnginePlan, LibaioPlan};
use fiord_types::{Errno, FileIndex};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::files::AttachedFiles;
use crate::flags::{self, RWF_DSYNC};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Want, WriteCommand, dataless, syscall,
};

/// `struct iocb` (`linux/aio_abi.h`).
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Iocb {
    data: u64,
    #[cfg(target_endian = "little")]
    key: u32,
    rw_flags: i32,
    #[cfg(target_endian = "big")]
    key: u32,
    opcode: u16,
    reqprio: i16,
    fd: u32,
    buf: u64,
    nbytes: u64,
    offset: i64,
    reserved2: u64,
    flags: u32,
    resfd: u32,
}

/// `struct io_event`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

/// Head of the completion ring that `io_setup(2)` maps (`struct aio_ring` of `fs/aio.c`).
#[derive(Debug)]
#[repr(C)]
struct RingHead {
    id: u32,
    nr: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compat_features: u32,
    incompat_features: u32,
    header_length: u32,
}

const RING_MAGIC: u32 = 0xa10a_10a1;
const IOCB_CMD_PREAD: u16 = 0;
const IOCB_CMD_PWRITE: u16 = 1;
const IOCB_CMD_PREADV: u16 = 7;
const IOCB_CMD_PWRITEV: u16 = 8;
/// `reqprio` holds the priority of this I/O. Linux 4.18.
const IOCB_FLAG_IOPRIO: u32 = 1 << 1;

/// The `libaio` engine.
#[derive(Debug)]
pub struct Libaio {
    context: u64,
    buffers: Buffers,
    files: AttachedFiles,
    clock: MachineClock,
    read_op: u16,
    write_op: u16,
    read_flags: i32,
    write_flags: i32,
    /// One control block per slot.
    control: Box<[Iocb]>,
    /// One vector per slot if the commands use vectors; otherwise empty.
    vectors: Vec<libc::iovec>,
    /// Values for [`crate::IoAttributes::priority`]; empty if no I/O has a priority of its own.
    priorities: Box<[u16]>,
    /// A control block needs more than the data's address: a vector or a priority.
    has_optional_fields: bool,
    /// Control blocks that are queued and not submitted, in order, from `sent` on.
    unsent: Vec<*mut Iocb>,
    sent: usize,
    /// Maximum number of ops that one `io_submit(2)` submits.
    batch: usize,
    /// Number of ops that are submitted and not reaped.
    in_flight: u32,
    /// Ops that the kernel refused at submission. They were never in flight.
    refused: Vec<(Slot, Outcome)>,
    events: Box<[Event]>,
    /// The layout of the ring is known: the engine takes completions from memory, and calls the
    /// kernel only to wait.
    ring_known: bool,
}

/// Maximum number of buffered I/Os in one `io_submit(2)`.
///
/// The kernel carries out buffered I/Os one after another inside the call. With more than two of
/// them it plugs its queue (`AIO_PLUG_THRESHOLD` of `fs/aio.c`). Each read that misses the page
/// cache then waits until a kernel thread sends it off: up to a timer tick instead of tens of
/// microseconds.
const BUFFERED_BATCH: usize = 2;

// SAFETY: the pointers are into boxes and buffers that the value owns, which do not move with it.
// An AIO context belongs to the address space, not to a thread.
unsafe impl Send for Libaio {}

impl Libaio {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The kernel refused `io_setup(2)`, the ring has an unknown layout with `userspace_reap=1`, or
    /// the buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let LibaioPlan { userspace_reap, nowait, vectored } = match config.engine {
            EnginePlan::Libaio(plan) => plan,
            _ => LibaioPlan::default(),
        };
        let slots = config.slots as usize;
        let mut context = 0u64;
        // SAFETY: the call writes one context handle.
        let ret = unsafe { libc::syscall(libc::SYS_io_setup, config.slots, &raw mut context) };
        if ret < 0 {
            return Err(setup_error(Errno::last(), config.slots));
        }
        let ring_known = ring_is_known(context);
        // Nothing is in flight in a new context, so a failure of `destroy` does no harm.
        if userspace_reap && !ring_known {
            let _ = destroy(context);
            return Err(EngineError::plain("this kernel's AIO ring has an unknown layout")
                .help("To fix: leave out userspace_reap=1"));
        }
        let (read_flags, write_flags) = flags::of(false, nowait, config.atomic);
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Libaio {
            context,
            buffers: Buffers::new(config).inspect_err(|_| {
                let _ = destroy(context);
            })?,
            files: AttachedFiles::new(config.files),
            clock: config.clock,
            read_op: if vectored { IOCB_CMD_PREADV } else { IOCB_CMD_PREAD },
            write_op: if vectored { IOCB_CMD_PWRITEV } else { IOCB_CMD_PWRITE },
            read_flags,
            write_flags,
            control: vec![Iocb::default(); slots].into_boxed_slice(),
            vectors: vec![empty; if vectored { slots } else { 0 }],
            priorities: config.priorities.clone().into(),
            has_optional_fields: vectored || !config.priorities.is_empty() || config.durable_writes,
            unsent: Vec::with_capacity(slots),
            sent: 0,
            batch: if config.direct { slots.max(1) } else { BUFFERED_BATCH },
            in_flight: 0,
            refused: Vec::with_capacity(slots),
            events: vec![Event::default(); slots].into_boxed_slice(),
            ring_known,
        })
    }

    /// Submits queued ops until none is left or the kernel accepts no more. Returns their number.
    fn submit(&mut self) -> Result<u32, EngineError> {
        let mut total = 0;
        while self.sent < self.unsent.len() {
            let rest = &self.unsent[self.sent..];
            let rest = &rest[..rest.len().min(self.batch)];
            let args = [self.context as usize, rest.len(), rest.as_ptr().expose_provenance(), 0];
            // SAFETY: the list has as many pointers as the call reads. They point to control
            // blocks that live as long as the engine, whose buffers belong to slots in flight.
            let ret = unsafe { syscall::call4(libc::SYS_io_submit, args) };
            if ret > 0 {
                self.sent += ret as usize;
                self.in_flight += ret as u32;
                total += ret as u32;
                continue;
            }
            match if ret == 0 { Errno::EAGAIN } else { Errno::from_result(ret) } {
                Errno::EINTR => {}
                // The kernel has no room until an op completes.
                Errno::EAGAIN if self.in_flight > 0 => break,
                // The kernel refused the first op of the list, which has thereby ended.
                errno => {
                    let slot = self.slot_of(self.unsent[self.sent]);
                    self.sent += 1;
                    self.refused.push((slot, Outcome::err(errno)));
                }
            }
        }
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        }
        Ok(total)
    }

    /// Sets the vector and the priority of a slot's control block.
    #[inline(never)]
    fn set_optional_fields(&mut self, slot: Slot, op: Op) {
        let block = &mut self.control[slot as usize];
        if let Some(vector) = self.vectors.get_mut(slot as usize) {
            let data = std::ptr::with_exposed_provenance_mut(block.buf as usize);
            *vector = libc::iovec { iov_base: data, iov_len: op.len as usize };
            (block.buf, block.nbytes) = ((&raw const *vector) as u64, 1);
        }
        if op.attributes.command == WriteCommand::Durable {
            block.rw_flags |= RWF_DSYNC;
        }
        match self.priorities.get(usize::from(op.attributes.priority)) {
            None | Some(0) => {}
            Some(value) => {
                block.reqprio = *value as i16;
                block.flags = IOCB_FLAG_IOPRIO;
            }
        }
    }

    fn slot_of(&self, block: *const Iocb) -> Slot {
        ((block as usize - self.control.as_ptr() as usize) / size_of::<Iocb>()) as Slot
    }

    #[inline(always)]
    fn finish(&mut self, event: Event, done: &mut Completions) {
        let slot = event.data as Slot;
        self.in_flight -= 1;
        // SAFETY: the kernel returns each command once, when it is done with the buffer, with the slot
        // that `queue` put into it.
        done.push(unsafe { self.buffers.end(slot) }, Outcome::from_raw(event.res));
    }

    /// Waits for `min` to `max` completions with `io_getevents(2)` and returns their number, which
    /// is less than `min` if the wait ended early.
    fn get_events(
        &mut self,
        min: u32,
        max: u32,
        timeout: Option<u64>,
        done: &mut Completions,
    ) -> Result<u32, EngineError> {
        let time = timeout.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as i64,
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref::<libc::timespec>);
        let max = max.min(self.events.len() as u32);
        // SAFETY: `events` has room for `max` entries, and the time outlives the call.
        let ret = unsafe {
            syscall::call6(
                libc::SYS_io_getevents,
                [
                    self.context as usize,
                    min as usize,
                    max as usize,
                    self.events.as_mut_ptr().expose_provenance(),
                    time.expose_provenance(),
                    0,
                ],
            )
        };
        if ret < 0 {
            let errno = Errno::from_result(ret);
            if errno == Errno::EINTR {
                return Ok(0);
            }
            return Err(EngineError::call("ioengine=libaio", "io_getevents", errno));
        }
        for i in 0..ret as usize {
            self.finish(self.events[i], done);
        }
        Ok(ret as u32)
    }

    /// Takes completions from the ring in memory, without a system call. Returns their number.
    fn take_from_ring(&mut self, max: u32, done: &mut Completions) -> u32 {
        let ring: *const RingHead = std::ptr::with_exposed_provenance(self.context as usize);
        // SAFETY: a context handle is the address of the ring's head, which is mapped while the
        // context exists. `ring_is_known` has checked the layout.
        let head = unsafe { &*ring };
        let mut at = head.head.load(Ordering::Relaxed);
        let tail = head.tail.load(Ordering::Acquire);
        let mut count = 0;
        while at != tail && count < max {
            // SAFETY: `nr` events follow the head, and the kernel has written those before the
            // tail.
            let event = unsafe { *ring.add(1).cast::<Event>().add(at as usize) };
            at = if at + 1 >= head.nr { 0 } else { at + 1 };
            self.finish(event, done);
            count += 1;
        }
        if count > 0 {
            head.head.store(at, Ordering::Release);
        }
        count
    }

    fn take_refused(&mut self, max: u32, done: &mut Completions) -> u32 {
        let count = self.refused.len().min(max as usize);
        for (slot, outcome) in self.refused.drain(..count) {
            // SAFETY: the slot was queued, and the kernel did not take its command.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
        }
        count as u32
    }
}

impl Engine for Libaio {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.files.attach(file, target)?;
        flags::check(target, self.write_flags)
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.files.detach(file);
        Ok(())
    }

    slots_of_buffers!();

    #[inline(always)]
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            if self.sent < self.unsent.len() {
                return Queued::Full(slot);
            }
            return Queued::Done(slot, dataless::on(&self.files, *op));
        }
        let Some(data) = self.buffers.span(&slot, op.at, op.len) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let slot = self.buffers.begin(slot);
        let read = op.kind == OpKind::Read;
        let block = &mut self.control[slot as usize];
        *block = Iocb {
            data: u64::from(slot),
            rw_flags: if read { self.read_flags } else { self.write_flags },
            opcode: if read { self.read_op } else { self.write_op },
            fd: self.files.fd(op.file) as u32,
            buf: data as u64,
            nbytes: u64::from(op.len),
            offset: op.offset as i64,
            ..Default::default()
        };
        self.unsent.push(block);
        if self.has_optional_fields {
            self.set_optional_fields(slot, *op);
        }
        Queued::Pending
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        if self.unsent.is_empty() { Ok(0) } else { self.submit() }
    }

    #[inline(always)]
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let mut taken = 0;
        if !self.refused.is_empty() {
            taken = self.take_refused(want.max, done);
        }
        if self.ring_known {
            taken += self.take_from_ring(want.max - taken, done);
        }
        let missing = want.min.min(want.max).saturating_sub(taken).min(self.in_flight);
        if self.in_flight == 0 || taken == want.max || (self.ring_known && missing == 0) {
            return Ok(());
        }
        self.get_events(missing, want.max - taken, want.timeout, done)?;
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        // The ring is not mapped any longer. 0 is not a context, so the kernel refuses ops that are queued now.
        self.ring_known = false;
        self.in_flight = 0;
        match std::mem::take(&mut self.context) {
            0 => Ok(()),
            context => destroy(context).map_err(|errno| {
                self.buffers.leak();
                EngineError::leaked("ioengine=libaio", "io_destroy", errno)
            }),
        }
    }
}

impl Drop for Libaio {
    /// Waits for the ops in flight, because the kernel must be done with the buffers before they
    /// are freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}

/// `io_destroy(2)`. Returns when everything in flight has ended.
///
/// # Errors
///
/// The errno. Ops may still be in flight.
fn destroy(context: u64) -> Result<(), Errno> {
    // SAFETY: the call takes no pointer that the process owns. The callers do not use the context
    // afterwards.
    match unsafe { libc::syscall(libc::SYS_io_destroy, context) } {
        0 => Ok(()),
        _ => Err(Errno::last()),
    }
}

/// Whether the ring in memory has the layout of [`RingHead`].
fn ring_is_known(context: u64) -> bool {
    let ring: *const RingHead = std::ptr::with_exposed_provenance(context as usize);
    // SAFETY: a context handle is the address of the ring's head, which is mapped while the context
    // exists.
    let head = unsafe { &*ring };
    head.magic == RING_MAGIC
        && head.incompat_features == 0
        && head.header_length as usize == size_of::<RingHead>()
}

fn setup_error(errno: Errno, slots: u32) -> EngineError {
    let error = EngineError::call("ioengine=libaio", "io_setup", errno);
    match errno {
        Errno::EAGAIN => error.help(format!(
            "iodepth={slots} exceeds what is left of the system's limit. To fix: raise sysctl \
             fs.aio-max-nr, or lower iodepth"
        )),
        Errno::ENOSYS => {
            error.help("this kernel has no AIO (CONFIG_AIO). To fix: use ioengine=io_uring")
        }
        _ => error.help("To fix: lower iodepth, or use ioengine=io_uring"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_that_the_kernel_may_still_use_are_not_freed() {
        let plan = EnginePlan::Libaio(LibaioPlan::default());
        let mut engine = Libaio::new(&EngineConfig::plain(plan, 1, 4096)).unwrap();
        let (base, _) = engine.buffers.region();
        destroy(engine.context).unwrap();
        let error = engine.close().unwrap_err();
        assert_eq!(error.errno, Some(Errno::EINVAL));
        assert!(error.to_string().contains("stays allocated"), "{error}");
        assert_eq!(engine.close(), Ok(()), "there is no context left");
        drop(engine);
        // SAFETY: the engine has leaked the buffer.
        assert_eq!(unsafe { *base }, 0);
    }
}
