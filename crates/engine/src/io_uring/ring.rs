//! Submission and completion rings shared with the kernel, and the system calls on them.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::time::Duration;

use fiord_stat::engine::RingCounts;
use fiord_sys::poll::{self, Readiness, Waited};
use fiord_types::Errno;

use super::abi::*;
use super::entry::{Completion, Submission};
use crate::syscall;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RingOptions {
    /// Least number of entries of both queues. The kernel's limit is 32768.
    pub entries: u32,
    /// The kernel polls for completions (`IORING_SETUP_IOPOLL`).
    pub iopoll: bool,
    /// A kernel thread submits (`IORING_SETUP_SQPOLL`).
    pub sqpoll: bool,
    /// CPU of that kernel thread.
    pub sqpoll_cpu: Option<u32>,
}

/// Mapped memory, which is unmapped when this is dropped.
#[derive(Debug)]
struct Mapping {
    base: *mut u8,
    len: usize,
}

impl Mapping {
    fn new(fd: i32, offset: i64, len: usize) -> Result<Self, Errno> {
        // SAFETY: a mapping at an address that the kernel chooses touches no memory in use.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd,
                offset,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(Errno::last());
        }
        Ok(Mapping { base: base.cast(), len })
    }

    /// Address `offset` bytes from the start.
    fn at<T>(&self, offset: u32) -> *mut T {
        debug_assert!(offset as usize + size_of::<T>() <= self.len);
        self.base.wrapping_add(offset as usize).cast()
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and no pointer into it is used once the ring is gone.
        unsafe { libc::munmap(self.base.cast(), self.len) };
    }
}

/// Both rings, with these types of entries. Only the thread that created them may use them.
#[derive(Debug)]
pub(crate) struct Ring<S = Sqe, C = Cqe> {
    sqes: *mut S,
    sq_mask: u32,
    /// Tail of the submission queue: the entries before it are filled in.
    sq_tail: u32,
    /// The entries before this one were submitted.
    sq_sent: u32,
    k_sq_tail: *const AtomicU32,
    k_sq_flags: *const AtomicU32,
    cqes: *const C,
    cq_mask: u32,
    cq_head: u32,
    k_cq_head: *const AtomicU32,
    k_cq_tail: *const AtomicU32,
    /// The descriptor, or its index once it is registered.
    enter_fd: i32,
    enter_flags: u32,
    flags: u32,
    features: u32,
    entries: u32,
    /// Calls that woke the submission thread.
    wakeups: u64,
    fd: OwnedFd,
    _maps: Vec<Mapping>,
}

// SAFETY: the pointers are into mappings that the value owns. (A ring for a single issuer answers
// `EEXIST` to calls of another thread, which is an error and not unsound.)
unsafe impl<S, C> Send for Ring<S, C> {}

impl<S: Submission, C: Completion> Ring<S, C> {
    /// Sets up rings with the cheapest flags that this kernel supports.
    ///
    /// # Errors
    ///
    /// The errno of `io_uring_setup(2)` or of `mmap(2)`.
    pub(crate) fn new(options: RingOptions) -> Result<Self, Errno> {
        Self::with_flags(options, if options.sqpoll { SQPOLL_STEPS } else { STEPS })
    }

