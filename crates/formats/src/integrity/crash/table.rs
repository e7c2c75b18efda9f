//! What each block of a part of the target must contain.

use std::collections::VecDeque;
use std::ops::Range;

use fiord_types::Bytes;

use super::order::Ordinal;
use super::summary::JournalSummary;
use crate::integrity::journal::{AnnouncedWrite, JournalRecord};
use crate::integrity::sector::SectorWriter;

/// Blocks for which the table allocates memory together.
const PAGE: usize = 4096;
/// The journal names the block.
const NAMED: u64 = 1 << 63;
/// A write of the block was announced that was not flushed.
const PENDING: u64 = 1 << 62;

/// The blocks of a part of the target. It takes eight bytes for each block that the journal names; blocks beside those
/// take as much.
#[derive(Debug)]
pub struct CrashTable<'s> {
    summary: &'s JournalSummary,
    /// Bytes of a block.
    block: u64,
    /// The part, in blocks.
    part: Range<u64>,
    /// For each block its flags, and 1 plus the place of the last flushed write.
    pages: Vec<Option<Box<[u64; PAGE]>>>,
    /// By job: the writes that have not completed.
    open: Vec<OpenWrites>,
    /// Records that were read.
    position: u64,
    /// Writes that were issued.
    issued: u64,
}

/// What a block may contain: the last flushed write, or any that was issued after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockWindow {
    /// The last flushed write; `None`: no write was flushed, so the block may contain what it contained before the run.
    pub flushed: Option<Ordinal>,
    /// Whether the run may have written the block after that.
    pub pending: bool,
}

/// Consecutive writes of a job.
#[derive(Debug, Default)]
struct OpenWrites {
    /// Number of the first.
    first: u64,
    /// `None`: the write has completed.
    writes: VecDeque<Option<(AnnouncedWrite, Ordinal)>>,
    /// Number of the next write that is issued.
    next: u64,
}

impl<'s> CrashTable<'s> {
    /// Maximum number of blocks of a part: their table takes 256 MiB at most.
    pub const MAX_BLOCKS: u64 = 32 << 20;

    /// An empty table of a part of the target. `block`: length of a block; `part`: in blocks.
    #[must_use]
    pub fn new(summary: &'s JournalSummary, block: Bytes, part: Range<u64>) -> Self {
        let part = part.start..part.end.min(part.start.saturating_add(Self::MAX_BLOCKS));
        let pages = (part.end.saturating_sub(part.start) as usize).div_ceil(PAGE);
        CrashTable {
            summary,
            block: block.0.max(1),
            part,
            pages: vec![None; pages],
            open: Vec::new(),
            position: 0,
            issued: 0,
        }
    }

    /// The part of the target in blocks. It may be shorter than asked for.
    #[must_use]
    pub fn part(&self) -> Range<u64> {
        self.part.clone()
    }

    /// Applies the next record of the journal.
    pub fn apply(&mut self, record: JournalRecord) {
        let position = self.position;
        self.position += 1;
        match record {
            JournalRecord::Announced(writer, write) => {
                let open = self.open_of(writer.job);
                if open.announce(writer.number, write) {
                    self.change(write, |entry| entry | NAMED);
                }
            }
            JournalRecord::Issued { job } => {
                let ordinal = Ordinal(self.issued);
                self.issued += 1;
                self.open_of(job).issue(ordinal);
            }
            JournalRecord::Completed { writer, target, durable } => {
                let Some((write, ordinal)) = self.close(writer) else { return };
                if durable || self.summary.is_flushed(target, position) {
                    let place = (ordinal.0 + 1) & !(NAMED | PENDING);
                    // Writes to one block follow one another. If not, the target may keep either.
                    self.change(write, |_| NAMED | place);
                } else {
                    self.change(write, |entry| entry | NAMED | PENDING);
                }
            }
            JournalRecord::Failed(writer) => {
                if let Some((write, _)) = self.close(writer) {
                    self.change(write, |entry| entry | NAMED | PENDING);
                }
            }
            // Whether a trim is durable or has been carried out is not known.
            JournalRecord::Trimmed { start, length } => {
                self.change(AnnouncedWrite { start, length }, |_| 0);
            }
            JournalRecord::FlushIssued { .. } | JournalRecord::FlushCompleted(_) => {}
        }
    }

