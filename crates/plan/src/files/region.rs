//! The extents of files, and the regions of them that jobs use.

use fiord_types::Bytes;

/// Maximum size of a file on Linux, in bytes.
pub(crate) const MAX_FILE: u64 = i64::MAX as u64;

/// Whether a file has a size, and whether it can grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The file can grow. `None`: it does not exist yet.
    Growable(Option<u64>),
    /// The file has this size in bytes and cannot grow.
    Fixed(u64),
    /// The file has no size: a character device, or an engine without files.
    Endless,
}

impl Extent {
    /// The present size in bytes; `None` if there is none.
    pub(crate) fn size_now(self) -> Option<u64> {
        match self {
            Extent::Growable(now) => now,
            Extent::Fixed(size) => Some(size),
            Extent::Endless => None,
        }
    }
}

/// The part of a file that a job uses. All values are in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region {
    pub(crate) offset: Bytes,
    pub(crate) len: Bytes,
    /// The size that the file must have before the run, if it is smaller now.
    pub(crate) needed: Option<Bytes>,
    /// The length that the job asked for, if the target has only `len` bytes and cannot grow.
    pub(crate) asked: Option<Bytes>,
}

impl Region {
    /// The region, extended to the end of its last block if the file holds it. `skip`: bytes between two blocks.
    pub(crate) fn with_last_block(self, extent: Extent, block: u64, skip: u64) -> Region {
        let stride = block.saturating_add(skip).max(1);
        let last = self.len.0.saturating_sub(1) / stride * stride;
        let len = last.saturating_add(block).max(self.len.0);
        let end = self.offset.0.saturating_add(len);
        match extent.size_now() {
            Some(size) if end <= size => Region { len: Bytes(len), ..self },
            _ => self,
        }
    }

    /// Bytes from the end of the region to the end of the file, which strides use too.
    pub(crate) fn beyond(self, extent: Extent) -> Bytes {
        let now = Bytes(extent.size_now().unwrap_or(0));
        let size = now.max(self.needed.unwrap_or_default());
        size.saturating_sub(self.offset.saturating_add(self.len))
    }
}
