//! A read that is checked, and the parts of it that are bad.

use fiord_engine::Op;
use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis};
use fiord_formats::verify::header::Corruption;
use fiord_types::Bytes;

#[derive(Debug, Clone, Copy)]
pub(crate) struct JudgedRead<'d> {
    /// The whole op.
    pub op: Op,
    pub data: &'d [u8],
}

impl JudgedRead<'_> {
    /// Offset of the first byte.
    pub(crate) fn offset(&self) -> Bytes {
        Bytes(self.op.offset - u64::from(self.op.at))
    }
}

/// An interval that does not contain what was written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadRead {
    /// Offset in the file.
    pub offset: Bytes,
    pub len: Bytes,
    /// How it differs.
    pub difference: BadContents,
}

impl BadRead {
    /// Whether an extent contains a part of the interval.
    pub(super) fn overlaps(&self, extent: &BadExtent) -> bool {
        self.offset < extent.end() && extent.start < self.offset + self.len
    }

    /// The extent of the interval, if nothing explains how it differs.
    pub(super) fn unrecognized(&self, read: &JudgedRead<'_>) -> BadExtent {
        let position = self.offset.saturating_sub(read.offset()).0 as usize;
        let found = read.data.get(position..).unwrap_or_default();
        let diagnosis = Diagnosis::unrecognized(found, None);
        BadExtent { start: self.offset, length: self.len, diagnosis }
    }

    /// Whether the header of the interval is intact, so that the rest can be computed from it.
    pub(crate) fn has_intact_header(&self) -> bool {
        matches!(
            self.difference,
            BadContents::Pattern { .. } | BadContents::Sealed(Corruption::Digest(_))
        )
    }
}

/// How an interval differs from what was written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum BadContents {
    /// The header or the digest.
    #[error("{0}")]
    Sealed(#[from] Corruption),
    /// A byte of the pattern.
    #[error("byte {position} of the read is {found:#04x}, the pattern has {expected:#04x}")]
    Pattern {
        /// Position in the I/O.
        position: u64,
        expected: u8,
        found: u8,
    },
    /// The block is intact, but it is not the newest one.
    #[error("write {number} of thread {thread} is in the block, and a later write is missing")]
    Stale { number: u64, thread: u16 },
    /// A block that was trimmed, or that a command has filled with zeros, is not zero.
    #[error(
        "byte {position} of the read is {found:#04x}, but its block was trimmed or filled with zeros"
    )]
    Trimmed {
        /// Position in the I/O.
        position: u64,
        found: u8,
    },
    /// Sectors of `verify=fiord`.
    #[error("{0}")]
    Sectors(BadExtent),
}
