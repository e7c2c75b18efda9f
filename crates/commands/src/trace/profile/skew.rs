//! Which share of the I/Os goes to which share of the data.

use std::collections::HashSet;

use super::hot::HotBlocks;
use super::sample::BlockSample;

/// Blocks of equal heat.
#[derive(Debug, Clone, Copy)]
struct HeatGroup {
    /// I/Os that begin in each block.
    heat: f64,
    blocks: f64,
}

/// The share of the I/Os that the hottest blocks get. A block counts if an I/O begins in it.
#[derive(Debug, Clone)]
pub struct SkewCurve {
    /// The hottest first.
    groups: Vec<HeatGroup>,
    blocks: f64,
    ios: f64,
}

impl SkewCurve {
    /// Combines the hottest blocks, which are known, with a sample of all others. `distinct`: estimate of how many blocks
    /// there are.
    pub(super) fn new(sample: &BlockSample, hot: &HotBlocks, ios: u64, distinct: f64) -> Self {
        let rate = sample.rate();
        let mut groups = Vec::new();
        let mut known = HashSet::new();
        if rate < 1.0 {
            // The sample misses most of these, and they are too few to be estimated by the others.
            let least = (ios / 256).max(2);
            for block in hot.at_least(least) {
                known.insert(block.hash());
                groups.push(HeatGroup { heat: block.heat(), blocks: 1.0 });
            }
        }
        let hot_ios: f64 = groups.iter().map(|group| group.heat).sum();
        let rest: Vec<u64> = sample
            .starts()
            .filter(|(hash, starts)| *starts > 0 && !known.contains(hash))
            .map(|(_, starts)| starts)
            .collect();
        let sampled: u64 = rest.iter().sum();
        let rest_blocks = (distinct - known.len() as f64).max(rest.len() as f64);
        let rest_ios = (ios as f64 - hot_ios).max(0.0);
        for starts in &rest {
            groups.push(HeatGroup {
                heat: *starts as f64 * rest_ios / sampled.max(1) as f64 * rest.len() as f64
                    / rest_blocks,
                blocks: rest_blocks / rest.len() as f64,
            });
        }
        groups.sort_by(|a, b| b.heat.total_cmp(&a.heat));
        let blocks = groups.iter().map(|group| group.blocks).sum();
        let ios = groups.iter().map(|group| group.heat * group.blocks).sum();
        SkewCurve { groups, blocks, ios }
    }

    /// Blocks in which I/Os begin.
    #[must_use]
    pub fn blocks(&self) -> f64 {
        self.blocks
    }

    /// The share of the I/Os that begin in the hottest `data` of the blocks. Both are from 0 to 1.
    #[must_use]
    pub fn io_of(&self, data: f64) -> f64 {
        let (mut left, mut ios) = (self.blocks * data, 0.0);
        for group in &self.groups {
            let taken = group.blocks.min(left);
            ios += taken * group.heat;
            left -= taken;
            if left <= 0.0 {
                break;
            }
        }
        if self.ios > 0.0 { (ios / self.ios).min(1.0) } else { 0.0 }
    }

    /// The largest difference between the shares of I/Os of two curves.
    #[must_use]
    pub fn difference(&self, other: &SkewCurve) -> f64 {
        let shares = (1..100).map(|percent| f64::from(percent) / 100.0);
        let small = (1..=8).map(|step| 0.01 / f64::from(1 << step));
        let differs = |data: f64| (self.io_of(data) - other.io_of(data)).abs();
        shares.chain(small).map(differs).fold(0.0, f64::max)
    }
}
