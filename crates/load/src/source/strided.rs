//! `zonemode=strided`: I/O stays in a zone until it has moved a number of bytes (`zonesize`), then
//! goes to the next zone; after the last zone that begins in the file it goes to the first. `size`
//! limits the bytes of one pass, not the zones, which continue to the end of the file.
//!
//! As in fio 3.42, the bytes of all directions count together. A block may cross the end of a zone,
//! but a random block begins where it fits. If the file ends within a zone, sequential I/O that
//! reaches the end is done with the file.

use fiord_plan::{Strided, ZoneSkip};
use fiord_types::Bytes;

/// The zones of one file.
#[derive(Debug, Clone)]
pub(super) struct StridedZones {
    transfer: u64,
    range: u64,
    /// Distance in bytes from the start of one zone to the start of the next.
    stride: u64,
    /// Start of the present zone, relative to the start of the region.
    start: u64,
    /// Bytes moved in the present zone.
    moved: u64,
}

impl StridedZones {
    /// Zones of a region of `len` bytes. A `zoneskip` in per cent is a share of `len`.
    pub(super) fn new(plan: Strided, len: u64) -> Self {
        let skip = match plan.skip {
            ZoneSkip::Bytes(bytes) => bytes,
            ZoneSkip::Percent(percent) => Bytes((percent / 100.0 * len as f64) as u64),
        };
        let stride = plan.range.saturating_add(skip).max(Bytes(1));
        StridedZones {
            transfer: plan.transfer.0,
            range: plan.range.0,
            stride: stride.0,
            start: 0,
            moved: 0,
        }
    }

    /// Start of the present zone, in bytes from the start of the region.
    pub(super) fn start(&self) -> u64 {
        self.start
    }

    /// End of the present zone, which may lie beyond the end of the file.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.range)
    }

    /// Bytes of the present zone that lie in the file, which has `len` bytes from the start of the
    /// region on.
    pub(super) fn room(&self, len: u64) -> u64 {
        self.range.min(len.saturating_sub(self.start))
    }

    /// Moves to the next zone before an I/O if enough bytes were moved in this one, and returns
    /// whether it did. The file has `len` bytes from the start of the region on.
    #[inline]
    pub(super) fn turn(&mut self, len: u64) -> bool {
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
    pub(super) fn count(&mut self, bytes: u32) {
        self.moved += u64::from(bytes);
    }

    /// Returns to the first zone.
    pub(super) fn rewind(&mut self) {
        (self.start, self.moved) = (0, 0);
    }
}
