//! `pmem`, one I/O at a time: copies from and to a mapping, with `clwb` or non-temporal stores and `sfence`.

use std::arch::asm;
use std::fs::File;
use std::os::fd::AsRawFd;

use super::{Job, Measured, Memory, die, drive};

/// Copies from a mapping, or to it.
pub(crate) fn run(job: &Job, file: &File) -> Measured {
    let memory = Memory::new(job);
    let (data, block) = (memory.at(0), job.block);
    let bytes = (job.blocks * block as u64) as usize;
    let sharing = match job.map_sync {
        true => libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC,
        false => libc::MAP_SHARED,
    };
    let protection = if job.write { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    // SAFETY: a mapping at an address that the kernel chooses touches no memory in use.
    let map = unsafe {
        libc::mmap(std::ptr::null_mut(), bytes, protection, sharing, file.as_raw_fd(), 0)
    };
    if map == libc::MAP_FAILED {
        die("mmap");
    }
    let map: *mut u8 = map.cast();
    match (job.write, job.direct) {
        (false, _) => drive(job, 256, |offsets| {
            let from = map.wrapping_add(offsets.draw() as usize);
            // SAFETY: the block lies in the mapping of a file that does not become shorter, and `data`
            // has room for it.
            unsafe { std::ptr::copy_nonoverlapping(from, data, block) };
            std::hint::black_box(data);
            1
        }),
        (true, false) => drive(job, 256, |offsets| {
            let to = map.wrapping_add(offsets.draw() as usize);
            // SAFETY: as above, in the other direction; a block begins with a cache line.
            unsafe {
                std::ptr::copy_nonoverlapping(data, to, block);
                for line in (0..block).step_by(64) {
                    asm!("clwb [{}]", in(reg) to.add(line), options(nostack, preserves_flags));
                }
                asm!("sfence", options(nostack, preserves_flags));
            }
            1
        }),
        (true, true) => drive(job, 256, |offsets| {
            let to = map.wrapping_add(offsets.draw() as usize);
            // SAFETY: as above.
            unsafe {
                for at in (0..block).step_by(16) {
                    asm!(
                        "movdqu {0}, [{1}]",
                        "movntdq [{2}], {0}",
                        out(xmm_reg) _,
                        in(reg) data.add(at),
                        in(reg) to.add(at),
                        options(nostack, preserves_flags),
                    );
                }
                asm!("sfence", options(nostack, preserves_flags));
            }
            1
        }),
    }
}
