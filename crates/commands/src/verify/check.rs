//! Compares the blocks that a journal names with the target.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use fiord_formats::integrity::crash::{
    BlockWindow, CrashCheck, CrashFault, CrashTable, CrashTally, FlushBefore, JournalSummary,
    OutOfOrder,
};
use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis};
use fiord_formats::integrity::recheck::{REREADS, Recheck, Reread, RereadConclusion};
use fiord_stat::verify::VerifyResults;
use fiord_types::{Bytes, Errno};

use super::error::VerifyError;
use super::extents::Extents;
use super::journal::JournalFile;
use super::later::{ChangedBlocks, LaterJournals};
use super::progress::VerifyProgress;
use super::read::TargetReader;

/// Maximum number of bytes of a read.
const CHUNK: u64 = 1 << 20;
/// Maximum number of bad blocks that are read again. A broken drive is slow, and further reads add no evidence.
const MAX_REREAD: u32 = 100;

/// What the checks of all targets found.
#[derive(Debug, Clone, Default)]
pub(super) struct CrashFindings {
    pub results: VerifyResults,
    pub tally: CrashTally,
    out_of_order: u64,
}

impl CrashFindings {
    /// Lost blocks although a write from after their flush is there.
    pub(super) fn out_of_order(&self) -> u64 {
        self.out_of_order
    }
}

pub(super) struct TargetCheck<'a> {
    pub journal: &'a JournalFile,
    /// Index of the target in the journal.
    pub target: usize,
    pub later: &'a LaterJournals,
    pub summary: &'a JournalSummary,
    pub reader: &'a mut TargetReader,
    /// The name of the target in reports.
    pub name: &'a str,
    pub atomic: Bytes,
    pub extents: &'a mut Extents,
    /// Becomes true when the check must end.
    pub stop: Option<&'a AtomicBool>,
    pub progress: &'a mut VerifyProgress,
}

struct CheckState<'a, 'f> {
    check: CrashCheck<'a>,
    results: &'f mut VerifyResults,
    rereads: u32,
    /// The blocks of this target that the journal names, by their numbers in the journal.
    span: Range<u64>,
}

/// What the blocks of a part of the target may contain. Blocks are numbered in the target.
struct PartTable<'t> {
    table: &'t CrashTable<'t>,
    /// The number in the journal of the first block of the target.
    base: u64,
    changed: ChangedBlocks,
}

impl PartTable<'_> {
    fn window(&self, block: u64) -> Option<BlockWindow> {
        if self.changed.contains(block) {
            return None;
        }
        self.table.window(block + self.base)
    }

    /// The next blocks from `from` on, at most `most`, that are read together.
    fn next_run(&self, from: u64, most: u64) -> Option<Range<u64>> {
        let mut from = from;
        loop {
            let run = self.table.next_run(from + self.base, most)?;
            let run = run.start - self.base..run.end - self.base;
            match run.clone().find(|block| !self.changed.contains(*block)) {
                Some(start) => {
                    let changed = |block: &u64| self.changed.contains(*block);
                    return Some(start..(start..run.end).find(changed).unwrap_or(run.end));
                }
                None => from = run.end,
            }
        }
    }
}

