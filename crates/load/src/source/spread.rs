//! Distributions of random offsets (`random_distribution`).
//!
//! The position of a hot spot depends only on the seed and the file, so it is the same in every
//! pass and in every run.

use std::sync::Arc;

use fiord_plan::{Law, Skew, ZoneShare, ZoneSize};
use fiord_types::{Dir, FileIndex, PerDir};

use super::laws::Sums;
use super::permute::Scatter;
use super::ranks::Ranks;
use crate::rng::{Purpose, Rng};

/// Skewed distribution over the blocks of one range.
#[derive(Debug, Clone)]
pub struct Skewed {
    blocks: u64,
    ranks: Arc<Ranks>,
    /// Maps ranks to blocks. The hottest blocks lie all over the range, as in fio.
    scatter: Scatter,
}

impl Skewed {
    /// A distribution over `blocks` blocks, at least 1. `which` distinguishes the files of a job.
    pub fn new(skew: Skew, blocks: u64, seed: u64, which: u64) -> Self {
        let blocks = blocks.max(1);
        let sums = Sums::new(skew.law, blocks);
        let mut rng = Rng::new(seed, Purpose::HotSpot, which);
        let hottest = rng.below(blocks);
        let hottest = skew.centre.map_or(hottest, |centre| place(centre, blocks));
        let scatter = Scatter::new(blocks, (hottest_rank(skew.law, blocks), hottest), &mut rng);
        Skewed { blocks, ranks: Arc::new(Ranks::new(&sums)), scatter }
    }

    /// Number of blocks in the range.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Draws a block.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.scatter.place(self.ranks.draw(rng))
    }
}

/// The rank with the largest share, among `n`.
fn hottest_rank(law: Law, n: u64) -> u64 {
    match law {
        Law::Normal { .. } => n / 2,
        Law::Zipf { .. } | Law::Pareto { .. } => 0,
    }
}

/// The block at the share `centre` of the range. A share of 1 is the first block.
fn place(centre: f64, blocks: u64) -> u64 {
    ((centre * blocks as f64) as u64) % blocks
}

/// Number of ranks of a file. A Zipf distribution over single files would be less skewed: with `zipf:1.2`, the hottest of 16 files
/// gets 90 % of the I/O in fio, not 37 %.
pub(super) const RANKS_OF_A_FILE: u64 = 1024;

/// Skewed choice of a file: the files next to the hottest one are the next hottest.
#[derive(Debug, Clone)]
pub(super) struct SkewedFiles {
    ranks: Ranks,
    first: u64,
    files: u64,
}

impl SkewedFiles {
    /// A choice among `files` files, at least 1.
    pub(super) fn new(skew: Skew, files: u64, seed: u64) -> Self {
        let ranks = Ranks::new(&Sums::new(skew.law, files * RANKS_OF_A_FILE));
        let hottest = match skew.centre {
            Some(centre) => place(centre, files),
            None => Rng::new(seed, Purpose::HotSpot, u64::MAX).below(files),
        };
        let rank = hottest_rank(skew.law, files);
        let first = if hottest >= rank { hottest - rank } else { hottest + files - rank };
        SkewedFiles { ranks, first, files }
    }

    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> FileIndex {
        let at = self.first + self.ranks.draw(rng) / RANKS_OF_A_FILE;
        FileIndex((if at >= self.files { at - self.files } else { at }) as u32)
    }
}

/// Zones of a range with a share of the I/O each.
#[derive(Debug, Clone)]
pub(super) struct ZonedDistribution {
    /// For each per cent of the I/O: first block and number of blocks of its zone.
    picks: Box<[(u64, u64)]>,
}

impl ZonedDistribution {
    /// Zones of a range of `len` bytes with `blocks` whole blocks of `block` bytes. Without zones
    /// the whole range is one zone.
    pub(super) fn new(zones: &[ZoneShare], len: u64, blocks: u64, block: u64) -> Self {
        let blocks = blocks.max(1);
        let mut picks = Vec::with_capacity(100);
        let mut end = 0.0;
        let mut bytes = 0u64;
        let mut from = 0;
        for zone in zones {
            let to = match zone.size {
                ZoneSize::Percent(percent) => {
                    end += percent;
                    ((end / 100.0 * len as f64).round() as u64) / block
                }
                ZoneSize::Bytes(size) => {
                    bytes = bytes.saturating_add(size.0);
                    bytes / block
                }
            };
            // A zone that holds no whole block gets the block in which it begins.
            let start = from.min(blocks - 1);
            let count = to.min(blocks).saturating_sub(start).max(1);
            picks.extend(std::iter::repeat_n((start, count), zone.share.into()));
            from = to;
        }
        if picks.is_empty() {
            picks.push((0, blocks));
        }
        ZonedDistribution { picks: picks.into() }
    }

    /// Draws a block.
    #[inline]
    pub(super) fn draw(&self, rng: &mut Rng) -> u64 {
        let (start, count) = self.picks[rng.below(self.picks.len() as u64) as usize];
        start + rng.below(count)
    }
}

/// Repeats a list of blocks (`sequence`). Each direction has its own position in the list; all
/// files share it.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    blocks: Box<[u64]>,
    stride: u64,
    at: PerDir<usize>,
    base: PerDir<u64>,
}

impl Sequence {
    /// `stride`: each round begins further on, by the length of the list.
    pub(super) fn new(blocks: &[u64], stride: bool) -> Self {
        let stride = if stride { blocks.len() as u64 } else { 0 };
        Sequence { blocks: blocks.into(), stride, at: PerDir::all(0), base: PerDir::all(0) }
    }

    /// Returns to the start of the list.
    pub(super) fn rewind(&mut self) {
        (self.at, self.base) = (PerDir::all(0), PerDir::all(0));
    }

    /// The next block of a direction.
    #[inline]
    pub(super) fn draw(&mut self, dir: Dir) -> u64 {
        let Some(&block) = self.blocks.get(self.at[dir]) else { return 0 };
        let block = self.base[dir].saturating_add(block);
        self.at[dir] += 1;
        if self.at[dir] == self.blocks.len() {
            self.at[dir] = 0;
            self.base[dir] = self.base[dir].saturating_add(self.stride);
        }
        block
    }
}
