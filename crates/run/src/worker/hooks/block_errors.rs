//! `block_error_percentiles`.

use fiord_plan::JobPlan;
use fiord_stat::block_errors::{BlockErrors, BlockState};
use fiord_stat::recorder::Recorder;
use fiord_types::{Dir, FileIndex};

use crate::hook::{Completed, Disposition, Events, Hook, HookResults, IssuedIo};

/// Number of low bits of a block that count its trims. The others are its state.
const TRIM_BITS: u32 = 29;
/// Maximum number of trims of a block that are counted.
const MAX_TRIMS: u32 = (1 << TRIM_BITS) - 1;

/// Follows the trims and the first error of each block of the file.
pub(super) struct BlockLifetimes {
    /// Offset of the first block, and length of each, bytes.
    start: u64,
    unit: u64,
    blocks: Vec<u32>,
}

impl BlockLifetimes {
    /// The blocks of a job; `None` if it does not follow them. A job that trims nothing has no blocks.
    pub(super) fn of(job: &JobPlan) -> Option<Self> {
        if !job.record.block_errors {
            return None;
        }
        let unit = u64::from(job.load.blocks[Dir::Trim].min()).max(1);
        let file = job.target.files.first()?;
        let count = match job.load.mix.has(Dir::Trim) {
            true => file.len.0.div_ceil(unit),
            false => 0,
        };
        let count = usize::try_from(count).ok()?;
        Some(BlockLifetimes { start: file.offset.0, unit, blocks: vec![0; count] })
    }

    /// The blocks that an op touches.
    fn touched(&mut self, io: &IssuedIo) -> &mut [u32] {
        let from = io.op.offset.saturating_sub(u64::from(io.op.at)).saturating_sub(self.start);
        let end = from + u64::from(io.op.len) + u64::from(io.op.at);
        let (first, last) = (from / self.unit, end.div_ceil(self.unit));
        let last = usize::try_from(last).unwrap_or(usize::MAX).min(self.blocks.len());
        let first = usize::try_from(first).unwrap_or(usize::MAX).min(last);
        match io.op.file {
            FileIndex(0) => &mut self.blocks[first..last],
            _ => &mut [],
        }
    }
}

fn state(block: u32) -> BlockState {
    BlockState::ALL[((block >> TRIM_BITS) as usize).min(BlockState::ALL.len() - 1)]
}

fn follow(block: &mut u32, dir: Dir, succeeded: bool) {
    if matches!(state(*block), BlockState::TrimFailed | BlockState::WriteFailed) {
        return;
    }
    let mut trims = *block & MAX_TRIMS;
    let state = match (dir, succeeded) {
        (Dir::Trim, true) => {
            trims = (trims + 1).min(MAX_TRIMS);
            BlockState::Trimmed
        }
        (Dir::Trim, false) => BlockState::TrimFailed,
        (_, true) => BlockState::Written,
        (_, false) => BlockState::WriteFailed,
    };
    *block = (state as u32) << TRIM_BITS | trims;
}

impl Hook for BlockLifetimes {
    fn events(&self) -> Events {
        Events::COMPLETED
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if io.dir != Dir::Read && !io.flush {
            self.touched(io).iter_mut().for_each(|block| follow(block, io.dir, end.succeeded));
        }
        Disposition::Release
    }

    fn add_results(&self, results: &mut HookResults) {
        let mut all = BlockErrors::default();
        self.blocks.iter().for_each(|block| all.add(state(*block), *block & MAX_TRIMS, 1));
        results.report.block_errors = Some(all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_of_a_block_stays() {
        let mut block = 0;
        assert_eq!(state(block), BlockState::Unwritten);
        for expected in [1, 2] {
            follow(&mut block, Dir::Trim, true);
            assert_eq!((state(block), block & MAX_TRIMS), (BlockState::Trimmed, expected));
            follow(&mut block, Dir::Write, true);
            assert_eq!(state(block), BlockState::Written);
        }
        follow(&mut block, Dir::Write, false);
        follow(&mut block, Dir::Trim, true);
        follow(&mut block, Dir::Trim, false);
        assert_eq!((state(block), block & MAX_TRIMS), (BlockState::WriteFailed, 2));
        let mut block = (BlockState::Trimmed as u32) << TRIM_BITS | MAX_TRIMS;
        follow(&mut block, Dir::Trim, true);
        assert_eq!((state(block), block & MAX_TRIMS), (BlockState::Trimmed, MAX_TRIMS));
    }
}