    /// Sets up rings with the first set of flags in `steps` that the kernel accepts.
    fn with_flags(options: RingOptions, steps: &[u32]) -> Result<Self, Errno> {
        let (fd, params) = set_up(options, S::SETUP | C::SETUP, steps)?;
        let raw = fd.as_raw_fd();
        let sq_len = params.sq_off.array as usize + params.sq_entries as usize * 4;
        let cq_len = params.cq_off.cqes as usize + params.cq_entries as usize * size_of::<C>();
        let single = params.features & FEAT_SINGLE_MMAP != 0;
        let sq_map =
            Mapping::new(raw, OFF_SQ_RING, if single { sq_len.max(cq_len) } else { sq_len })?;
        let sqe_map = Mapping::new(raw, OFF_SQES, params.sq_entries as usize * size_of::<S>())?;
        let mut maps = vec![sq_map, sqe_map];
        if !single {
            maps.push(Mapping::new(raw, OFF_CQ_RING, cq_len)?);
        }
        let (sq, cq) = (&maps[0], maps.get(2).unwrap_or(&maps[0]));
        if params.flags & SETUP_NO_SQARRAY == 0 {
            for i in 0..params.sq_entries {
                // SAFETY: the index array has `sq_entries` entries, which the mapping covers.
                unsafe { *sq.at::<u32>(params.sq_off.array + 4 * i) = i };
            }
        }
        let mut ring = Ring {
            sqes: maps[1].at(0),
            sq_mask: params.sq_entries - 1,
            sq_tail: 0,
            sq_sent: 0,
            k_sq_tail: sq.at::<AtomicU32>(params.sq_off.tail),
            k_sq_flags: sq.at::<AtomicU32>(params.sq_off.flags),
            cqes: cq.at::<C>(params.cq_off.cqes),
            cq_mask: params.cq_entries - 1,
            cq_head: 0,
            k_cq_head: cq.at::<AtomicU32>(params.cq_off.head),
            k_cq_tail: cq.at::<AtomicU32>(params.cq_off.tail),
            enter_fd: raw,
            enter_flags: 0,
            flags: params.flags,
            features: params.features,
            entries: params.sq_entries.min(params.cq_entries),
            wakeups: 0,
            fd,
            _maps: maps,
        };
        ring.register_itself();
        Ok(ring)
    }

    /// Registers the ring's own descriptor, so that the kernel need not look it up in every call.
    /// If the kernel does not support it (before Linux 5.18), the ring uses the descriptor.
    fn register_itself(&mut self) {
        let mut update = RsrcUpdate { offset: u32::MAX, resv: 0, data: self.enter_fd as u64 };
        let arg = (&raw mut update).cast();
        // SAFETY: `update` is the one entry that the call reads and writes.
        if unsafe { self.register(REGISTER_RING_FDS, arg, 1) } == Ok(1) {
            self.enter_fd = update.offset as i32;
            self.enter_flags = ENTER_REGISTERED_RING;
        }
    }

    /// `io_uring_register(2)`.
    ///
    /// # Safety
    ///
    /// `arg` must point to `count` entries of the type that `opcode` demands.
    pub(crate) unsafe fn register(
        &self,
        opcode: u32,
        arg: *const libc::c_void,
        count: u32,
    ) -> Result<i32, Errno> {
        // SAFETY: the caller vouches for `arg`.
        unsafe { register(&self.fd, opcode, arg, count) }
    }

    /// How many ops can be queued or in flight at a time.
    pub(crate) fn entries(&self) -> u32 {
        self.entries
    }

    /// Whether the ring accepts only registered files: with a submitting kernel thread before Linux
    /// 5.11.
    pub(crate) fn needs_registered_files(&self) -> bool {
        self.sqpoll() && self.features & FEAT_SQPOLL_NONFIXED == 0
    }

    /// What the ring counted; `None` without a submission thread.
    pub(crate) fn counts(&self) -> Option<RingCounts> {
        self.sqpoll().then_some(RingCounts { sq_thread_wakeups: self.wakeups })
    }

    fn sqpoll(&self) -> bool {
        self.flags & SETUP_SQPOLL != 0
    }

