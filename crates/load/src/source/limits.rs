//! When a loop, and the passes over the files in it, end.
//!
//! The rules are those of fio 3.42:
//! - A loop ends when `io_size` bytes (by default the bytes of the region) or `number_ios` I/Os were
//!   issued. The I/O that crosses the limit is still made in full. The limits of the loops add up: loop
//!   `k` ends at `k` times the limit of one, and begins where the last one stopped.
//! - A pass ends when every file is done. Another pass begins while loops are left. If `io_size` is
//!   set, another pass also begins as long as the largest block fits into the rest. (Sequential writes to a file of whole blocks do not end the pass at the end of the file: they
//!   start over in it until the last byte.)
//! - With `trimwrite` a trim and its write count once, but no further pass begins once trims and writes
//!   together have reached the limit. A loop ends when all trimmed blocks were written.
//! - With `time_based` only the clock ends the work.

use fiord_plan::{JobPlan, Mix};
use fiord_types::{Bytes, Dir};

/// Counts I/Os and bytes against the limits of a job.
#[derive(Debug, Clone)]
pub(super) struct JobLimits {
    /// Bytes and I/Os of one loop.
    loop_bytes: u64,
    loop_ios: u64,
    /// Totals at which the present loop ends.
    until_bytes: u64,
    until_ios: u64,
    bytes: u64,
    ios: u64,
    /// Passes that begin regardless of the bytes that were transferred.
    passes: u64,
    passes_left: u64,
    /// Number of loops that have not begun.
    loops_left: u64,
    loops: u64,
    /// See [`Asked::resized`].
    resized: bool,
    trimwrite: bool,
    /// Bytes that must be left for another pass to begin.
    rest: u64,
    timed: bool,
}

impl JobLimits {
    /// Limits of a job whose blocks have `smallest` to `largest` bytes.
    pub(super) fn new(job: &JobPlan, smallest: u32, largest: u32) -> Self {
        let asked = Asked::new(job, smallest);
        let timed = job.end.time_based && job.end.runtime.is_some();
        let loops = job.end.loops.max(1);
        let loop_bytes = if timed { u64::MAX } else { asked.bytes.0 };
        let loop_ios = if timed { u64::MAX } else { job.end.ios.unwrap_or(u64::MAX) };
        // The limit counts blocks, and an I/O may consist of several.
        let loop_ios = loop_ios.saturating_mul(job.load.trim_ranges.max(1).into());
        JobLimits {
            loop_bytes,
            loop_ios,
            until_bytes: loop_bytes,
            until_ios: loop_ios,
            bytes: 0,
            ios: 0,
            passes: loops,
            passes_left: loops - 1,
            loops_left: loops - 1,
            loops,
            resized: asked.resized,
            trimwrite: job.load.mix == Mix::TrimWrite,
            rest: u64::from(largest),
            timed,
        }
    }

    /// Whether only the clock ends the work.
    pub(super) fn timed(&self) -> bool {
        self.timed
    }

    /// Whether this loop is done.
    #[inline]
    pub(super) fn reached(&self) -> bool {
        self.bytes >= self.until_bytes || self.ios >= self.until_ios
    }

    /// An I/O was issued.
    #[inline]
    pub(super) fn count(&mut self, dir: Dir, len: u32) {
        // The trim counts, not its write: a pair that has begun is completed.
        if !(self.trimwrite && dir == Dir::Write) {
            self.bytes += u64::from(len);
            self.ios += 1;
        }
    }

    /// A pass has ended. Returns whether another one begins.
    pub(super) fn another_pass(&mut self) -> bool {
        if self.timed {
            return true;
        }
        if self.passes_left > 0 {
            self.passes_left -= 1;
            return true;
        }
        let moved = if self.trimwrite { self.bytes.saturating_mul(2) } else { self.bytes };
        self.resized && self.loop_bytes.saturating_sub(moved) >= self.rest
    }

    /// The next loop begins. After the last one all counts start over.
    pub(super) fn restart(&mut self) {
        if self.loops_left > 0 {
            self.loops_left -= 1;
        } else {
            (self.bytes, self.ios, self.until_bytes, self.until_ios) = (0, 0, 0, 0);
            (self.loops_left, self.passes_left) = (self.loops - 1, self.passes);
        }
        self.until_bytes = self.until_bytes.saturating_add(self.loop_bytes);
        self.until_ios = self.until_ios.saturating_add(self.loop_ios);
    }
}

/// What one loop is to transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked {
    /// Number of bytes: those of the whole regions even if the last block is a partial one, because
    /// random I/O without a map continues until it has moved as many bytes. At most `size`.
    pub bytes: Bytes,
    /// `io_size` is set, or the number differs from the length of the files.
    pub resized: bool,
}

impl Asked {
    /// For a job whose smallest block has this length. The plan's bytes may be rounded down to
    /// whole blocks.
    pub(super) fn new(job: &JobPlan, smallest: u32) -> Self {
        let block = Bytes::from(smallest.max(1));
        let (regions, whole) = (job.target.region(), job.target.whole_blocks(block));
        let fits = job.target.is_pass(job.end.bytes, block) && job.end.bytes <= regions;
        let resized = job.end.sized || !fits;
        match job.end.bytes {
            bytes if bytes == whole && !job.end.sized => {
                Asked { bytes: job.end.size.map_or(regions, |size| regions.min(size)), resized }
            }
            bytes => Asked { bytes, resized },
        }
    }
}
