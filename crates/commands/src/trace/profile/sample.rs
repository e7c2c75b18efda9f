//! Follows a sample of blocks in constant memory, to estimate reuse and skew.
//!
//! Waldspurger, Park, Garthwaite, Ahmad: "Efficient MRC construction with SHARDS" (FAST 2015). A block is in the sample
//! if its hash is below a limit. When the sample is full, the limit falls. Every access to a block of the sample is
//! followed, so the sample has the reuse of the whole trace, with distances that are shorter by the sampling rate.

use std::collections::{BinaryHeap, HashMap};

/// Maximum number of blocks in the sample.
pub const SAMPLED: usize = 16 * 1024;
/// Positions in the order of accesses before they are numbered anew.
const POSITIONS: usize = 4 * SAMPLED;
/// Ranges of reuse distances in each power of two.
const STEPS: usize = 4;

#[derive(Debug, Clone)]
pub struct BlockSample {
    limit: u64,
    blocks: HashMap<u64, Sampled>,
    largest: BinaryHeap<u64>,
    recency: Recency,
    next: usize,
    /// Accesses at each distance, of which each stands for as many as the sampling rate says.
    reuse: Vec<f64>,
    first: f64,
}

#[derive(Debug, Clone, Copy)]
struct Sampled {
    /// Position of its latest access.
    position: usize,
    /// I/Os that begin in it.
    starts: u64,
}

impl Default for BlockSample {
    fn default() -> Self {
        BlockSample {
            limit: u64::MAX,
            blocks: HashMap::new(),
            largest: BinaryHeap::new(),
            recency: Recency::default(),
            next: 0,
            reuse: vec![0.0; 64 * STEPS],
            first: 0.0,
        }
    }
}

impl BlockSample {
    /// Notes an access to a block. `starts`: an I/O begins in it.
    #[inline]
    pub fn add(&mut self, hash: u64, starts: bool) {
        if hash <= self.limit {
            self.follow(hash, starts);
        }
    }

    /// The share of all blocks that is in the sample.
    #[must_use]
    pub fn rate(&self) -> f64 {
        (self.limit as f64 + 1.0) / (u64::MAX as f64 + 1.0)
    }

    #[must_use]
    pub fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The hash of each block in the sample, and the I/Os that begin in it.
    pub fn starts(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks.iter().map(|(hash, block)| (*hash, block.starts))
    }

    /// The share of accesses that go to a block that was accessed before.
    #[must_use]
    pub fn reused(&self) -> f64 {
        self.hits(f64::INFINITY)
    }

    /// The share of accesses that find their block in a cache of this many blocks, which keeps those used last.
    #[must_use]
    pub fn hits(&self, cache: f64) -> f64 {
        let reused: f64 = self.reuse.iter().sum();
        let within = self.reuse.iter().enumerate().filter(|(step, _)| distance(*step) < cache);
        let within: f64 = within.map(|(_, weight)| weight).sum();
        let all = reused + self.first;
        if all > 0.0 { within / all } else { 0.0 }
    }

    fn follow(&mut self, hash: u64, starts: bool) {
        if self.next == POSITIONS {
            self.number_anew();
        }
        let (position, weight) = (self.next, 1.0 / self.rate());
        self.next += 1;
        self.recency.set(position, 1);
        if let Some(block) = self.blocks.get_mut(&hash) {
            let before = std::mem::replace(&mut block.position, position);
            block.starts += u64::from(starts);
            self.recency.set(before, -1);
            // Blocks accessed after it, without itself.
            let between = self.recency.count_from(before, position);
            let step = step(f64::from(between) * weight);
            self.reuse[step] += weight;
            return;
        }
        self.first += weight;
        self.blocks.insert(hash, Sampled { position, starts: starts.into() });
        self.largest.push(hash);
        if self.blocks.len() > SAMPLED
            && let Some(largest) = self.largest.pop()
        {
            if let Some(block) = self.blocks.remove(&largest) {
                self.recency.set(block.position, -1);
            }
            self.limit = largest - 1;
        }
    }

    fn number_anew(&mut self) {
        let mut order: Vec<(usize, u64)> =
            self.blocks.iter().map(|(hash, block)| (block.position, *hash)).collect();
        order.sort_unstable();
        self.recency = Recency::default();
        for (position, (_, hash)) in order.iter().enumerate() {
            if let Some(block) = self.blocks.get_mut(hash) {
                block.position = position;
            }
            self.recency.set(position, 1);
        }
        self.next = order.len();
    }
}

/// The range of a distance in blocks.
fn step(distance: f64) -> usize {
    (((distance + 1.0).log2() * STEPS as f64) as usize).min(64 * STEPS - 1)
}

/// The middle of a range of distances.
fn distance(step: usize) -> f64 {
    ((step as f64 + 0.5) / STEPS as f64).exp2() - 1.0
}

/// Which positions are the latest access of a block: a binary indexed tree.
#[derive(Debug, Clone)]
struct Recency(Vec<i32>);

impl Default for Recency {
    fn default() -> Self {
        Recency(vec![0; POSITIONS + 1])
    }
}

impl Recency {
    fn set(&mut self, position: usize, change: i32) {
        let mut at = position + 1;
        while at <= POSITIONS {
            self.0[at] += change;
            at += at & at.wrapping_neg();
        }
    }
    fn count_below(&self, position: usize) -> i32 {
        let (mut at, mut sum) = (position, 0);
        while at > 0 {
            sum += self.0[at];
            at &= at - 1;
        }
        sum
    }
    fn count_from(&self, from: usize, to: usize) -> i32 {
        self.count_below(to) - self.count_below(from)
    }
}

#[cfg(test)]
mod tests {
    use super::super::cardinality::spread;
    use super::*;

    #[test]
    fn a_small_set_is_followed_exactly() {
        let mut sample = BlockSample::default();
        for round in 0..100 {
            for block in 0..1000 {
                sample.add(spread(block), true);
                assert_eq!(sample.rate(), 1.0);
            }
            assert_eq!(sample.blocks(), 1000, "{round}");
        }
        assert!((sample.reused() - 0.99).abs() < 1e-9);
        // A cyclic order: a cache that is smaller than the set never hits.
        assert!(sample.hits(700.0) < 1e-9 && sample.hits(1300.0) > 0.98);
        assert!(sample.starts().all(|(_, starts)| starts == 100));
    }

    #[test]
    fn a_large_set_is_sampled() {
        let mut sample = BlockSample::default();
        let mut random = 1u64;
        for _ in 0..200_000 {
            random = spread(random);
            sample.add(spread(random % 40_000), true);
        }
        assert!(sample.blocks() <= SAMPLED);
        let blocks = sample.blocks() as f64 / sample.rate();
        assert!((blocks / 39_730.0 - 1.0).abs() < 0.03, "{blocks}");
        // Independent uniform accesses: a cache of half of the blocks hits half of those that are warm.
        assert!((sample.reused() - 0.801).abs() < 0.02, "{}", sample.reused());
        let half = sample.hits(20_000.0);
        assert!((half - 0.43).abs() < 0.03, "{half}");
    }
}