    /// Appends a submission entry.
    ///
    /// # Safety
    ///
    /// The memory that the entry refers to stays valid until the op has completed, and until then
    /// nothing uses it in a way that conflicts with the op. Fewer than `entries` ops are queued or in
    /// flight.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, sqe: S) {
        // SAFETY: the masked index is within the array. The kernel no longer reads this entry: it
        // consumed the entry before the op completed, and fewer ops than entries are in flight.
        unsafe { self.sqes.add((self.sq_tail & self.sq_mask) as usize).write(sqe) };
        self.sq_tail = self.sq_tail.wrapping_add(1);
    }

    /// Number of entries that were appended and not submitted.
    #[inline(always)]
    pub(crate) fn unsent(&self) -> u32 {
        self.sq_tail.wrapping_sub(self.sq_sent)
    }

    /// Whether the kernel has completions that it posts when this thread calls it.
    #[inline(always)]
    pub(crate) fn has_task_work(&self) -> bool {
        // SAFETY: points into the mapped ring.
        unsafe { &*self.k_sq_flags }.load(Ordering::Relaxed) & SQ_TASKRUN != 0
    }

    /// Submits all entries. If `wait` is not 0, waits for that many completions in the queue, at
    /// most `timeout` nanoseconds. With `look`, the kernel posts completions that are due even if
    /// `wait` is 0. Returns the number of submitted entries.
    ///
    /// # Errors
    ///
    /// The errno of `io_uring_enter(2)`; `ETIME` if the timeout expired.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        wait: u32,
        look: bool,
        timeout: Option<u64>,
    ) -> Result<u32, Errno> {
        let unsent = self.unsent();
        // SAFETY: points into the mapped ring.
        unsafe { &*self.k_sq_tail }.store(self.sq_tail, Ordering::Release);
        let mut flags = self.enter_flags;
        if self.sqpoll() {
            self.sq_sent = self.sq_tail;
            // The kernel thread sets the flag, looks at the tail once more and then sleeps, so our
            // store of the tail must come before our load of the flag.
            fence(Ordering::SeqCst);
            // SAFETY: points into the mapped ring.
            if unsafe { &*self.k_sq_flags }.load(Ordering::Relaxed) & SQ_NEED_WAKEUP != 0 {
                flags |= ENTER_SQ_WAKEUP;
                self.wakeups += 1;
            } else if wait == 0 && !look {
                return Ok(unsent);
            }
        }
        if wait > 0 || look {
            flags |= ENTER_GETEVENTS;
        }
        match self.call(unsent, wait, flags, timeout) {
            Ok(_) if self.sqpoll() => Ok(unsent),
            Ok(sent) => {
                self.sq_sent = self.sq_sent.wrapping_add(sent);
                Ok(sent)
            }
            Err(errno) => Err(errno),
        }
    }

    #[inline(always)]
    fn call(&self, send: u32, wait: u32, flags: u32, timeout: Option<u64>) -> Result<u32, Errno> {
        if let Some(ns) = timeout
            && wait > 0
        {
            return self.call_with_timeout(send, wait, flags, ns);
        }
        // SAFETY: no argument structure is passed.
        let ret = unsafe {
            syscall::call6(
                libc::SYS_io_uring_enter,
                [self.enter_fd as usize, send as usize, wait as usize, flags as usize, 0, 0],
            )
        };
        if ret < 0 { Err(Errno::from_result(ret)) } else { Ok(ret as u32) }
    }

    #[inline(never)]
    fn call_with_timeout(&self, send: u32, wait: u32, flags: u32, ns: u64) -> Result<u32, Errno> {
        if self.features & FEAT_EXT_ARG == 0 {
            return self.call_then_poll(send, flags, ns);
        }
        let time =
            Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 };
        let arg = GeteventsArg { ts: (&raw const time) as u64, ..Default::default() };
        // SAFETY: `arg` and the time it points to outlive the call.
        let ret = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.enter_fd,
                send,
                wait,
                flags | ENTER_EXT_ARG,
                &raw const arg,
                size_of::<GeteventsArg>(),
            )
        };
        if ret < 0 { Err(Errno::last()) } else { Ok(ret as u32) }
    }

    /// Submits, then waits with `ppoll(2)`: before Linux 5.11 `io_uring_enter(2)` has no timeout.
    fn call_then_poll(&self, send: u32, flags: u32, ns: u64) -> Result<u32, Errno> {
        let sent = self.call(send, 0, flags, None)?;
        match poll::wait_for(&self.fd, Readiness::Readable, Some(Duration::from_nanos(ns))) {
            Ok(Waited::TimedOut) if sent == 0 => Err(Errno::ETIME),
            _ => Ok(sent),
        }
    }

    /// Passes up to `max` completions to `each`, and returns their number.
    #[inline(always)]
    pub(crate) fn take(&mut self, max: u32, mut each: impl FnMut(C)) -> u32 {
        // SAFETY: points into the mapped ring.
        let tail = unsafe { &*self.k_cq_tail }.load(Ordering::Acquire);
        let count = tail.wrapping_sub(self.cq_head).min(max);
        for _ in 0..count {
            // SAFETY: the masked index is within the array, and the kernel wrote the entry before
            // the tail that was loaded.
            each(unsafe { *self.cqes.add((self.cq_head & self.cq_mask) as usize) });
            self.cq_head = self.cq_head.wrapping_add(1);
        }
        if count > 0 {
            // SAFETY: points into the mapped ring.
            unsafe { &*self.k_cq_head }.store(self.cq_head, Ordering::Release);
        }
        count
    }

    /// The operations that the kernel supports.
    pub(crate) fn operations(&self) -> Operations {
        // SAFETY: all zeros is a valid probe.
        let mut probe: Probe = unsafe { std::mem::zeroed() };
        // SAFETY: `probe` has room for 256 operations. If the kernel does not support the request
        // (before Linux 5.6), the probe stays zero and no operation counts as supported.
        let _ = unsafe { self.register(REGISTER_PROBE, (&raw mut probe).cast(), 256) };
        Operations(Box::new(probe))
    }
}

