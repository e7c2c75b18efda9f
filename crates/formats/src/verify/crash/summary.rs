//! What a whole journal says: how many writes and flushes, and which writes the last flush covered.

use std::collections::HashMap;

use super::super::journal::JournalRecord;
use super::order::WriteOrder;

/// The result of the first reading of a journal.
#[derive(Debug, Clone, Default)]
pub struct JournalSummary {
    order: WriteOrder,
    /// Records that were read.
    position: u64,
    /// The record of the last flush that was issued and completed: it covers the writes that completed before.
    flushed_until: u64,
    /// Completed writes before that record, and those after it that were durable at once.
    covered: u64,
    durable_since: u64,
    completed: u64,
    durable: u64,
    failed: u64,
    flushes: (u64, u64),
    /// Flushes that have not completed: their records, and the writes that had completed and been durable before.
    open: HashMap<u64, (u64, u64, u64)>,
    /// Lowest offset and highest end of all writes.
    span: Option<(u64, u64)>,
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
            JournalRecord::Completed { durable, .. } => {
                self.completed += 1;
                self.durable += u64::from(durable);
                self.durable_since += u64::from(durable);
            }
            JournalRecord::Failed(_) => self.failed += 1,
            JournalRecord::FlushIssued(flush) => {
                self.flushes.0 += 1;
                self.open.insert(flush, (position, self.completed, self.durable));
            }
            JournalRecord::FlushCompleted(flush) => {
                let Some((issued, completed, durable)) = self.open.remove(&flush) else { return };
                self.flushes.1 += 1;
                if issued >= self.flushed_until {
                    self.flushed_until = issued;
                    self.covered = completed;
                    self.durable_since = self.durable - durable;
                }
            }
        }
    }

    /// The order of the writes.
    #[must_use]
    pub fn order(&self) -> &WriteOrder {
        &self.order
    }

    /// Lowest offset and highest end of all writes that were announced, in bytes; `None` if there are none.
    #[must_use]
    pub fn span(&self) -> Option<(u64, u64)> {
        self.span
    }

    /// Writes that the target acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        self.completed
    }

    /// Writes that a flush covered, or that were durable when the target acknowledged them.
    #[must_use]
    pub fn flushed(&self) -> u64 {
        self.covered + self.durable_since
    }

    /// Writes that failed.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failed
    }

    /// Flushes that were issued.
    #[must_use]
    pub fn flushes_issued(&self) -> u64 {
        self.flushes.0
    }

    /// Flushes that the target acknowledged.
    #[must_use]
    pub fn flushes_completed(&self) -> u64 {
        self.flushes.1
    }

    /// Whether a write that completed in the record at this position is durable because of a flush.
    pub(super) fn is_flushed(&self, position: u64) -> bool {
        position < self.flushed_until
    }
}
