//! What a target may contain after a crash, according to the journal of the run.
//!
//! A write that was flushed must be there, or a newer one. A write that was issued and not flushed may be there or not.
//! So each block may contain the last flushed write or any that was issued after it.

use std::collections::{BTreeMap, HashMap};

use super::journal::JournalRecord;
use super::sector::SectorWriter;

/// The writes that each block may contain.
#[derive(Debug, Clone, Default)]
pub struct CrashState {
    /// Bytes of a block.
    block: u64,
    /// The writes of each block since the last flushed one, which is the first, in the order of issue.
    blocks: BTreeMap<u64, Vec<Candidate>>,
    /// Writes that were issued and not flushed.
    open: HashMap<(u16, u64), OpenWrite>,
    /// Writes that completed and were not flushed, in the order of completion.
    completed: Vec<(u16, u64)>,
    /// Number of `completed` when each flush was issued that has not completed.
    flushes: HashMap<u64, usize>,
    /// Flushes that have completed.
    flushed: u64,
}

/// A write that a block may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Candidate {
    writer: SectorWriter,
    /// Number of completed flushes when it was issued.
    epoch: u64,
    /// Number of completed flushes when it was flushed, including that one; `None` if it was not.
    flushed: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct OpenWrite {
    offset: u64,
    length: u32,
}

/// The writes that a block may contain after a crash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockWindow {
    /// The last write that was flushed; `None` if none was: the block may contain what it contained before the run.
    pub flushed: Option<SectorWriter>,
    /// The writes that were issued after it.
    pub issued: Vec<SectorWriter>,
}

/// What a block contains, judged by the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrashVerdict {
    /// The last flushed write, or one issued after it. The number of flushes that had completed when it was issued.
    Accepted {
        /// `None`: data from before the run, and no write to the block was flushed.
        epoch: Option<u64>,
    },
    /// Older data: a write is missing that had been acknowledged and flushed.
    Lost {
        /// The missing write.
        missing: SectorWriter,
        /// Number of the flush that covered it, from 1 in the order of completion.
        flush: u64,
    },
    /// A write of this run that the journal does not have, or has for other blocks only.
    NotInJournal,
}

impl CrashState {
    /// The state before the run. `block`: bytes of a block, from the header of the journal.
    #[must_use]
    pub fn new(block: u64) -> Self {
        CrashState { block: block.max(1), ..CrashState::default() }
    }

    /// Applies the next record of the journal. Records that contradict earlier ones have no effect.
    pub fn apply(&mut self, record: JournalRecord) {
        match record {
            JournalRecord::Intent { writer, offset, length } => self.issue(writer, offset, length),
            JournalRecord::Completed(writer) => {
                if self.open.contains_key(&key(writer)) {
                    self.completed.push(key(writer));
                }
            }
            JournalRecord::Failed(_) => {}
            JournalRecord::FlushIssued(flush) => {
                self.flushes.insert(flush, self.completed.len());
            }
            JournalRecord::FlushCompleted(flush) => {
                if let Some(covered) = self.flushes.remove(&flush) {
                    self.flush(covered);
                }
            }
        }
    }

