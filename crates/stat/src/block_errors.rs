//! How many trims blocks survive until their first error (`block_error_percentiles`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What happened to a block last, or its first error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum BlockState {
    /// Neither trimmed nor written.
    Unwritten = 0,
    Trimmed = 1,
    Written = 2,
    /// A trim failed. Later I/Os do not change this.
    TrimFailed = 3,
    /// A write failed. Later I/Os do not change this.
    WriteFailed = 4,
}

impl BlockState {
    pub const ALL: [BlockState; 5] = [
        BlockState::Unwritten,
        BlockState::Trimmed,
        BlockState::Written,
        BlockState::TrimFailed,
        BlockState::WriteFailed,
    ];

    /// The name in reports, which is fio's.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BlockState::Unwritten => "unwritten",
            BlockState::Trimmed => "trimmed",
            BlockState::Written => "written",
            BlockState::TrimFailed => "trim failure",
            BlockState::WriteFailed => "write failure",
        }
    }
}

/// The states of blocks, and the number of trims of those that failed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockErrors {
    states: [u64; 5],
    /// Number of blocks that failed, by the number of trims before.
    lifetimes: BTreeMap<u32, u64>,
}

impl BlockErrors {
    /// Blocks with these states, in the order of [`BlockState::ALL`]. `failed`: pairs of a number of trims and the
    /// number of blocks that failed after it.
    #[must_use]
    pub fn with(states: [u64; 5], failed: &[(u32, u64)]) -> Self {
        BlockErrors { states, lifetimes: failed.iter().copied().collect() }
    }

    /// Counts blocks with the same state and number of trims.
    pub fn add(&mut self, state: BlockState, trims: u32, blocks: u64) {
        self.states[state as usize] = self.states[state as usize].saturating_add(blocks);
        if matches!(state, BlockState::TrimFailed | BlockState::WriteFailed) && blocks > 0 {
            let count = self.lifetimes.entry(trims).or_default();
            *count = count.saturating_add(blocks);
        }
    }

    /// Adds the blocks of another job.
    pub fn merge(&mut self, other: &BlockErrors) {
        for state in BlockState::ALL {
            let mine = &mut self.states[state as usize];
            *mine = mine.saturating_add(other.states[state as usize]);
        }
        for (trims, blocks) in &other.lifetimes {
            let count = self.lifetimes.entry(*trims).or_default();
            *count = count.saturating_add(*blocks);
        }
    }

    /// Number of blocks in a state.
    #[must_use]
    pub fn count(&self, state: BlockState) -> u64 {
        self.states[state as usize]
    }

    /// Pairs of the number of trims before the first error and the number of blocks that failed after it.
    pub fn lifetimes(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.lifetimes.iter().map(|(trims, blocks)| (*trims, *blocks))
    }

    /// For each percentage: the number of trims after which this share of the blocks that failed had failed. Empty
    /// if no block failed.
    #[must_use]
    pub fn percentiles(&self, list: &[f64]) -> Vec<(f64, u32)> {
        let all: u64 = self.lifetimes.values().sum();
        if all == 0 {
            return Vec::new();
        }
        let trims = |percent: f64| {
            let wanted = ((percent / 100.0 * all as f64).ceil() as u64).max(1);
            let mut sum = 0;
            let mut reached = self.lifetimes.iter().skip_while(|(_, blocks)| {
                sum += **blocks;
                sum < wanted
            });
            reached.next().or(self.lifetimes.last_key_value()).map_or(0, |(trims, _)| *trims)
        };
        list.iter().map(|percent| (*percent, trims(*percent))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_count_the_blocks_that_failed() {
        let mut one = BlockErrors::default();
        one.add(BlockState::Unwritten, 0, 1000);
        one.add(BlockState::Written, 9, 7);
        assert_eq!(one.percentiles(&[50.0]), []);
        for trims in 1..=100 {
            one.add(BlockState::WriteFailed, trims, 1);
        }
        let list = [1.0, 50.0, 99.0, 100.0];
        assert_eq!(one.percentiles(&list), [(1.0, 1), (50.0, 50), (99.0, 99), (100.0, 100)]);
        let mut two = BlockErrors::default();
        two.add(BlockState::TrimFailed, 3, 300);
        one.merge(&two);
        assert_eq!(one.percentiles(&[50.0, 90.0]), [(50.0, 3), (90.0, 60)]);
        let counts = BlockState::ALL.map(|state| one.count(state));
        assert_eq!(counts, [1000, 0, 7, 300, 100]);
        assert_eq!(one.lifetimes().count(), 100);
    }
}