/// The operations that the kernel supports.
#[derive(Debug)]
pub(crate) struct Operations(Box<Probe>);

impl Operations {
    /// Whether the kernel supports the operation `op`.
    pub(crate) fn has(&self, op: u8) -> bool {
        self.0.ops[usize::from(op)].flags & 1 != 0
    }
}

impl<S, C> Drop for Ring<S, C> {
    fn drop(&mut self) {
        if self.enter_flags & ENTER_REGISTERED_RING != 0 {
            let mut update = RsrcUpdate { offset: self.enter_fd as u32, resv: 0, data: 0 };
            // SAFETY: `update` is the one entry that the call reads.
            let _ = unsafe { register(&self.fd, UNREGISTER_RING_FDS, (&raw mut update).cast(), 1) };
        }
    }
}

/// `io_uring_register(2)`.
///
/// # Safety
///
/// `arg` must point to `count` entries of the type that `opcode` demands.
unsafe fn register(
    ring: &OwnedFd,
    opcode: u32,
    arg: *const libc::c_void,
    count: u32,
) -> Result<i32, Errno> {
    let fd = ring.as_raw_fd();
    // SAFETY: the caller vouches for `arg`.
    let ret = unsafe { libc::syscall(libc::SYS_io_uring_register, fd, opcode, arg, count) };
    if ret < 0 { Err(Errno::last()) } else { Ok(ret as i32) }
}

/// The kernel's limit on submission entries (`IORING_MAX_ENTRIES`).
const MAX_ENTRIES: u32 = 32768;

const DEFERRED: u32 =
    SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN | SETUP_TASKRUN_FLAG | SETUP_SUBMIT_ALL;

/// Sets of flags that make rings cheap, for Linux 6.6, 6.1, 5.19, 5.18 and 5.1.
const STEPS: &[u32] = &[
    DEFERRED | SETUP_NO_SQARRAY,
    DEFERRED,
    SETUP_COOP_TASKRUN | SETUP_TASKRUN_FLAG | SETUP_SUBMIT_ALL,
    SETUP_SUBMIT_ALL,
    0,
];

/// Sets of flags for rings with a submitting kernel thread, for Linux 6.6, 5.18 and 5.1.
const SQPOLL_STEPS: &[u32] =
    &[SETUP_SINGLE_ISSUER | SETUP_SUBMIT_ALL | SETUP_NO_SQARRAY, SETUP_SUBMIT_ALL, 0];

