//! Journals of later runs on the same targets: what they name may have been overwritten.

use std::ops::Range;
use std::path::PathBuf;

use fiord_formats::integrity::journal::{JournalHeader, JournalRecord, JournaledTarget};
use fiord_types::Bytes;

use super::error::VerifyError;
use super::journal::JournalFile;

/// The journals of later runs.
#[derive(Debug)]
pub(super) struct LaterJournals(Vec<JournalFile>);

/// The blocks of a part of a target that later runs may have changed.
#[derive(Debug)]
pub(super) struct ChangedBlocks {
    /// The first block of the part, as numbered in the target.
    first: u64,
    bits: Vec<u64>,
}

impl LaterJournals {
    /// Opens them. `earlier`: the header of the journal that is checked.
    pub(super) fn open(paths: &[PathBuf], earlier: &JournalHeader) -> Result<Self, VerifyError> {
        let mut journals = Vec::new();
        for path in paths {
            let journal = JournalFile::open(path)?;
            let shares = |id| journal.header.targets.iter().any(|target| target.id == id);
            if !earlier.targets.iter().any(|target| shares(target.id)) {
                return Err(VerifyError::OtherTargets { journal: path.clone() });
            }
            journals.push(journal);
        }
        Ok(LaterJournals(journals))
    }

    /// What they changed in a part of a target. `part`: in blocks of `block` bytes of the target.
    pub(super) fn changed(
        &self,
        target: &JournaledTarget,
        block: Bytes,
        part: Range<u64>,
    ) -> Result<ChangedBlocks, VerifyError> {
        if self.0.is_empty() {
            return Ok(ChangedBlocks { first: part.start, bits: Vec::new() });
        }
        let blocks = part.end.saturating_sub(part.start) as usize;
        let mut changed = ChangedBlocks { first: part.start, bits: vec![0; blocks.div_ceil(64)] };
        for journal in &self.0 {
            let Some(same) = journal.header.targets.iter().find(|one| one.id == target.id) else {
                continue;
            };
            let next = journal.header.targets.iter().map(|one| one.base);
            let end = next.filter(|base| *base > same.base).min().unwrap_or(Bytes(u64::MAX));
            journal.each(&mut |record| {
                let (start, length) = match record {
                    JournalRecord::Announced(_, write) => (write.start, write.length),
                    JournalRecord::Trimmed { start, length } => (start, length),
                    _ => return,
                };
                if (same.base..end).contains(&start) && length > Bytes::ZERO {
                    let start = (start - same.base).0;
                    changed.add(start / block.0..start.saturating_add(length.0 - 1) / block.0 + 1);
                }
            })?;
        }
        Ok(changed)
    }
}

impl ChangedBlocks {
    fn add(&mut self, blocks: Range<u64>) {
        let end = self.first.saturating_add(64 * self.bits.len() as u64);
        for block in blocks.start.max(self.first)..blocks.end.min(end) {
            let at = block - self.first;
            self.bits[(at / 64) as usize] |= 1 << (at % 64);
        }
    }

    /// Whether later runs may have changed a block.
    pub(super) fn contains(&self, block: u64) -> bool {
        block.checked_sub(self.first).is_some_and(|at| {
            self.bits.get((at / 64) as usize).is_some_and(|bits| bits >> (at % 64) & 1 == 1)
        })
    }
}
