//! Whether the target kept a write and lost an older one that a flush between them covered.

use std::collections::HashMap;

use super::order::{Ordinal, WriteOrder};
use crate::integrity::journal::JournalRecord;

/// Finds the last flush of a target that completed before a write was issued.
#[derive(Debug, Clone)]
pub struct FlushBefore {
    /// Index of the target.
    target: u16,
    /// The write; `None`: it was issued after all records.
    survivor: Option<Ordinal>,
    position: u64,
    issued: u64,
    /// The write has been issued.
    reached: bool,
    /// Flushes that have not completed, with their records.
    open: HashMap<u64, u64>,
    /// Record of the last flush that completed: it covers the writes that completed before.
    flushed_until: u64,
    /// Record of the issue of the write.
    end: u64,
}

impl FlushBefore {
    /// `survivor`: the write; `None`: it was issued after all writes of the journal.
    #[must_use]
    pub fn new(target: u16, survivor: Option<Ordinal>) -> Self {
        FlushBefore {
            target,
            survivor,
            position: 0,
            issued: 0,
            reached: false,
            open: HashMap::new(),
            flushed_until: 0,
            end: u64::MAX,
        }
    }

    /// Applies the next record of the journal.
    pub fn apply(&mut self, record: JournalRecord) {
        let position = self.position;
        self.position += 1;
        if self.reached {
            return;
        }
        match record {
            JournalRecord::Issued { .. } => {
                if self.survivor == Some(Ordinal(self.issued)) {
                    self.reached = true;
                    self.end = position;
                }
                self.issued += 1;
            }
            JournalRecord::FlushIssued { flush, target } if target == self.target => {
                self.open.insert(flush, position);
            }
            JournalRecord::FlushCompleted(flush) => {
                if let Some(issued) = self.open.remove(&flush) {
                    self.flushed_until = self.flushed_until.max(issued);
                }
            }
            _ => {}
        }
    }
}

/// Counts the lost blocks whose write was durable before a write was issued that survived.
#[derive(Debug, Clone)]
pub struct OutOfOrder<'o> {
    flushes: FlushBefore,
    order: &'o WriteOrder,
    /// The lost writes of all blocks, in ascending order.
    missing: Vec<Ordinal>,
    position: u64,
    blocks: u64,
}

impl<'o> OutOfOrder<'o> {
    /// `flushes` has seen the whole journal. `missing`: for each lost block its last flushed write.
    #[must_use]
    pub fn new(flushes: FlushBefore, order: &'o WriteOrder, mut missing: Vec<Ordinal>) -> Self {
        missing.sort_unstable();
        OutOfOrder { flushes, order, missing, position: 0, blocks: 0 }
    }

    /// Applies the next record of the journal.
    pub fn apply(&mut self, record: JournalRecord) {
        let position = self.position;
        self.position += 1;
        let JournalRecord::Completed { writer, target, durable } = record else { return };
        if target != self.flushes.target {
            return;
        }
        if position < self.flushes.flushed_until || durable && position < self.flushes.end {
            let Some(ordinal) = self.order.ordinal(writer) else { return };
            let first = self.missing.partition_point(|one| *one < ordinal);
            let same = self.missing[first..].iter().take_while(|one| **one == ordinal);
            self.blocks += same.count() as u64;
        }
    }

    /// Lost blocks that are out of order across a flush.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.blocks
    }
}
