//! `posixaio`: POSIX asynchronous I/O of the C library (`aio_read(3)`, `aio_write(3)`, `aio_fsync(3)`,
//! `aio_suspend(3)`).
//!
//! The C library carries out the requests with threads of its own. glibc has one pool of them per process, which makes
//! one call after another for each file, and serves at most 20 files at a time unless `aio_init(3)` permits more. fio
//! runs each job in a process of its own, so this engine permits 20 for each job.
//!
//! The calling thread carries out trims and `sync_file_range(2)` when they are queued, because POSIX has no such
//! requests.

use std::mem::MaybeUninit;

use fiord_types::{Errno, FileIndex};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::files::AttachedFiles;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Time, Want, dataless,
};

/// The `posixaio` engine.
pub struct PosixAio {
    buffers: Buffers,
    files: AttachedFiles,
    clock: MachineClock,
    /// One control block per slot.
    control: Box<[libc::aiocb]>,
    /// The op of each slot.
    kinds: Box<[OpKind]>,
    /// Slots that are queued and not submitted, in order, from `sent` on.
    unsent: Vec<Slot>,
    sent: usize,
    /// Slots of the requests that the C library has, oldest first.
    in_flight: Vec<Slot>,
    /// Control blocks of the requests in flight, for `aio_suspend(3)`.
    waited: Vec<*const libc::aiocb>,
    /// Requests that the C library refused. They were never in flight.
    refused: Vec<(Slot, Outcome)>,
}

// SAFETY: the pointers are into boxes and buffers that the value owns, which do not move with it. A request belongs to
// the process, not to a thread.
unsafe impl Send for PosixAio {}

impl PosixAio {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        threads::permit_more();
        let slots = config.slots as usize;
        // SAFETY: a control block consists of numbers and pointers, which may be 0.
        let empty: libc::aiocb = unsafe { MaybeUninit::zeroed().assume_init() };
        Ok(PosixAio {
            buffers: Buffers::new(config)?,
            files: AttachedFiles::new(config.files),
            clock: config.clock,
            control: vec![empty; slots].into_boxed_slice(),
            kinds: vec![OpKind::Read; slots].into_boxed_slice(),
            unsent: Vec::with_capacity(slots),
            sent: 0,
            in_flight: Vec::with_capacity(slots),
            waited: Vec::with_capacity(slots),
            refused: Vec::with_capacity(slots),
        })
    }

    /// Submits queued ops until none is left or the C library accepts no more. Returns their number.
    fn submit(&mut self) -> u32 {
        let mut count = 0;
        while let Some(&slot) = self.unsent.get(self.sent) {
            match self.start(slot) {
                Ok(()) => {
                    self.in_flight.push(slot);
                    count += 1;
                }
                // The C library has no room until an op completes.
                Err(Errno::EAGAIN) if !self.in_flight.is_empty() => break,
                Err(errno) => self.refused.push((slot, Outcome::err(errno))),
            }
            self.sent += 1;
        }
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.sent = 0;
        }
        count
    }

    /// Passes the request of a slot to the C library.
    fn start(&mut self, slot: Slot) -> Result<(), Errno> {
        let block = &raw mut self.control[slot as usize];
        // SAFETY: the block describes a range of the buffer of a slot in flight. It does not move, and nothing else
        // uses it or the buffer until the request has ended.
        let ret = unsafe {
            match self.kinds[slot as usize] {
                OpKind::Write => libc::aio_write(block),
                OpKind::Fsync => libc::aio_fsync(libc::O_SYNC, block),
                OpKind::Fdatasync => libc::aio_fsync(libc::O_DSYNC, block),
                _ => libc::aio_read(block),
            }
        };
        if ret == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    /// Takes up to `max` completions. `all`: asks for each request; otherwise stops at the first one that has not
    /// ended, because the requests of a file usually end in order and each question takes a lock.
    fn take(&mut self, max: u32, all: bool, done: &mut Completions) -> u32 {
        let mut taken = 0;
        let mut at = 0;
        while taken < max && at < self.in_flight.len() {
            let slot = self.in_flight[at];
            let block = &raw mut self.control[slot as usize];
            // SAFETY: the block is that of a request that the C library accepted and whose result was not taken.
            let errno = Errno::from_raw(unsafe { libc::aio_error(block) });
            if errno == Errno::EINPROGRESS {
                if !all {
                    break;
                }
                at += 1;
                continue;
            }
            // SAFETY: the request has ended, and its result is taken once.
            let ret = unsafe { libc::aio_return(block) } as i64;
            let ret = if errno.raw() == 0 { ret } else { errno.as_result() };
            self.in_flight.remove(at);
            // SAFETY: the slot was queued, and its request has ended.
            done.push(unsafe { self.buffers.end(slot) }, Outcome::from_raw(ret));
            taken += 1;
        }
        taken
    }

    /// Waits until a request has ended, `timeout` ns have passed or a signal arrives. Returns whether to look again.
    fn suspend(&mut self, timeout: Option<u64>) -> Result<bool, EngineError> {
        self.waited.clear();
        let control = &self.control;
        self.waited.extend(self.in_flight.iter().map(|slot| &raw const control[*slot as usize]));
        let time = timeout.map(|ns| libc::timespec {
            tv_sec: (ns / 1_000_000_000) as i64,
            tv_nsec: (ns % 1_000_000_000) as i64,
        });
        let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref::<libc::timespec>);
        let count = self.waited.len() as libc::c_int;
        // SAFETY: the list has `count` pointers to control blocks of requests in flight, and the time outlives the call.
        if unsafe { libc::aio_suspend(self.waited.as_ptr(), count, time) } == 0 {
            return Ok(true);
        }
        match Errno::last() {
            Errno::EAGAIN | Errno::EINTR => Ok(false),
            errno => Err(EngineError::call("ioengine=posixaio", "aio_suspend", errno)),
        }
    }

    fn take_refused(&mut self, max: u32, done: &mut Completions) -> u32 {
        let count = self.refused.len().min(max as usize);
        for (slot, outcome) in self.refused.drain(..count) {
            // SAFETY: the slot was queued, and the C library did not take its request.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
        }
        count as u32
    }
}

