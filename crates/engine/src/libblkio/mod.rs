//! `libblkio`: requests to a driver of the libblkio library, which is a crate.
//!
//! fiord opens the target if it is a file or a device, so that all checks of targets apply, and the driver uses a copy of
//! the descriptor. Otherwise the driver connects to the target. Jobs with equal options share an instance, with a queue
//! each. The buffers are a memory file, which the driver can hand to a server.

mod instance;

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::sync::Arc;
use std::time::Duration;

use blkio::{Blkioq, Completion, MemoryRegion, ReqFlags, iovec};
use fiord_plan::{EndpointError, EndpointFacts, LibblkioPlan, LibblkioWaitMode};
use fiord_sys::host;
use fiord_sys::poll::{self, PollEntry, Readiness, Waited};
use fiord_types::{Errno, FileIndex};

use self::instance::{Instance, PURPOSE};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Time, Want,
};

/// How long the engine waits for a server before it asks whether the server still exists, ns.
const PATIENCE: u64 = 1_000_000_000;

/// How long an engine that ends waits for requests in flight, ns.
const LAST_WAIT: u64 = 30_000_000_000;

/// Busy loops between two looks at the clock.
const SPINS: u32 = 256;

/// The `libblkio` engine.
pub struct Libblkio {
    plan: LibblkioPlan,
    lane: Option<Lane>,
    buffers: Buffers,
    clock: MachineClock,
    /// Writes are durable when they complete.
    durable: bool,
    /// What each slot's op returns on success.
    bytes: Box<[u32]>,
    /// The vector of each slot's op.
    vectors: Box<[iovec]>,
    /// The library's reason for the last failure of each slot.
    reasons: Box<[Option<&'static CStr>]>,
    /// Room for completions.
    reaped: Box<[MaybeUninit<Completion>]>,
    in_flight: u32,
    /// How many of them were not submitted.
    unsubmitted: u32,
}

// SAFETY: the pointers are into buffers that the value owns, which do not move with it.
unsafe impl Send for Libblkio {}

/// The queue of a job, and what it belongs to.
struct Lane {
    /// `None` only while the lane is dropped.
    queue: Option<Blkioq>,
    polled: bool,
    region: MemoryRegion,
    instance: Arc<Instance>,
    /// The descriptor becomes readable when a request completes.
    events: Option<i32>,
    /// Requests may be in the queue, which therefore must not be used again.
    unclean: bool,
    read_only: bool,
    file: FileIndex,
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.instance.unmap(&self.region);
        if let Some(queue) = self.queue.take().filter(|_| !self.unclean) {
            self.instance.give_back(queue, self.polled);
        }
    }
}

/// Why a discard fails with `EOPNOTSUPP`: the driver makes it with a mode of `fallocate(2)` that block devices
/// do not have on every kernel (observed with Linux 6.12).
const NO_DISCARD: &CStr =
    c"this driver cannot discard blocks of the device. To fix: set `libblkio_write_zeroes_on_trim=1`";

