//! The writes that wait to be read back (`verify_backlog`).

use std::ops::Range;

use fiord_plan::Backlog;
use fiord_types::{Bytes, FileIndex};

use super::ranges::FileRanges;

/// The writes of a job that were not read back since they completed. A later write replaces those that it overlaps.
#[derive(Debug)]
pub(super) struct UnreadWrites {
    pub ranges: FileRanges,
    /// Maximum number of ranges that are kept.
    most: usize,
    /// Ranges were left out since the last pass.
    pub overflowed: bool,
    /// Bytes of writes that were overwritten before they were read back, since they were taken.
    pub overwritten: Bytes,
    /// The current pass goes through the whole map, because ranges were left out.
    pub reads_all: bool,
}

impl UnreadWrites {
    pub(super) fn new(backlog: Backlog) -> Self {
        let most = usize::try_from(backlog.writes).unwrap_or(usize::MAX);
        let most = most.saturating_mul(2).saturating_add(1024);
        // A batch that reads everything goes through the file in order. A smaller one must not leave old writes unread.
        let reads_all = u64::from(backlog.batch) >= backlog.writes;
        UnreadWrites {
            ranges: if reads_all { FileRanges::default() } else { FileRanges::oldest_first() },
            most,
            overflowed: false,
            overwritten: Bytes::ZERO,
            reads_all: false,
        }
    }

    /// A write of a range has completed.
    pub(super) fn written(&mut self, file: FileIndex, range: Range<u64>) {
        self.overwritten += Bytes(self.ranges.remove(file, range.clone()));
        self.changed(file, range, true);
    }

    /// The data of a range is known, or it is not known any more. A range that waits already keeps its turn.
    pub(super) fn changed(&mut self, file: FileIndex, range: Range<u64>, wrote: bool) {
        if wrote && self.ranges.contains(file, &range) {
            return;
        }
        self.ranges.remove(file, range.clone());
        if wrote && self.ranges.len() < self.most {
            self.ranges.insert(file, range);
        } else {
            self.overflowed |= wrote;
        }
    }
}