/// `io_uring_setup(2)` with the first set of flags in `steps` that the kernel accepts.
fn set_up(options: RingOptions, wider: u32, steps: &[u32]) -> Result<(OwnedFd, Params), Errno> {
    let mut base = SETUP_CLAMP | SETUP_CQSIZE | wider;
    if options.iopoll {
        base |= SETUP_IOPOLL;
    }
    if options.sqpoll {
        base |= SETUP_SQPOLL;
    }
    if options.sqpoll_cpu.is_some() {
        base |= SETUP_SQ_AFF;
    }
    let entries = options.entries.min(MAX_ENTRIES);
    let mut errno = Errno::EINVAL;
    for step in steps {
        let mut params = Params {
            flags: base | step,
            cq_entries: entries.next_power_of_two(),
            sq_thread_cpu: options.sqpoll_cpu.unwrap_or(0),
            ..Default::default()
        };
        // SAFETY: the call reads and writes `params`.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, entries, &raw mut params) };
        if fd >= 0 {
            // SAFETY: the kernel just created this descriptor, and this is its only owner.
            return Ok((unsafe { OwnedFd::from_raw_fd(fd as i32) }, params));
        }
        errno = Errno::last();
        if errno != Errno::EINVAL {
            break;
        }
    }
    Err(errno)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OP_NOP: u8 = 0;

    fn options(sqpoll: bool) -> RingOptions {
        RingOptions { entries: 8, iopoll: false, sqpoll, sqpoll_cpu: None }
    }

    /// A ring for each set of flags that this kernel accepts.
    fn rings() -> Vec<Ring> {
        let plain = STEPS.iter().map(|step| (false, step));
        plain
            .chain(SQPOLL_STEPS.iter().map(|step| (true, step)))
            .filter_map(|(sqpoll, step)| Ring::with_flags(options(sqpoll), &[*step]).ok())
            .collect()
    }

    #[test]
    fn every_kind_of_ring_completes_what_it_is_given() {
        for mut ring in rings() {
            for round in 0..5u64 {
                for i in 0..8 {
                    let user_data = round * 8 + i;
                    let sqe = Sqe { opcode: OP_NOP, user_data, ..Default::default() };
                    // SAFETY: the entry refers to no memory, and there are 8 entries.
                    unsafe { ring.push(sqe) };
                }
                let mut seen = Vec::new();
                while seen.len() < 8 {
                    let missing = 8 - seen.len() as u32;
                    ring.enter(missing, true, None).unwrap();
                    ring.take(8, |cqe| seen.push(cqe.user_data));
                }
                assert_eq!(ring.unsent(), 0);
                assert_eq!(seen, (round * 8..round * 8 + 8).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn rings_with_big_entries_complete_every_op() {
        for step in STEPS {
            let made = Ring::<Sqe128<[u64; 10]>, Cqe32>::with_flags(options(false), &[*step]);
            // Some of these kernels do not have big entries yet.
            let Ok(mut ring) = made else { continue };
            for round in 0..5u64 {
                for i in 0..8 {
                    let user_data = round * 8 + i;
                    let sqe = Sqe128 { opcode: OP_NOP, user_data, ..Default::default() };
                    // SAFETY: the entry refers to no memory, and there are 8 entries.
                    unsafe { ring.push(sqe) };
                }
                let mut seen = Vec::new();
                while seen.len() < 8 {
                    ring.enter(8 - seen.len() as u32, true, None).unwrap();
                    ring.take(8, |cqe| seen.push((cqe.user_data, cqe.res)));
                }
                assert_eq!(seen, (round * 8..round * 8 + 8).map(|i| (i, 0)).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_wait_times_out_on_kernels_old_and_new() {
        for mut ring in rings() {
            for features in [ring.features, ring.features & !FEAT_EXT_ARG] {
                ring.features = features;
                let start = std::time::Instant::now();
                assert_eq!(ring.enter(1, true, Some(5_000_000)), Err(Errno::ETIME));
                assert!(start.elapsed().as_millis() >= 4);
            }
        }
    }

    #[test]
    fn a_ring_has_its_entries_and_knows_its_operations() {
        let ring: Ring = Ring::new(options(false)).unwrap();
        assert_eq!(ring.entries(), 8);
        assert!(ring.operations().has(OP_READV));
        assert!(!ring.operations().has(255));
    }
}
