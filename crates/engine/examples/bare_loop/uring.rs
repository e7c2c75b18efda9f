//! `io_uring`: fill a batch, submit it and wait in one system call, take the completions.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU32, Ordering};

use super::abi::*;
use super::{Job, Measured, Memory, die, drive};

/// A ring with all flags that make it cheap, or with none on older kernels.
struct Ring {
    fd: i32,
    /// The descriptor, or its index once it is registered.
    enter_fd: i32,
    enter_flags: u32,
    sqes: *mut Sqe,
    sq_mask: u32,
    sq_tail: *const AtomicU32,
    cqes: *const Cqe,
    cq_mask: u32,
    cq_head: *const AtomicU32,
    cq_tail: *const AtomicU32,
}

fn map(fd: i32, offset: i64, len: usize) -> *mut u8 {
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
    // SAFETY: a mapping at an address that the kernel chooses touches no memory in use. It stays
    // mapped until the process ends.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, offset) };
    if base == libc::MAP_FAILED {
        die("mmap of a ring");
    }
    base.cast()
}

/// `io_uring_register(2)`.
///
/// # Safety
///
/// `arg` must point to `count` entries of the type that `opcode` demands.
unsafe fn register(fd: i32, opcode: u32, arg: *const libc::c_void, count: u32) -> i64 {
    // SAFETY: the caller vouches for `arg`.
    unsafe { libc::syscall(libc::SYS_io_uring_register, fd, opcode, arg, count) }
}

impl Ring {
    fn new(depth: u32) -> Self {
        let cheap = SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN | SETUP_SUBMIT_ALL;
        for flags in [cheap, 0] {
            let mut params = Params { flags, ..Params::default() };
            // SAFETY: `params` is read and written by the call.
            let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, depth, &raw mut params) };
            if fd >= 0 {
                return Self::map(fd as i32, &params);
            }
        }
        die("io_uring_setup");
    }

    fn map(fd: i32, params: &Params) -> Self {
        let sq_len = params.sq_off.array as usize + params.sq_entries as usize * 4;
        let cq_len = params.cq_off.cqes as usize + params.cq_entries as usize * size_of::<Cqe>();
        let sq = map(fd, OFF_SQ_RING, sq_len);
        let cq = map(fd, OFF_CQ_RING, cq_len);
        let sqes = map(fd, OFF_SQES, params.sq_entries as usize * size_of::<Sqe>());
        let at = |base: *mut u8, offset: u32| base.wrapping_add(offset as usize);
        for i in 0..params.sq_entries {
            // SAFETY: the index array has `sq_entries` entries, which the mapping covers.
            unsafe { *at(sq, params.sq_off.array + 4 * i).cast::<u32>() = i };
        }
        let mut ring = Ring {
            fd,
            enter_fd: fd,
            enter_flags: ENTER_GETEVENTS,
            sqes: sqes.cast(),
            sq_mask: params.sq_entries - 1,
            sq_tail: at(sq, params.sq_off.tail).cast(),
            cqes: at(cq, params.cq_off.cqes).cast(),
            cq_mask: params.cq_entries - 1,
            cq_head: at(cq, params.cq_off.head).cast(),
            cq_tail: at(cq, params.cq_off.tail).cast(),
        };
        let mut update = RsrcUpdate { offset: u32::MAX, resv: 0, data: fd as u64 };
        // SAFETY: `update` is the one entry that the call reads and writes.
        if unsafe { register(fd, REGISTER_RING_FDS, (&raw mut update).cast(), 1) } == 1 {
            ring.enter_fd = update.offset as i32;
            ring.enter_flags |= ENTER_REGISTERED_RING;
        }
        ring
    }
}

/// Registers the file, and the whole memory as one buffer.
fn register_all(fd: i32, file: i32, memory: &Memory) {
    let buffer = libc::iovec { iov_base: memory.at(0).cast(), iov_len: memory.bytes };
    // SAFETY: the call reads one buffer description, and the buffer is never freed.
    if unsafe { register(fd, REGISTER_BUFFERS, (&raw const buffer).cast(), 1) } != 0 {
        die("IORING_REGISTER_BUFFERS");
    }
    // SAFETY: the call reads one descriptor.
    if unsafe { register(fd, REGISTER_FILES, (&raw const file).cast(), 1) } != 0 {
        die("IORING_REGISTER_FILES");
    }
}

/// Runs the loop.
pub(crate) fn run(job: &Job, file: &File) -> Measured {
    let memory = Memory::new(job);
    let ring = Ring::new(job.depth);
    let mut common = Sqe { opcode: OP_READ, fd: file.as_raw_fd(), ..Sqe::default() };
    common.len = job.block as u32;
    if job.fixed {
        register_all(ring.fd, file.as_raw_fd(), &memory);
        common.opcode = OP_READ_FIXED;
        common.fd = 0;
        common.flags = IOSQE_FIXED_FILE;
    }
    let mut free: Vec<u32> = (0..job.depth).rev().collect();
    let (mut tail, mut head) = (0u32, 0u32);
    drive(job, 16, |offsets| {
        let mut batch = 0;
        while batch < job.batch
            && let Some(slot) = free.pop()
        {
            let sqe = Sqe {
                off: offsets.draw(),
                addr: memory.at(slot) as u64,
                user_data: u64::from(slot),
                ..common
            };
            // SAFETY: the masked index is in the array, and fewer ops than entries are in flight.
            unsafe { ring.sqes.add((tail & ring.sq_mask) as usize).write(sqe) };
            tail = tail.wrapping_add(1);
            batch += 1;
        }
        // SAFETY: points into the mapped ring.
        unsafe { &*ring.sq_tail }.store(tail, Ordering::Release);
        let (enter, flags) = (libc::SYS_io_uring_enter, ring.enter_flags);
        let wait = if job.batch < job.depth { job.batch } else { 1 };
        // SAFETY: no argument structure is passed.
        let sent =
            unsafe { libc::syscall(enter, ring.enter_fd, batch, wait, flags, 0usize, 0usize) };
        if sent != i64::from(batch) {
            die("io_uring_enter");
        }
        // SAFETY: points into the mapped ring.
        let end = unsafe { &*ring.cq_tail }.load(Ordering::Acquire);
        let count = end.wrapping_sub(head);
        while head != end {
            // SAFETY: the masked index is in the array, and the kernel wrote the entry before the
            // tail.
            let cqe = unsafe { *ring.cqes.add((head & ring.cq_mask) as usize) };
            if cqe.res != job.block as i32 {
                die("a read was not whole");
            }
            free.push(cqe.user_data as u32);
            head = head.wrapping_add(1);
        }
        // SAFETY: points into the mapped ring.
        unsafe { &*ring.cq_head }.store(head, Ordering::Release);
        u64::from(count)
    })
}