    /// The blocks that the run wrote, with what each may contain.
    pub fn windows(&self) -> impl Iterator<Item = (u64, BlockWindow)> + '_ {
        self.blocks.iter().map(|(block, list)| (block * self.block, window(list)))
    }

    /// The writes that the block at this offset may contain; `None` if the run did not write it.
    #[must_use]
    pub fn window(&self, offset: u64) -> Option<BlockWindow> {
        self.blocks.get(&(offset / self.block)).map(|list| window(list))
    }

    /// Judges the block at `offset`. `found`: the write that its sectors state; `None` if they are not of this run.
    #[must_use]
    pub fn judge(&self, offset: u64, found: Option<SectorWriter>) -> CrashVerdict {
        let Some(list) = self.blocks.get(&(offset / self.block)) else {
            return match found {
                Some(_) => CrashVerdict::NotInJournal,
                None => CrashVerdict::Accepted { epoch: None },
            };
        };
        let place = found.map(|found| list.iter().position(|one| one.writer == found));
        let newest = list.iter().rposition(|one| one.flushed.is_some());
        match (place, newest) {
            (Some(Some(at)), newest) if newest.is_none_or(|newest| at >= newest) => {
                CrashVerdict::Accepted { epoch: Some(list[at].epoch) }
            }
            (None, None) => CrashVerdict::Accepted { epoch: None },
            (Some(None), None) => CrashVerdict::NotInJournal,
            // Writes before the last flushed one are forgotten, so an unknown write is one of them.
            (_, Some(newest)) => {
                let Candidate { writer, flushed, .. } = list[newest];
                CrashVerdict::Lost { missing: writer, flush: flushed.unwrap_or(0) }
            }
            (Some(Some(_)), None) => CrashVerdict::NotInJournal,
        }
    }

    fn issue(&mut self, writer: SectorWriter, offset: u64, length: u32) {
        if length == 0 || self.open.contains_key(&key(writer)) {
            return;
        }
        self.open.insert(key(writer), OpenWrite { offset, length });
        let candidate = Candidate { writer, epoch: self.flushed, flushed: None };
        for block in self.blocks_of(offset, length) {
            self.blocks.entry(block).or_default().push(candidate);
        }
    }

    /// The first `covered` completed writes are durable.
    fn flush(&mut self, covered: usize) {
        self.flushed += 1;
        let covered = covered.min(self.completed.len());
        let durable: Vec<(u16, u64)> = self.completed.drain(..covered).collect();
        self.flushes.values_mut().for_each(|count| *count = count.saturating_sub(covered));
        for key in durable {
            let Some(write) = self.open.remove(&key) else { continue };
            for block in self.blocks_of(write.offset, write.length) {
                let Some(list) = self.blocks.get_mut(&block) else { continue };
                let place = list.iter().position(|one| (one.writer.job, one.writer.number) == key);
                if let Some(at) = place {
                    list[at].flushed = Some(self.flushed);
                    // What is older than a flushed write is not accepted any more.
                    list.drain(..at);
                }
            }
        }
    }

    fn blocks_of(&self, offset: u64, length: u32) -> std::ops::RangeInclusive<u64> {
        let last = offset.saturating_add(u64::from(length) - 1);
        // A damaged length must not make the reader slow: it is at most 4 GiB.
        offset / self.block..=last / self.block
    }
}

fn key(writer: SectorWriter) -> (u16, u64) {
    (writer.job, writer.number)
}

fn window(list: &[Candidate]) -> BlockWindow {
    let newest = list.iter().rposition(|one| one.flushed.is_some());
    BlockWindow {
        flushed: newest.map(|at| list[at].writer),
        issued: list[newest.map_or(0, |at| at + 1)..].iter().map(|one| one.writer).collect(),
    }
}

/// Counts the verdicts about the blocks of a target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CrashTally {
    accepted: u64,
    not_in_journal: u64,
    /// Numbers of lost blocks by the number of the flush that covered them.
    lost: BTreeMap<u64, u64>,
    /// The largest number of completed flushes before the issue of a write that survived.
    newest_epoch: u64,
}

impl CrashTally {
    /// Adds the verdict about a block.
    pub fn add(&mut self, verdict: CrashVerdict) {
        match verdict {
            CrashVerdict::Accepted { epoch } => {
                self.accepted += 1;
                self.newest_epoch = self.newest_epoch.max(epoch.unwrap_or(0));
            }
            CrashVerdict::Lost { flush, .. } => *self.lost.entry(flush).or_default() += 1,
            CrashVerdict::NotInJournal => self.not_in_journal += 1,
        }
    }

    /// Blocks with a write that the journal allows.
    #[must_use]
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Blocks whose write was acknowledged and flushed, and is missing: the target had promised it.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.values().sum()
    }

    /// The lost blocks although a write survived that was issued after their flush: the target has kept a newer write
    /// and lost an older, flushed one, so it does not keep the order across a flush.
    #[must_use]
    pub fn out_of_order(&self) -> u64 {
        self.lost.range(..=self.newest_epoch).map(|(_, blocks)| blocks).sum()
    }

    /// Blocks with a write of the run that the journal does not have.
    #[must_use]
    pub fn not_in_journal(&self) -> u64 {
        self.not_in_journal
    }
}

#[cfg(test)]
#[path = "crash_tests.rs"]
mod tests;