impl Libblkio {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.blkio().ok_or_else(EngineError::other_engine)?;
        let slots = config.slots as usize;
        let empty = iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        Ok(Libblkio {
            durable: config.durable && !plan.instance.opens_file(),
            plan: plan.clone(),
            lane: None,
            buffers: Buffers::new(config)?,
            clock: config.clock,
            bytes: vec![0; slots].into_boxed_slice(),
            vectors: vec![empty; slots].into_boxed_slice(),
            reasons: vec![None; slots].into_boxed_slice(),
            reaped: (0..slots).map(|_| MaybeUninit::uninit()).collect(),
            in_flight: 0,
            unsubmitted: 0,
        })
    }

    /// The memory of the buffers, as the library knows memory.
    fn region(&self) -> MemoryRegion {
        let memory = self.buffers.memory();
        let (fd, fd_offset) = match memory.file() {
            Some((fd, offset)) => (std::os::fd::AsRawFd::as_raw_fd(&fd), offset.0 as i64),
            None => (-1, 0),
        };
        MemoryRegion {
            addr: memory.as_ptr() as usize,
            iova: 0,
            // The region is mapped in whole pages.
            len: memory.len().next_multiple_of(host::page_size()),
            fd,
            fd_offset,
            flags: 0,
        }
    }

    /// Passes an op to the library.
    fn enqueue(&mut self, slot: Slot, op: &Op, data: *mut u8) {
        let index = slot as usize;
        self.bytes[index] = if op.kind.moves_data() { op.len } else { 0 };
        let discards = op.kind == OpKind::Trim && !self.plan.zeroes_on_trim;
        self.reasons[index] = discards.then_some(NO_DISCARD);
        self.vectors[index] = iovec { iov_base: data.cast(), iov_len: op.len as usize };
        let vector = &raw const self.vectors[index];
        let Some(queue) = self.lane.as_mut().and_then(|lane| lane.queue.as_mut()) else { return };
        let none = ReqFlags::empty();
        let (start, len) = (op.offset, u64::from(op.len));
        let written = if self.durable { ReqFlags::FUA } else { none };
        match op.kind {
            OpKind::Read if self.plan.vectored => queue.readv(start, vector, 1, index, none),
            OpKind::Read => queue.read(start, data, op.len as usize, index, none),
            OpKind::Write if self.plan.vectored => queue.writev(start, vector, 1, index, written),
            OpKind::Write => queue.write(start, data, op.len as usize, index, written),
            OpKind::Trim if self.plan.zeroes_on_trim => {
                queue.write_zeroes(start, len, index, none);
            }
            OpKind::Trim => queue.discard(start, len, index, none),
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => {
                queue.flush(index, none);
            }
        }
        self.in_flight += 1;
        self.unsubmitted += 1;
    }

    /// Submits requests, and takes up to `max` completions, waiting for `min` of them for at most `timeout` ns. Returns
    /// how many it took, and whether to wait again.
    fn take(
        &mut self,
        (min, max): (u32, u32),
        timeout: Option<u64>,
        done: &mut Completions,
    ) -> Result<(u32, bool), EngineError> {
        let Some(queue) = self.lane.as_mut().and_then(|lane| lane.queue.as_mut()) else {
            return Ok((0, false));
        };
        let mut time = timeout.map(Duration::from_nanos);
        let room = &mut self.reaped[..max as usize];
        let count = match queue.do_io(room, min as usize, time.as_mut(), None) {
            Ok(count) => count,
            Err(error) => {
                return match Errno::from_raw(error.errno().raw_os_error()) {
                    Errno::ETIME | Errno::EAGAIN | Errno::EBUSY => Ok((0, true)),
                    Errno::EINTR => Ok((0, false)),
                    errno => {
                        let what = format!("{PURPOSE}: {}", error.message());
                        Err(EngineError { what, help: None, errno: Some(errno) })
                    }
                };
            }
        };
        self.unsubmitted = 0;
        for at in 0..count {
            // SAFETY: the library wrote the first `count` completions.
            let completion = unsafe { self.reaped[at].assume_init_read() };
            self.complete(&completion, done)?;
        }
        Ok((count as u32, true))
    }

    /// Returns the slot of a completed request.
    fn complete(
        &mut self,
        completion: &Completion,
        done: &mut Completions,
    ) -> Result<(), EngineError> {
        let index = completion.user_data;
        if index >= self.bytes.len() || self.in_flight == 0 {
            let what =
                format!("{PURPOSE}: the library completed a request that fiord did not make");
            return Err(EngineError::plain(what));
        }
        self.in_flight -= 1;
        let outcome = match completion.ret {
            0 => Outcome::ok(self.bytes[index]),
            code => {
                // SAFETY: the library's messages are constants that end with NUL.
                let reason = (!completion.error_msg.is_null())
                    .then(|| unsafe { CStr::from_ptr(completion.error_msg) });
                if reason.is_some() || code != Errno::EOPNOTSUPP.as_result() as i32 {
                    self.reasons[index] = reason;
                }
                Outcome::err(Errno::from_raw(-code))
            }
        };
        // SAFETY: the request of the slot has completed, and the library reports each completion once.
        done.push(unsafe { self.buffers.end(index as Slot) }, outcome);
        Ok(())
    }

    /// Whether a server has to be asked from time to time whether it still exists.
    fn connects(&self) -> bool {
        !self.plan.instance.opens_file()
    }

    /// Fails if the server has disappeared: the completions that the engine waits for will not come.
    fn still_there(&self) -> Result<(), EngineError> {
        let Some(lane) = self.lane.as_ref().filter(|_| self.connects()) else { return Ok(()) };
        lane.instance.capacity().map(drop).map_err(|error| {
            let path = self.plan.instance.path.display();
            EngineError {
                what: format!("{PURPOSE}: the server at `{path}` has disappeared: {}", error.what),
                help: None,
                errno: Some(Errno::ECONNRESET),
            }
        })
    }

    /// Waits until the descriptor of events becomes readable, at most `timeout` ns, and reads it. Returns whether to look
    /// again.
    fn wait_for_event(&self, timeout: Option<u64>) -> Result<bool, EngineError> {
        let Some(events) = self.lane.as_ref().and_then(|lane| lane.events) else { return Ok(true) };
        // The descriptor does not block, so that a wait can have a limit.
        let mut entries = [PollEntry::new(events, Readiness::Readable)];
        let waited = poll::wait(&mut entries, timeout.map(Duration::from_nanos));
        match waited.map_err(|error| EngineError::from_sys(PURPOSE, &error))? {
            Waited::Interrupted => return Ok(false),
            Waited::TimedOut => return Ok(true),
            Waited::Ready => {}
        }
        let mut count = 0u64;
        // SAFETY: `count` has room for the 8 bytes of an event counter.
        unsafe { libc::read(events, (&raw mut count).cast(), 8) };
        Ok(true)
    }

    /// Waits for `min` completions as `libblkio_wait_mode` says.
    fn wait(
        &mut self,
        (min, max): (u32, u32),
        end: Option<u64>,
        done: &mut Completions,
    ) -> Result<(), EngineError> {
        let mut taken = 0;
        let mut asked = self.clock.now();
        let mut spins = 0u32;
        loop {
            let now = match self.plan.wait {
                // The clock costs more than a look at the queue.
                LibblkioWaitMode::Loop if !spins.is_multiple_of(SPINS) => asked,
                _ => self.clock.now(),
            };
            spins = spins.wrapping_add(1);
            let left = end.map(|end| end.saturating_sub(now));
            let slice = match self.connects() {
                true => Some(left.unwrap_or(PATIENCE).min(PATIENCE)),
                false => left,
            };
            let (wanted, again) = match self.plan.wait {
                LibblkioWaitMode::Block => self.take((min - taken, max - taken), slice, done)?,
                LibblkioWaitMode::Eventfd | LibblkioWaitMode::Loop => {
                    self.take((0, max - taken), None, done)?
                }
            };
            taken += wanted;
            if taken >= min || !again || left == Some(0) {
                return Ok(());
            }
            let waits = self.plan.wait == LibblkioWaitMode::Eventfd;
            if waits && !self.wait_for_event(slice)? {
                return Ok(());
            }
            if wanted > 0 {
                asked = now;
            } else if now.saturating_sub(asked) >= PATIENCE {
                self.still_there()?;
                asked = now;
            }
        }
    }

    /// Ends the use of the target. Waits for the requests in flight.
    fn leave(&mut self) -> Result<(), EngineError> {
        let mut done = Completions::with_capacity(self.in_flight);
        let end = self.clock.now().saturating_add(LAST_WAIT);
        while self.lane.is_some() && self.in_flight > 0 {
            let left = end.saturating_sub(self.clock.now());
            let waited = match left {
                0 => Err(EngineError::plain("no completion")),
                _ => self.take((1, self.in_flight), Some(left.min(PATIENCE)), &mut done),
            };
            if waited.and_then(|_| self.still_there()).is_err() {
                break;
            }
        }
        let Some(mut lane) = self.lane.take() else { return Ok(()) };
        if self.in_flight == 0 {
            return Ok(());
        }
        self.in_flight = 0;
        lane.unclean = true;
        if self.connects() {
            // The driver no longer has the buffers after they are unmapped, and a server has its own mapping.
            return Ok(());
        }
        self.buffers.leak();
        std::mem::forget(lane);
        std::mem::forget(std::mem::take(&mut self.vectors));
        Err(EngineError::leaked(PURPOSE, "io_uring_enter", Errno::EBUSY))
    }
}

