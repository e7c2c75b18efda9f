//! Which blocks come again, and what is in them.
//!
//! Storage finds duplicates in blocks of 4 KiB, whatever the size of the writes. So the place of such
//! a block in the file decides whether its contents come again, and which they are: small writes, in
//! any order and as often as one likes, make whole duplicates of it, and large ones have duplicates
//! inside. Of each 128 neighbours as many are duplicates as were asked for, drawn anew for each group.
//!
//! The first block of its kind is no duplicate. `repeat` has few kinds; `working_set` has as many as
//! its share of the blocks. The share of blocks that have a kind is raised by the expected number of
//! first ones: `p = share + d / n`, with `d = w (1 - exp(-p n / w))` of `w` kinds met in `p n` draws.

use fiord_plan::Dedupe;
use fiord_sys::random_fill::Stream;

use crate::rng::splitmix;

/// What storage compares, in bytes.
pub const BLOCK: usize = 4096;

/// Blocks of a group.
const GROUP: u64 = 128;

/// With `repeat`, one kind for this many blocks, but not more than [`MOST_KINDS`]: neighbours in time
/// share contents even if only a small part of a large device is ever written.
const BLOCKS_A_KIND: u64 = 512;
const MOST_KINDS: u64 = 8;

/// Which blocks come again.
#[derive(Debug, Clone, Copy)]
pub struct Duplicates {
    /// Expected duplicates of a group, with 32 bits after the point.
    of_group: u64,
    kinds: u64,
    /// Of the places of duplicates: this job's.
    places: u64,
    /// Of their contents: this job's, or that of all jobs that share them.
    contents: u64,
}

impl Duplicates {
    /// Of a plan. `places` seeds where duplicates are, `contents` what is in them.
    pub fn new(dedupe: &Dedupe, places: u64, contents: u64) -> Self {
        let blocks = dedupe.blocks.max(1);
        let kinds = match dedupe.working_set {
            None => (blocks / BLOCKS_A_KIND).clamp(1, MOST_KINDS),
            Some(percent) => (u128::from(blocks) * u128::from(percent) / 100).max(1) as u64,
        };
        let share = share_with_first(f64::from(dedupe.percent) / 100.0, kinds, blocks);
        let of_group = (share * (GROUP << 32) as f64) as u64;
        Duplicates { of_group, kinds, places, contents }
    }

    /// The kind of the block at this offset, or `None` if it is to be like no other.
    #[inline]
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

    /// Fills a block with the random bytes that all of a kind have.
    pub fn fill(&self, kind: u64, block: &mut [u8; BLOCK]) {
        let mut state = self.contents ^ kind.wrapping_mul(0xa076_1d64_78bd_642f);
        Stream::new(std::array::from_fn(|_| splitmix(&mut state))).fill(block);
    }

    /// Random bits of a kind.
    pub fn mark(&self, kind: u64) -> u64 {
        splitmix(&mut (self.contents ^ kind))
    }
}

/// The share of blocks that have a kind, of which `share` are not the first of it.
fn share_with_first(share: f64, kinds: u64, blocks: u64) -> f64 {
    let (kinds, blocks) = (kinds as f64, blocks as f64);
    let mut p = share;
    for _ in 0..100 {
        let met = kinds * -(-p * blocks / kinds).exp_m1();
        p = (share + met / blocks).min(1.0);
    }
    p
}

/// One of the orders of the numbers below [`GROUP`]: each step can be undone, so none is lost.
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