    /// All records have been applied.
    pub fn finish(&mut self) {
        for open in std::mem::take(&mut self.open) {
            for (write, _) in open.writes.into_iter().flatten() {
                self.change(write, |entry| entry | NAMED | PENDING);
            }
        }
    }

    /// What the block with this number may contain; `None` if the journal does not name it.
    #[must_use]
    pub fn window(&self, block: u64) -> Option<BlockWindow> {
        let at = usize::try_from(block.checked_sub(self.part.start)?).ok()?;
        let entry = self.pages.get(at / PAGE)?.as_ref()?[at % PAGE];
        (entry & NAMED != 0).then(|| BlockWindow {
            flushed: (entry & !(NAMED | PENDING)).checked_sub(1).map(Ordinal),
            pending: entry & PENDING != 0,
        })
    }

    /// The next run of blocks from `from` on that the journal names, with at most `most` blocks.
    #[must_use]
    pub fn next_run(&self, from: u64, most: u64) -> Option<Range<u64>> {
        let mut block = from.max(self.part.start);
        while block < self.part.end {
            let at = (block - self.part.start) as usize;
            if self.pages[at / PAGE].is_none() {
                block = self.part.start + ((at / PAGE + 1) * PAGE) as u64;
            } else if self.window(block).is_none() {
                block += 1;
            } else {
                let last = block.saturating_add(most.max(1)).min(self.part.end);
                let end = (block..last).find(|one| self.window(*one).is_none()).unwrap_or(last);
                return Some(block..end);
            }
        }
        None
    }

    fn open_of(&mut self, job: u16) -> &mut OpenWrites {
        let index = usize::from(job);
        if self.open.len() <= index {
            self.open.resize_with(index + 1, OpenWrites::default);
        }
        &mut self.open[index]
    }

    fn close(&mut self, writer: SectorWriter) -> Option<(AnnouncedWrite, Ordinal)> {
        self.open.get_mut(usize::from(writer.job))?.close(writer.number)
    }

    /// Changes the entries of the blocks of a write that lie in the part.
    fn change(&mut self, write: AnnouncedWrite, change: impl Fn(u64) -> u64) {
        let Some(length) = write.length.0.checked_sub(1) else { return };
        let last = write.start.0.saturating_add(length);
        let first = (write.start.0 / self.block).max(self.part.start);
        let end = (last / self.block).saturating_add(1).min(self.part.end);
        for block in first..end {
            let at = (block - self.part.start) as usize;
            let page = self.pages[at / PAGE].get_or_insert_with(|| Box::new([0; PAGE]));
            page[at % PAGE] = change(page[at % PAGE]);
        }
    }
}

impl OpenWrites {
    /// False if the write is not the next one, and none of those that are open.
    fn announce(&mut self, number: u64, write: AnnouncedWrite) -> bool {
        let Some(at) = number.checked_sub(self.first) else { return false };
        let entry = Some((write, Ordinal(u64::MAX >> 2)));
        match usize::try_from(at) {
            Ok(at) if at < self.writes.len() => self.writes[at] = entry,
            Ok(at) if at == self.writes.len() => self.writes.push_back(entry),
            _ => return false,
        }
        true
    }

    fn issue(&mut self, ordinal: Ordinal) {
        let at = self.next.checked_sub(self.first).and_then(|at| usize::try_from(at).ok());
        self.next += 1;
        if let Some(Some(Some((_, place)))) = at.map(|at| self.writes.get_mut(at)) {
            *place = ordinal;
        }
    }

    fn close(&mut self, number: u64) -> Option<(AnnouncedWrite, Ordinal)> {
        let at = usize::try_from(number.checked_sub(self.first)?).ok()?;
        let closed = self.writes.get_mut(at)?.take();
        while let Some(None) = self.writes.front() {
            self.writes.pop_front();
            self.first += 1;
        }
        closed
    }
}