impl Engine for Libblkio {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        if self.lane.is_some() {
            let what = format!("{PURPOSE}: a job has one target");
            return Err(EngineError::plain(what));
        }
        let instance = Instance::shared(&self.plan.instance, target.fd.as_deref())?;
        let polled = self.plan.polled;
        let mut queue = instance.take_queue(polled)?;
        if self.plan.completion_events {
            queue.set_completion_fd_enabled(true);
        }
        let region = self.region();
        instance.map(&region)?;
        let events = queue.get_completion_fd();
        let lane = Lane {
            queue: Some(queue),
            polled,
            region,
            instance,
            events,
            unclean: false,
            read_only: target.read_only,
            file,
        };
        let (capacity, end) =
            (lane.instance.capacity()?, target.offset.saturating_add(target.len).0);
        self.lane = Some(lane);
        if end > capacity {
            self.lane = None;
            let path = self.plan.instance.path.display();
            let what = format!(
                "{PURPOSE}: `{path}` has {capacity} bytes, but the job uses it up to byte {end}"
            );
            return Err(EngineError::plain(what).help("To fix: use a smaller `size` or `offset`"));
        }
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        match self.lane.as_ref().is_some_and(|lane| lane.file == file) {
            true => self.leave(),
            false => Ok(()),
        }
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        let reason = self.reasons.get(slot.index() as usize).copied().flatten()?;
        let remedy = match reason.to_string_lossy().contains("request-alignment") {
            true => ". To fix: use a `bs` that is a multiple of the device's block size",
            false => "",
        };
        Some(format!("libblkio: {}{remedy}", reason.to_string_lossy()))
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let Some(lane) = self.lane.as_ref().filter(|lane| lane.file == op.file) else {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        };
        if lane.read_only && matches!(op.kind, OpKind::Write | OpKind::Trim) {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        }
        let Some(data) = self.buffers.data_of(&slot, op) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let slot = self.buffers.begin(slot);
        self.enqueue(slot, op, data);
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let unsubmitted = self.unsubmitted;
        if unsubmitted == 0 {
            return Ok(0);
        }
        let mut none = Completions::with_capacity(0);
        self.take((0, 0), None, &mut none)?;
        Ok(unsubmitted - self.unsubmitted)
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        let max = want.max.min(self.in_flight);
        let min = want.min.min(max);
        if min == 0 {
            return self.take((0, max), None, done).map(drop);
        }
        let end = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        self.wait((min, max), end, done)
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.leave()
    }
}

impl Drop for Libblkio {
    /// Waits for the requests in flight, because the driver must be done with the buffers before they are freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.leave();
    }
}

impl std::fmt::Debug for Libblkio {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Libblkio").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// Connects to the target of a plan, asks for its properties, and disconnects.
pub(crate) fn ask(plan: &LibblkioPlan) -> Result<EndpointFacts, EndpointError> {
    instance::ask(&plan.instance)
}