impl TargetCheck<'_> {
    /// Reads all blocks that the journal names. Returns the counts of this target.
    pub(super) fn run(&mut self, findings: &mut CrashFindings) -> Result<CrashTally, VerifyError> {
        let header = &self.journal.header;
        let target = &header.targets[self.target];
        let block = header.block.0;
        let order = self.summary.order();
        let mut state = CheckState {
            check: CrashCheck::new(header, target.id, order, self.atomic),
            results: &mut findings.results,
            rereads: MAX_REREAD,
            span: 0..0,
        };
        let (low, high) = self.summary.span().unwrap_or((0, 0));
        let next = header.targets.get(self.target + 1).map_or(u64::MAX, |next| next.base.0);
        let mut part = low.max(target.base.0) / block..high.min(next).div_ceil(block);
        state.span = part.start..part.end.max(part.start);
        self.progress.begin();
        while part.start < part.end {
            let mut table = CrashTable::new(self.summary, header.block, part.clone());
            self.journal.each(&mut |record| table.apply(record))?;
            table.finish();
            let base = target.base.0 / block;
            let own = table.part().start - base..table.part().end - base;
            let changed = self.later.changed(target, header.block, own)?;
            self.part(&PartTable { table: &table, base, changed }, &mut state)?;
            part.start = table.part().end;
        }
        if let Some(writer) = state.check.tally().unannounced() {
            return Err(VerifyError::Incomplete { journal: self.journal.path.clone(), writer });
        }
        let missing = state.check.tally_mut().take_missing();
        let index = self.target as u16;
        if let (Some(newest), false) = (state.check.tally().newest(), missing.is_empty()) {
            let mut flushes = FlushBefore::new(index, newest);
            self.journal.each(&mut |record| flushes.apply(record))?;
            let mut misorder = OutOfOrder::new(flushes, order, missing);
            self.journal.each(&mut |record| misorder.apply(record))?;
            findings.out_of_order += misorder.blocks();
        }
        let tally = state.check.tally().clone();
        findings.tally.add(&tally);
        Ok(tally)
    }

    /// Reads the blocks of a table.
    fn part(&mut self, table: &PartTable, state: &mut CheckState) -> Result<(), VerifyError> {
        let block = self.journal.header.block.0;
        let most = (CHUNK / block).max(1);
        let unit = (self.atomic.0 / block).max(1);
        let mut from = table.table.part().start - table.base;
        while let Some(run) = table.next_run(from, most) {
            if self.stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                return Err(VerifyError::CoordinatorEnded);
            }
            // Units of the target are not divided, unless they are longer than a read.
            let whole = run.end - run.end % unit;
            let end = if whole > run.start { whole } else { run.end };
            self.blocks(run.start..end, table, state)?;
            from = end;
            let span = &state.span;
            let done = (end + table.base).min(span.end).saturating_sub(span.start);
            let total = span.end - span.start;
            self.progress.checked(self.name, Bytes(done * block), Bytes(total * block));
        }
        Ok(())
    }

    /// Reads consecutive blocks. If that fails, reads each of them.
    fn blocks(
        &mut self,
        blocks: Range<u64>,
        table: &PartTable,
        state: &mut CheckState,
    ) -> Result<(), VerifyError> {
        let size = self.journal.header.block.0;
        let start = blocks.start * size;
        let length = ((blocks.end - blocks.start) * size) as usize;
        let mut bad = Vec::new();
        let window = |block| table.window(block);
        match self.reader.read(start, length) {
            Ok(data) => {
                state.check.check(start, data, &window, &mut |extent, fault| {
                    bad.push((extent, fault));
                });
            }
            Err(_) if blocks.end - blocks.start > 1 => {
                for block in blocks {
                    self.blocks(block..block + 1, table, state)?;
                }
                return Ok(());
            }
            Err(error) => {
                let errno = error.raw_os_error().map_or(Errno::EIO, Errno::from_raw);
                if let Some(window) = window(blocks.start) {
                    state.check.unreadable(window);
                }
                let diagnosis = Diagnosis::ReadError { errno };
                let extent = BadExtent { start: Bytes(start), length: Bytes(size), diagnosis };
                bad.push((extent, CrashFault::Corrupt));
            }
        }
        for (extent, _) in bad {
            let reread = self.reread(&extent, table, state);
            let complete = state.results.add(self.name, extent, reread);
            self.extents.add(complete)?;
        }
        Ok(())
    }

    /// Reads the blocks of a bad extent again.
    fn reread(
        &mut self,
        extent: &BadExtent,
        table: &PartTable,
        state: &mut CheckState,
    ) -> Option<RereadConclusion> {
        state.rereads = state.rereads.checked_sub(1)?;
        let size = self.journal.header.block.0;
        let start = extent.start.0 - extent.start.0 % size;
        let length = usize::try_from((extent.end().0 - start).next_multiple_of(size)).ok()?;
        let mut recheck = Recheck::new(self.reader.is_cached(), REREADS);
        let mut first: Option<Vec<u8>> = None;
        let window = |block| -> Option<BlockWindow> { table.window(block) };
        while recheck.wants_another() {
            let result = match self.reader.read(start, length) {
                Err(_) => Reread::Failed,
                Ok(data) => {
                    let mut right = true;
                    let (header, order) = (&self.journal.header, self.summary.order());
                    CrashCheck::new(header, header.targets[self.target].id, order, self.atomic)
                        .check(start, data, &window, &mut |_, _| right = false);
                    match &first {
                        _ if right => Reread::Right,
                        Some(first) if first != data => Reread::Other,
                        _ => {
                            first.get_or_insert_with(|| data.to_vec());
                            Reread::Same
                        }
                    }
                }
            };
            recheck.add(result);
        }
        recheck.conclusion()
    }
}
