//! When a loop, and the passes over the files in it, end.
//!
//! The rules are those that fio 3.42 shows:
//! - A loop ends when `io_size` bytes (without it: the bytes of the region) or `number_ios` I/Os
//!   were issued; the I/O that crosses the limit is still whole. Loops add up: the limit of loop `k`
//!   is `k` times that of one, and a loop goes on where the last one stopped.
//! - A pass ends when every file is used up. Another one begins while there are loops to do, and,
//!   where `io_size` asks for more than the files hold, as long as the largest block still fits in
//!   what is left to transfer. (Sequential jobs that write do not end their pass at the end of a
//!   file of whole blocks: they go round in it until the last byte.)
//! - Of `trimwrite` only the writes count, but a pass is not repeated once trims and writes together
//!   have reached the limit.
//! - Under `time_based` only the clock ends the work.

use fiord_plan::{Dir, JobPlan, Mix};

/// Counts what was issued against the job's limits.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes and I/Os of one loop.
    loop_bytes: u64,
    loop_ios: u64,
    /// Up to where this loop goes.
    until_bytes: u64,
    until_ios: u64,
    bytes: u64,
    ios: u64,
    /// Passes that begin whatever was transferred.
    passes: u64,
    passes_left: u64,
    /// Loops that were not begun.
    loops_left: u64,
    loops: u64,
    /// `io_size` differs from what the files hold.
    resized: bool,
    trimwrite: bool,
    /// What must be left to transfer for another pass.
    rest: u64,
    timed: bool,
}

impl Limits {
    /// Of a job whose blocks are between `smallest` and `largest` bytes.
    pub fn new(job: &JobPlan, smallest: u32, largest: u32) -> Self {
        let asked = Asked::new(job, smallest);
        let timed = job.end.time_based && job.end.runtime.is_some();
        let loops = job.end.loops.max(1);
        let loop_bytes = if timed { u64::MAX } else { asked.bytes };
        let loop_ios = if timed { u64::MAX } else { job.end.ios.unwrap_or(u64::MAX) };
        // What is counted is blocks, of which an I/O may have several.
        let loop_ios = loop_ios.saturating_mul(job.load.trim_ranges.max(1).into());
        Limits {
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
    pub fn timed(&self) -> bool {
        self.timed
    }

    /// Whether this loop is done.
    #[inline]
    pub fn reached(&self) -> bool {
        self.bytes >= self.until_bytes || self.ios >= self.until_ios
    }

    /// An I/O is issued.
    #[inline]
    pub fn count(&mut self, dir: Dir, len: u32) {
        if !(self.trimwrite && dir == Dir::Trim) {
            self.bytes += u64::from(len);
            self.ios += 1;
        }
    }

    /// A pass has ended: whether another one begins.
    pub fn another_pass(&mut self) -> bool {
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

    /// Another loop begins. After the last one everything is counted anew.
    pub fn restart(&mut self) {
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
pub struct Asked {
    /// Bytes: of whole regions, even where their last block is not whole, because drawing without a
    /// map goes on until as many bytes were moved.
    pub bytes: u64,
    /// They are not simply those of the files.
    pub resized: bool,
}

impl Asked {
    /// By a job whose smallest block is this. The plan's bytes may be rounded down to whole blocks.
    pub fn new(job: &JobPlan, smallest: u32) -> Self {
        let block = u64::from(smallest.max(1));
        let files = &job.target.files;
        let regions = files.iter().fold(0, |sum: u64, f| sum.saturating_add(f.len));
        let whole = files.iter().fold(0, |sum: u64, f| sum.saturating_add(f.len / block * block));
        match job.end.bytes {
            bytes if bytes == whole => Asked { bytes: regions, resized: false },
            bytes => Asked { bytes, resized: !(whole..=regions).contains(&bytes) },
        }
    }
}
