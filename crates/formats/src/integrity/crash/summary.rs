//! What a whole journal says: how many writes and flushes, and which writes the last flush covered.

use std::collections::HashMap;

use super::order::WriteOrder;
use crate::integrity::journal::JournalRecord;

/// The result of the first reading of a journal.
#[derive(Debug, Clone, Default)]
pub struct JournalSummary {
    order: WriteOrder,
    /// Records that were read.
    position: u64,
    targets: Vec<FlushedTarget>,
    failed: u64,
    trims: u64,
    flushes: (u64, u64),
    /// Flushes that have not completed.
    open: HashMap<u64, OpenFlush>,
    /// Lowest address and highest end of all writes.
    span: Option<(u64, u64)>,
}

/// What the flushes of a target cover.
#[derive(Debug, Clone, Copy, Default)]
struct FlushedTarget {
    /// The record of the last flush that was issued and completed: it covers the writes that completed before.
    flushed_until: u64,
    /// Completed writes before that record, and those after it that were durable at once.
    covered: u64,
    durable_since: u64,
    completed: u64,
    durable: u64,
}

/// A flush that has not completed.
#[derive(Debug, Clone, Copy)]
struct OpenFlush {
    target: u16,
    /// The record of its issue.
    position: u64,
    /// Writes to its target that had completed and been durable before.
    completed: u64,
    durable: u64,
}

impl JournalSummary {
    /// Applies the next record of the journal.
    pub fn apply(&mut self, record: JournalRecord) {
        let position = self.position;
        self.position += 1;
        match record {
            JournalRecord::Announced(writer, write) => {
                self.order.announced(writer);
                let end = write.start.saturating_add(write.length).0;
                let (low, high) = self.span.unwrap_or((write.start.0, end));
                self.span = Some((low.min(write.start.0), high.max(end)));
            }
            JournalRecord::Issued { job } => self.order.issued(job),
            JournalRecord::Completed { target, durable, .. } => {
                let target = self.target(target);
                target.completed += 1;
                target.durable += u64::from(durable);
                target.durable_since += u64::from(durable);
            }
            JournalRecord::Failed(_) => self.failed += 1,
            JournalRecord::FlushIssued { flush, target } => {
                self.flushes.0 += 1;
                let FlushedTarget { completed, durable, .. } = *self.target(target);
                self.open.insert(flush, OpenFlush { target, position, completed, durable });
            }
            JournalRecord::FlushCompleted(flush) => {
                let Some(flush) = self.open.remove(&flush) else { return };
                self.flushes.1 += 1;
                let target = self.target(flush.target);
                if flush.position >= target.flushed_until {
                    target.flushed_until = flush.position;
                    target.covered = flush.completed;
                    target.durable_since = target.durable - flush.durable;
                }
            }
            JournalRecord::Trimmed { .. } => self.trims += 1,
        }
    }

    fn target(&mut self, index: u16) -> &mut FlushedTarget {
        let index = usize::from(index);
        if self.targets.len() <= index {
            self.targets.resize_with(index + 1, FlushedTarget::default);
        }
        &mut self.targets[index]
    }

    #[must_use]
    pub fn order(&self) -> &WriteOrder {
        &self.order
    }

    /// Lowest address and highest end of all writes that were announced, in bytes; `None` if there are none.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Writes that the target acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.targets.iter().map(|target| target.completed).sum()
    }

    /// Writes that a flush covered, or that were durable when the target acknowledged them.
    #[must_use]
    pub fn flushed(&self) -> u64 {
        self.targets.iter().map(|target| target.covered + target.durable_since).sum()
    }

    /// Writes that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Trims that were issued.
    #[must_use]
    pub fn trims(&self) -> u64 {
        self.trims
    }

    #[must_use]
    pub fn flushes_issued(&self) -> u64 {
        self.flushes.0
    }

    /// Flushes that the target acknowledged.
    #[must_use]
    pub fn flushes_completed(&self) -> u64 {
        self.flushes.1
    }

    /// Whether a write to a target that completed in the record at this position is durable because of a flush.
    pub(super) fn is_flushed(&self, target: u16, position: u64) -> bool {
        self.targets.get(usize::from(target)).is_some_and(|target| position < target.flushed_until)
    }
}
