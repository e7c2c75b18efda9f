//! `psync` and `mmap`, one I/O at a time: `pread(2)`, and `memcpy` from a mapping.

use std::fs::File;
use std::os::fd::AsRawFd;

use super::{Job, Measured, Memory, die, drive};

/// Reads with `pread(2)`.
pub(crate) fn psync(job: &Job, file: &File) -> Measured {
    let memory = Memory::new(job);
    let (fd, data, block) = (file.as_raw_fd(), memory.at(0).cast(), job.block);
    drive(job, 256, |offsets| {
        // SAFETY: `data` has room for a block.
        let got = unsafe { libc::pread(fd, data, block, offsets.draw() as i64) };
        if got != block as isize {
            die("pread");
        }
        1
    })
}

/// Copies from a shared mapping.
pub(crate) fn mmap(job: &Job, file: &File) -> Measured {
    let memory = Memory::new(job);
    let (data, block) = (memory.at(0), job.block);
    let bytes = (job.blocks * block as u64) as usize;
    // SAFETY: a mapping at an address that the kernel chooses touches no memory in use.
    let map = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if map == libc::MAP_FAILED {
        die("mmap");
    }
    let map: *const u8 = map.cast_const().cast();
    drive(job, 256, |offsets| {
        let from = map.wrapping_add(offsets.draw() as usize);
        // SAFETY: the block lies in the mapping of a file that does not become shorter, and `data`
        // has room for it.
        unsafe { std::ptr::copy_nonoverlapping(from, data, block) };
        // Keeps the compiler from removing a copy whose result is not used.
        std::hint::black_box(data);
        1
    })
}
