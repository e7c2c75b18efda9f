//! Stores that reach persistent memory: cache lines that are written back, stores past the caches, and the fence
//! that waits for both.
//!
//! A store to persistent memory is durable when its cache line has left the CPU's caches. `CLWB` and its
//! predecessors write a line back; non-temporal stores bypass the caches. Both return before the line has
//! arrived. [`drain`] waits.

use std::sync::OnceLock;

/// The instruction that writes a cache line back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LineFlush {
    /// `CLWB`: the line stays in the cache.
    Clwb,
    /// `CLFLUSHOPT`: the line leaves the cache.
    Clflushopt,
    /// `CLFLUSH`: the line leaves the cache, and the flushes wait for each other.
    Clflush,
}

impl LineFlush {
    /// The best instruction of this CPU. `None`: fiord knows none for this architecture.
    #[must_use]
    pub fn of_this_cpu() -> Option<LineFlush> {
        static FOUND: OnceLock<Option<LineFlush>> = OnceLock::new();
        *FOUND.get_or_init(detect)
    }

    /// Chooses from the registers of CPUID: EDX of leaf 1, EBX of leaf 7.
    #[cfg(any(target_arch = "x86_64", test))]
    fn choose(leaf_1_edx: u32, leaf_7_ebx: u32) -> Option<LineFlush> {
        let has = |register: u32, bit: u32| register >> bit & 1 == 1;
        match () {
            () if has(leaf_7_ebx, 24) => Some(LineFlush::Clwb),
            () if has(leaf_7_ebx, 23) => Some(LineFlush::Clflushopt),
            () if has(leaf_1_edx, 19) => Some(LineFlush::Clflush),
            () => None,
        }
    }
}

/// How a write reaches persistent memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PersistentWrite {
    /// The instruction that writes back what was stored through the caches.
    pub flush: LineFlush,
    /// Whole cache lines bypass the caches.
    pub non_temporal: bool,
    /// The write waits until its data has left the caches ([`drain`]).
    pub drain: bool,
}

/// Length of a cache line of every x86-64 CPU with these instructions, bytes.
const LINE: usize = 64;
/// Number of bytes that are copied before their lines are written back, so that they are still in the nearest cache.
const CHUNK: usize = 4096;

impl PersistentWrite {
    /// Copies `len` bytes.
    ///
    /// # Safety
    ///
    /// `from` must be readable and `to` writable for `len` bytes, and they must not overlap.
    #[inline(always)]
    pub(crate) unsafe fn copy(self, from: *const u8, to: *mut u8, len: usize) {
        if self.non_temporal {
            // SAFETY: the caller vouches for the memory.
            unsafe { self.copy_past_caches(from, to, len) };
        } else {
            // SAFETY: the caller vouches for the memory.
            unsafe { self.copy_through_caches(from, to, len) };
        }
        if self.drain {
            drain();
        }
    }

    /// # Safety
    ///
    /// As [`PersistentWrite::copy`].
    unsafe fn copy_through_caches(self, from: *const u8, to: *mut u8, len: usize) {
        for at in (0..len).step_by(CHUNK) {
            let part = CHUNK.min(len - at);
            // SAFETY: the part lies in the memory that the caller vouches for.
            unsafe {
                std::ptr::copy_nonoverlapping(from.add(at), to.add(at), part);
                self.write_back(to.add(at), part);
            }
        }
    }

    /// Bytes before the first and after the last whole line pass through the caches.
    ///
    /// # Safety
    ///
    /// As [`PersistentWrite::copy`].
    unsafe fn copy_past_caches(self, from: *const u8, to: *mut u8, len: usize) {
        let head = to.align_offset(LINE).min(len);
        let lines = (len - head) / LINE;
        let tail = head + lines * LINE;
        // SAFETY: the three parts lie in the memory that the caller vouches for.
        unsafe {
            self.copy_through_caches(from, to, head);
            instructions::stream_lines(from.add(head), to.add(head), lines);
            self.copy_through_caches(from.add(tail), to.add(tail), len - tail);
        }
    }

    /// Starts to write back the lines of a range.
    ///
    /// # Safety
    ///
    /// The range must be mapped.
    #[inline(always)]
    unsafe fn write_back(self, start: *mut u8, len: usize) {
        let first = start.wrapping_sub(start as usize % LINE);
        for at in (0..start as usize + len - first as usize).step_by(LINE) {
            // SAFETY: the line contains a byte of the range.
            unsafe { instructions::write_back_line(self.flush, first.wrapping_add(at)) };
        }
    }
}

/// Waits until all that this thread has written back or stored past the caches has arrived (`SFENCE`).
#[inline]
pub fn drain() {
    instructions::fence();
}

#[cfg(target_arch = "x86_64")]
use instructions::detect;

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Option<LineFlush> {
    None
}

#[cfg(target_arch = "x86_64")]
mod instructions {
    //! The instructions. They are written as assembly, because `core::arch` lacks two of the flushes, and because
    //! its non-temporal stores must be followed by a fence before any other access in the Rust memory model.

    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    use super::{LINE, LineFlush};