impl Engine for PosixAio {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.files.attach(file, target)
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.files.detach(file);
        Ok(())
    }

    slots_of_buffers!();

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let data = match op.kind {
            OpKind::Read | OpKind::Write => self.buffers.span(&slot, op.at, op.len),
            OpKind::Fsync | OpKind::Fdatasync => self.buffers.span(&slot, 0, 0),
            OpKind::Trim | OpKind::SyncFileRange(_) if self.unsent.is_empty() => {
                return Queued::Done(slot, dataless::on(&self.files, *op));
            }
            OpKind::Trim | OpKind::SyncFileRange(_) => return Queued::Full(slot),
        };
        let Some(data) = data else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let slot = self.buffers.begin(slot);
        let block = &mut self.control[slot as usize];
        block.aio_fildes = self.files.fd(op.file);
        block.aio_buf = data.cast();
        block.aio_nbytes = op.len as usize;
        block.aio_offset = op.offset as i64;
        block.aio_sigevent.sigev_notify = libc::SIGEV_NONE;
        self.kinds[slot as usize] = op.kind;
        self.unsent.push(slot);
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(self.submit())
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        let known = self.in_flight.len();
        self.submit();
        let end = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        let min = want.min.min(want.max);
        let mut taken = self.take_refused(want.max, done);
        // Without a wait the job looks only once. With one, requests that were submitted just now have hardly ended, and
        // each question takes the lock that the threads need; the wait asks for all of them anyway.
        if min <= taken || known > 0 {
            taken += self.take(want.max - taken, min <= taken, done);
        }
        while taken < min && !self.in_flight.is_empty() {
            let left = end.map(|end| end.saturating_sub(self.clock.now()));
            if !self.suspend(left)? {
                break;
            }
            let before = taken;
            taken += self.take(want.max - taken, false, done);
            if taken == before {
                taken += self.take(want.max - taken, true, done);
            }
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.unsent.clear();
        self.sent = 0;
        for slot in &self.in_flight {
            let block = &raw mut self.control[*slot as usize];
            // SAFETY: the block is that of a request in flight. A request that cannot be cancelled continues.
            unsafe { libc::aio_cancel((*block).aio_fildes, block) };
        }
        while !self.in_flight.is_empty() {
            if let Err(error) = self.suspend(None) {
                self.buffers.leak();
                std::mem::forget(std::mem::take(&mut self.control));
                self.in_flight.clear();
                return Err(EngineError::leaked(
                    "ioengine=posixaio",
                    "aio_suspend",
                    error.errno.unwrap_or(Errno::EIO),
                ));
            }
            let control = &mut self.control;
            self.in_flight.retain(|slot| {
                let block = &raw mut control[*slot as usize];
                // SAFETY: the block is that of a request whose result was not taken.
                unsafe {
                    let state = Errno::from_raw(libc::aio_error(block));
                    let pending = state == Errno::EINPROGRESS;
                    if !pending {
                        libc::aio_return(block);
                    }
                    pending
                }
            });
        }
        Ok(())
    }
}

impl Drop for PosixAio {
    /// Waits for the requests in flight, because the C library must be done with the buffers before they are freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}

impl std::fmt::Debug for PosixAio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PosixAio").field("in_flight", &self.in_flight).finish_non_exhaustive()
    }
}

/// The number of threads that the C library may use.
#[cfg(target_env = "gnu")]
mod threads {
    use std::sync::Mutex;

    /// `struct aioinit` (`aio.h`).
    #[derive(Debug, Default)]
    #[repr(C)]
    struct AioInit {
        threads: libc::c_int,
        num: libc::c_int,
        locks: libc::c_int,
        usedba: libc::c_int,
        debug: libc::c_int,
        numusers: libc::c_int,
        idle_time: libc::c_int,
        reserved: libc::c_int,
    }

    unsafe extern "C" {
        fn aio_init(init: *const AioInit);
    }

    /// Threads for each job: glibc's default for a process.
    const PER_JOB: libc::c_int = 20;

    /// Permits threads for another job. glibc ignores the call after the first request of the process.
    pub(super) fn permit_more() {
        static JOBS: Mutex<libc::c_int> = Mutex::new(0);
        let Ok(mut jobs) = JOBS.lock() else { return };
        *jobs = jobs.saturating_add(1);
        let init = AioInit { threads: jobs.saturating_mul(PER_JOB), num: 64, ..AioInit::default() };
        // SAFETY: the call reads the structure.
        unsafe { aio_init(&raw const init) };
    }
}

/// Other C libraries start a thread for each request.
#[cfg(not(target_env = "gnu"))]
mod threads {
    pub(super) fn permit_more() {}
}
