//! `zonemode=strided`: I/O stays in a zone until so many bytes were moved in it, then goes to the
//! next one; behind the last zone that begins in the file it goes on in the first. `size` says how
//! much is moved in one pass, not where the zones end: they go on to the end of the file.
//!
//! As fio 3.42 does it: the bytes of all directions count together; a block may cross the end of a
//! zone, but random ones begin where they fit; where the file ends within a zone, sequential I/O that
//! gets there is done with the file.

use fiord_plan::{Strided, ZoneSkip};

/// The zones of one file.
#[derive(Debug, Clone)]
pub struct Zones {
    transfer: u64,
    range: u64,
    /// From the start of a zone to that of the next one.
    stride: u64,
    /// Start of the present zone, from that of the region.
    start: u64,
    /// Bytes moved in it.
    moved: u64,
}

impl Zones {
    /// Of a region of `len` bytes, of which `zoneskip` in per cent is a share.
    pub fn new(plan: Strided, len: u64) -> Self {
        let skip = match plan.skip {
            ZoneSkip::Bytes(bytes) => bytes,
            ZoneSkip::Percent(percent) => (percent / 100.0 * len as f64) as u64,
        };
        let stride = plan.range.saturating_add(skip).max(1);
        Zones { transfer: plan.transfer, range: plan.range, stride, start: 0, moved: 0 }
    }

    /// Start of the present zone.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// Its end, which may lie behind that of the file.
    #[inline]
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.range)
    }

    /// Bytes of the zone in a file that has `len` bytes from the start of the region on.
    pub fn room(&self, len: u64) -> u64 {
        self.range.min(len.saturating_sub(self.start))
    }

    /// Before an I/O: whether another zone begins, in a file that has `len` bytes from the start of
    /// the region on.
    #[inline]
    pub fn turn(&mut self, len: u64) -> bool {
        if self.moved < self.transfer {
            return false;
        }
        self.moved = 0;
        self.start = self.start.saturating_add(self.stride);
        if self.start >= len {
            self.start = 0;
        }
        true
    }

    /// An I/O was made.
    #[inline]
    pub fn count(&mut self, bytes: u32) {
        self.moved += u64::from(bytes);
    }

    /// From the first zone again.
    pub fn rewind(&mut self) {
        (self.start, self.moved) = (0, 0);
    }
}