    pub(super) fn detect() -> Option<LineFlush> {
        let highest = __cpuid(0).eax;
        let leaf_7 = if highest >= 7 { __cpuid_count(7, 0).ebx } else { 0 };
        LineFlush::choose(__cpuid(1).edx, leaf_7)
    }

    /// # Safety
    ///
    /// The line must be mapped, and the CPU must have the instruction.
    #[inline(always)]
    pub(super) unsafe fn write_back_line(flush: LineFlush, line: *mut u8) {
        // SAFETY: the instructions change no register, no flag and no byte of memory.
        unsafe {
            match flush {
                LineFlush::Clwb => {
                    asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags))
                }
                LineFlush::Clflushopt => {
                    asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
                }
                LineFlush::Clflush => {
                    asm!("clflush [{}]", in(reg) line, options(nostack, preserves_flags));
                }
            }
        }
    }

    /// Copies whole lines past the caches.
    ///
    /// # Safety
    ///
    /// `from` must be readable and `to` writable for this number of lines, and `to` must be the start of a line.
    #[inline(always)]
    pub(super) unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
        for line in 0..lines {
            // SAFETY: the caller vouches for the memory; the destination is aligned to 16 bytes, as `MOVNTDQ` requires.
            unsafe {
                asm!(
                    "movdqu {a}, [{from}]",
                    "movdqu {b}, [{from} + 16]",
                    "movdqu {c}, [{from} + 32]",
                    "movdqu {d}, [{from} + 48]",
                    "movntdq [{to}], {a}",
                    "movntdq [{to} + 16], {b}",
                    "movntdq [{to} + 32], {c}",
                    "movntdq [{to} + 48], {d}",
                    from = in(reg) from.add(line * LINE),
                    to = in(reg) to.add(line * LINE),
                    a = out(xmm_reg) _,
                    b = out(xmm_reg) _,
                    c = out(xmm_reg) _,
                    d = out(xmm_reg) _,
                    options(nostack, preserves_flags),
                );
            }
        }
    }

    #[inline(always)]
    pub(super) fn fence() {
        // SAFETY: the instruction only waits.
        unsafe { asm!("sfence", options(nostack, preserves_flags)) };
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod instructions {
    //! Other architectures: no [`LineFlush`] exists, so no write reaches these functions.

    use super::{LINE, LineFlush};

    pub(super) unsafe fn write_back_line(_flush: LineFlush, _line: *mut u8) {}

    pub(super) unsafe fn stream_lines(from: *const u8, to: *mut u8, lines: usize) {
        // SAFETY: the caller vouches for the memory.
        unsafe { std::ptr::copy_nonoverlapping(from, to, lines * LINE) };
    }

    pub(super) fn fence() {
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_instruction_of_the_cpu_is_chosen() {
        let (clflush, clflushopt, clwb) = (1 << 19, 1 << 23, 1 << 24);
        assert_eq!(LineFlush::choose(clflush, clflushopt | clwb), Some(LineFlush::Clwb));
        assert_eq!(LineFlush::choose(clflush, clflushopt), Some(LineFlush::Clflushopt));
        assert_eq!(LineFlush::choose(clflush, !(clflushopt | clwb)), Some(LineFlush::Clflush));
        assert_eq!(LineFlush::choose(!clflush, 0), None);
    }

    /// The kernel lists the instructions under these names.
    #[test]
    #[cfg_attr(miri, ignore = "Miri executes no CPUID")]
    #[cfg(target_arch = "x86_64")]
    fn the_kernel_agrees() {
        let Ok(info) = std::fs::read_to_string("/proc/cpuinfo") else { return };
        let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        let has = |name: &str| flags.split_whitespace().any(|flag| flag == name);
        let all = [
            ("clwb", LineFlush::Clwb),
            ("clflushopt", LineFlush::Clflushopt),
            ("clflush", LineFlush::Clflush),
        ];
        let best = all.into_iter().find(|(name, _)| has(name)).map(|(_, flush)| flush);
        assert_eq!(LineFlush::of_this_cpu(), best);
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri executes no assembly")]
    fn every_way_copies_exactly_these_bytes() {
        const LEN: usize = 3 * CHUNK;
        let Some(flush) = LineFlush::of_this_cpu() else { return };
        let from: Vec<u8> = (0..LEN).map(|at| (at * 7 + at / 256) as u8 | 1).collect();
        for flush in [flush, LineFlush::Clflush] {
            for non_temporal in [false, true] {
                for (start, len) in
                    [(0, LEN), (1, 1), (63, 2), (64, 64), (5, 4096), (100, 9000), (7, 0), (0, 4097)]
                {
                    let mut to = vec![0u8; LEN];
                    let write = PersistentWrite { flush, non_temporal, drain: true };
                    // SAFETY: both ranges lie in their vectors.
                    unsafe {
                        write.copy(from.as_ptr().add(start), to.as_mut_ptr().add(start), len);
                    }
                    let end = start + len;
                    assert_eq!(to[start..end], from[start..end], "{write:?} {start} {len}");
                    let outside = to[..start].iter().chain(&to[end..]);
                    assert!(outside.copied().all(|byte| byte == 0), "{write:?} {start} {len}");
                }
            }
        }
    }
}
