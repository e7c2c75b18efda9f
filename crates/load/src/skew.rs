//! Skew of a load: which share of the I/O goes to which share of the data, computed from the closed
//! forms of the distributions and not from draws.

use std::collections::BTreeMap;

use fiord_plan::{Distribution, FilePlan, Load, ZoneSize};
use fiord_types::{Bytes, Dir};

use crate::source::laws::Sums;
use crate::source::ranks;

/// Blocks with equal shares of the I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
struct EqualBlocks {
    blocks: f64,
    share: f64,
}

/// Shares of the I/O that the blocks of one file get in one direction, the hottest first.
#[derive(Debug, Clone, PartialEq)]
pub struct Curve {
    groups: Vec<EqualBlocks>,
    blocks: f64,
}

impl Curve {
    /// Shares for a random load in a file. Without `random_distribution` all blocks have equal
    /// shares.
    #[must_use]
    pub fn new(load: &Load, file: &FilePlan, dir: Dir) -> Self {
        let block = load.align[dir].max(1);
        let blocks = (file.len / Bytes(block)).max(1);
        let mut groups = match &load.distribution {
            Distribution::Even => Vec::new(),
            Distribution::Skewed(skew) => {
                let sums = Sums::new(skew.law, blocks);
                let cells = ranks::shares(&sums).into_iter();
                cells.map(|(share, width)| EqualBlocks { blocks: width as f64, share }).collect()
            }
            Distribution::Zoned(zones) => {
                let size = |size| match size {
                    ZoneSize::Percent(p) => p / 100.0 * blocks as f64,
                    ZoneSize::Bytes(b) => b.0 as f64 / block as f64,
                };
                let zones = zones[dir].iter();
                let group = |z: &fiord_plan::ZoneShare| EqualBlocks {
                    // A zone that holds no whole block still uses one.
                    blocks: size(z.size).max(1.0),
                    share: f64::from(z.share) / 100.0,
                };
                zones.map(group).collect()
            }
            Distribution::Sequence { stride: true, .. } => Vec::new(),
            Distribution::Sequence { blocks, .. } => {
                let mut times: BTreeMap<u64, f64> = BTreeMap::new();
                blocks.iter().for_each(|b| *times.entry(*b).or_default() += 1.0);
                let all = blocks.len() as f64;
                times.values().map(|n| EqualBlocks { blocks: 1.0, share: n / all }).collect()
            }
        };
        let blocks = blocks as f64;
        if groups.is_empty() {
            groups.push(EqualBlocks { blocks, share: 1.0 });
        }
        groups.sort_by(|a, b| (b.share / b.blocks).total_cmp(&(a.share / a.blocks)));
        Curve { groups, blocks }
    }

    /// Share of the I/O (0 to 1) that goes to the hottest share `data` (0 to 1) of the data.
    #[must_use]
    pub fn io_of(&self, data: f64) -> f64 {
        let mut left = data * self.blocks;
        let mut io = 0.0;
        for group in &self.groups {
            if group.blocks >= left {
                return (io + group.share * left / group.blocks).min(1.0);
            }
            left -= group.blocks;
            io += group.share;
        }
        io.min(1.0)
    }

    /// Smallest share of the data (0 to 1) that gets the share `io` (0 to 1) of the I/O.
    #[must_use]
    pub fn data_of(&self, io: f64) -> f64 {
        let mut left = io;
        let mut blocks = 0.0;
        for group in self.groups.iter().filter(|group| group.share > 0.0) {
            if group.share >= left {
                blocks += group.blocks * left / group.share;
                break;
            }
            left -= group.share;
            blocks += group.blocks;
        }
        (blocks / self.blocks).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, JobPlan, ZoneShare, skew_of};
    use fiord_types::PerDir;

    use super::*;

    fn curve(distribution: Distribution) -> Curve {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 40);
        job.load.distribution = distribution;
        Curve::new(&job.load, &job.target.files[0], Dir::Read)
    }

    /// The shares, computed from the closed forms in another way.
    #[test]
    fn shares_are_those_of_the_laws() {
        let skewed = |text: &str| curve(Distribution::Skewed(skew_of(text).unwrap()));
        for (text, data, io) in [
            ("pareto:0.2", 0.2, 0.8),
            ("pareto:0.8", 0.2, 0.8),
            ("pareto:0.1", 0.1, 0.9),
            ("zipf:0", 0.3, 0.3),
            // One standard deviation, a twelfth of the range, to each side of the mean of a normal distribution.
            ("normal", 1.0 / 6.0, 0.682_689_492_137),
        ] {
            let curve = skewed(text);
            assert!((curve.io_of(data) - io).abs() < 1e-5, "{text}: {}", curve.io_of(data));
            assert!((curve.data_of(io) - data).abs() < 1e-5, "{text}: {}", curve.data_of(io));
        }
        let zone = |share, p| ZoneShare { share, size: ZoneSize::Percent(p) };
        let zones = vec![zone(2, 40.0), zone(60, 10.0), zone(38, 50.0)];
        let curve = curve(Distribution::Zoned(PerDir::new(zones.clone(), zones.clone(), zones)));
        assert!((curve.io_of(0.1) - 0.6).abs() < 1e-9 && (curve.io_of(0.6) - 0.98).abs() < 1e-9);
        assert!((curve.io_of(1.0) - 1.0).abs() < 1e-12);
    }
}
