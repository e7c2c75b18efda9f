//! `libaio`: `io_submit(2)` for every free slot; completions from the ring in memory or by
//! `io_getevents(2)`.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::{Job, Measured, Memory, die, drive};

/// `struct iocb` (`linux/aio_abi.h`) on little-endian machines.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: i32,
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
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Event {
    data: u64,
    obj: u64,
    res: i64,
    res2: i64,
}

/// Runs the loop.
pub(crate) fn run(job: &Job, file: &File) -> Measured {
    let memory = Memory::new(job);
    let depth = job.depth as usize;
    let mut context = 0u64;
    // SAFETY: writes one handle.
    if unsafe { libc::syscall(libc::SYS_io_setup, job.depth, &raw mut context) } != 0 {
        die("io_setup");
    }
    let mut control: Vec<Iocb> = (0..job.depth)
        .map(|slot| Iocb {
            data: u64::from(slot),
            fd: file.as_raw_fd() as u32,
            buf: memory.at(slot) as u64,
            nbytes: job.block as u64,
            ..Iocb::default()
        })
        .collect();
    let mut free: Vec<u32> = (0..job.depth).rev().collect();
    let mut list: Vec<*mut Iocb> = Vec::with_capacity(depth);
    let mut events = vec![Event::default(); depth];
    drive(job, 16, |offsets| {
        list.clear();
        while list.len() < job.batch as usize
            && let Some(slot) = free.pop()
        {
            let block = &mut control[slot as usize];
            block.offset = offsets.draw() as i64;
            list.push(block);
        }
        let mut sent = 0;
        while sent < list.len() {
            let (rest, count) = (list[sent..].as_ptr(), (list.len() - sent) as i64);
            // SAFETY: the list has `count` pointers to control blocks, whose buffers are free.
            let ret = unsafe { libc::syscall(libc::SYS_io_submit, context, count, rest) };
            if ret <= 0 {
                die("io_submit");
            }
            sent += ret as usize;
        }
        let (room, time) = (events.as_mut_ptr(), std::ptr::null::<libc::timespec>());
        // SAFETY: `events` has room for `depth` entries.
        let got = unsafe {
            libc::syscall(libc::SYS_io_getevents, context, 1i64, depth as i64, room, time)
        };
        if got < 1 {
            die("io_getevents");
        }
        for event in &events[..got as usize] {
            if event.res != job.block as i64 {
                die("a read was not whole");
            }
            free.push(event.data as u32);
        }
        got as u64
    })
}
