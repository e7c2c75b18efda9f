//! Choice of duplicate blocks and their contents (`dedupe_percentage`).
//!
//! Storage finds duplicates in blocks of 4 KiB, whatever the size of the writes. Therefore the
//! position of a 4 KiB block in the file decides whether it is a duplicate, and of what. Small
//! writes build whole duplicates in any order and however often they are repeated, and large writes
//! contain duplicates. Of every 128 consecutive blocks the requested share are duplicates, drawn
//! anew for each group.
//!
//! The first block of a kind is not a duplicate. `repeat` has few kinds; `working_set` has a number
//! of kinds that is a share of all blocks. The share of blocks with a kind is therefore raised by
//! the expected number of first blocks: `p = share + d / n`, with `d = w (1 - exp(-p n / w))` of
//! `w` kinds met in `p n` draws.

use fiord_plan::Dedupe;
use fiord_simd::random_fill::Stream;

use crate::rng::splitmix;

/// Size in bytes of the blocks that storage compares.
pub const BLOCK: usize = 4096;

/// Number of blocks in a group.
const GROUP: u64 = 128;

/// With `repeat`, one kind per this number of blocks, and at most [`MAX_KINDS`], so that blocks
/// repeat even if only a small part of a large device is written.
const BLOCKS_A_KIND: u64 = 512;
const MAX_KINDS: u64 = 8;

/// Which blocks are duplicates.
#[derive(Debug, Clone, Copy)]
pub struct Duplicates {
    /// Expected number of duplicates in a group, with 32 fractional bits.
    of_group: u64,
    kinds: u64,
    /// Seed of the positions of duplicates, different for each job.
    places: u64,
    /// Seed of the contents of duplicates: of this job, or common to all jobs that share them.
    contents: u64,
}

impl Duplicates {
    /// Duplicates of a plan. `places` is the seed of their positions, `contents` the seed of their
    /// contents.
    #[must_use]
    pub fn new(dedupe: &Dedupe, places: u64, contents: u64) -> Self {
        let blocks = dedupe.blocks.max(1);
        let kinds = match dedupe.working_set {
            None => (blocks / BLOCKS_A_KIND).clamp(1, MAX_KINDS),
            Some(percent) => (u128::from(blocks) * u128::from(percent) / 100).max(1) as u64,
        };
        let share = share_with_first(f64::from(dedupe.percent) / 100.0, kinds, blocks);
        let of_group = (share * (GROUP << 32) as f64) as u64;
        Duplicates { of_group, kinds, places, contents }
    }

    /// The kind of the block at this offset in bytes; `None` if the block must be unique.
    #[inline]
    #[must_use]
    pub fn class_at(&self, offset: u64) -> Option<u64> {
        let block = offset / BLOCK as u64;
        let mut state = self.places ^ (block / GROUP).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let (rounding, order) = (splitmix(&mut state), splitmix(&mut state));
        let duplicates = (self.of_group + (rounding & 0xffff_ffff)) >> 32;
        if shuffle(block % GROUP, order) >= duplicates {
            return None;
        }
        let mut state = self.places.rotate_left(32) ^ block.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let draw = splitmix(&mut state);
        Some(((u128::from(draw) * u128::from(self.kinds)) >> 64) as u64)
    }

    /// Fills a block with the random bytes of its kind.
    pub fn fill(&self, kind: u64, block: &mut [u8; BLOCK]) {
        let mut state = self.contents ^ kind.wrapping_mul(0xa076_1d64_78bd_642f);
        Stream::new(std::array::from_fn(|_| splitmix(&mut state))).fill(block);
    }

    /// Random bits of a kind.
    #[must_use]
    pub fn mark(&self, kind: u64) -> u64 {
        splitmix(&mut (self.contents ^ kind))
    }
}

/// Share of blocks that must have a kind so that the share `share` of all blocks is not the first
/// of its kind.
fn share_with_first(share: f64, kinds: u64, blocks: u64) -> f64 {
    let (kinds, blocks) = (kinds as f64, blocks as f64);
    let mut p = share;
    for _ in 0..100 {
        let met = kinds * -(-p * blocks / kinds).exp_m1();
        p = (share + met / blocks).min(1.0);
    }
    p
}

/// One of the orders of the numbers below [`GROUP`]. Each step is invertible, so the result is a
/// permutation.
#[inline]
fn shuffle(number: u64, order: u64) -> u64 {
    let mut x = number;
    for round in 0..3 {
        let key = order >> (round * 16);
        x = x.wrapping_mul(key | 1).wrapping_add(key >> 8) % GROUP;
        x ^= x >> 4;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_loses_nothing() {
        for order in (0..2000u64).map(|i| splitmix(&mut i.clone())) {
            let mut seen = [false; GROUP as usize];
            (0..GROUP).for_each(|i| seen[shuffle(i, order) as usize] = true);
            assert!(seen.iter().all(|&seen| seen), "{order}");
        }
    }

    #[test]
    fn the_first_of_a_kind_is_counted() {
        // All kinds are met: exactly their number is added.
        assert!((share_with_first(0.5, 100, 1_000_000) - 0.5001).abs() < 1e-9);
        assert!((share_with_first(1.0, 1, 100) - 1.0).abs() < 1e-9);
        // A working set of 5 % of which each is drawn about eleven times.
        assert!((share_with_first(0.5, 5_000, 100_000) - 0.55).abs() < 1e-3);
    }
}
