//! Digests of the bodies of the next writes, computed several at a time.
//!
//! The digest of MD5 is the slowest part of a write, and eight of them take not much longer than one
//! ([`fiord_simd::md5_lanes`]). The body of a write depends only on its seed and its length. So if the seeds of the next
//! writes are known and the writes have had the same length for a while, the digests of the next eight bodies are
//! computed together. One write of eight then waits for all of them, which takes as long as one or two digests by
//! themselves, and the others wait for none.

use fiord_simd::md5_lanes::{self, LANES};

use super::body::Body;
use super::md5;
use super::method::Digest;

/// Bytes of each body that are in memory at a time. All of them together fit into the fastest cache.
const PIECE: usize = 2048;
/// Maximum number of bytes of the padding after a body.
const PADDING: usize = 128;

/// The digests of the bodies of some writes.
#[derive(Debug, Clone)]
pub struct DigestsAhead {
    /// Number of the first write.
    first: u64,
    /// Length of the writes, in bytes.
    length: usize,
    /// The digests of the bodies from `start` on, until they are used.
    digests: [Option<[u8; 16]>; LANES],
    start: usize,
    /// Length of the last writes, and how many of them in a row had it.
    last: usize,
    streak: usize,
    pieces: Vec<[u8; PIECE + PADDING]>,
}

impl Default for DigestsAhead {
    fn default() -> Self {
        Self::new()
    }
}

impl DigestsAhead {
    /// None yet.
    #[must_use]
    pub fn new() -> Self {
        DigestsAhead {
            first: 0,
            length: 0,
            digests: [None; LANES],
            start: 0,
            last: 0,
            streak: 0,
            pieces: Vec::new(),
        }
    }

    /// The digest of MD5 of the body of write `number` from `start` on, which has `length` bytes. `None` if the next
    /// writes are not likely to have this length, or if the CPU has no instructions for it: the caller computes it from
    /// the bytes. `seed_of`: the seeds of this write and of those after it.
    pub(super) fn md5(
        &mut self,
        number: u64,
        (start, length): (usize, usize),
        seed_of: &dyn Fn(u64) -> u64,
    ) -> Option<Digest> {
        self.streak = if length == self.last { self.streak + 1 } else { 0 };
        self.last = length;
        if self.streak < LANES || !md5_lanes::available() {
            return None;
        }
        let lane = |ahead: &Self| {
            let lane = usize::try_from(number.wrapping_sub(ahead.first)).ok()?;
            let same = ahead.length == length && ahead.start == start;
            Some(lane).filter(|lane| same && *lane < LANES)
        };
        let known = lane(self).and_then(|lane| self.digests[lane].take());
        let digest = match known {
            Some(digest) => digest,
            None => {
                let seeds = std::array::from_fn(|lane| seed_of(number.wrapping_add(lane as u64)));
                (self.first, self.length, self.start) = (number, length, start);
                self.digests = self.compute(seeds).map(Some);
                self.digests[0].take()?
            }
        };
        Some(Digest::new(&digest))
    }

    /// The digests of the bodies with these seeds.
    fn compute(&mut self, seeds: [u64; LANES]) -> [[u8; 16]; LANES] {
        let bodies = seeds.map(|seed| Body::new(seed, self.length as u64));
        self.pieces.resize(LANES, [0; PIECE + PADDING]);
        let mut states = md5::START.map(|word| [word; LANES]);
        let bytes = self.length - self.start;
        let mut position = self.start;
        loop {
            let count = PIECE.min(self.length - position);
            for (piece, body) in self.pieces.iter_mut().zip(&bodies) {
                body.fill(position as u64, &mut piece[..count]);
            }
            position += count;
            let mut blocks = count / 64;
            let last = position == self.length;
            if last {
                blocks += if count % 64 < 56 { 1 } else { 2 };
                for piece in &mut self.pieces {
                    let padding = &mut piece[count..blocks * 64];
                    padding.fill(0);
                    padding[0] = 0x80;
                    let length = (bytes as u64).wrapping_mul(8).to_le_bytes();
                    piece[blocks * 64 - 8..blocks * 64].copy_from_slice(&length);
                }
            }
            let pieces = &self.pieces;
            let lanes = std::array::from_fn(|lane| &pieces[lane].as_chunks::<64>().0[..blocks]);
            let added = md5_lanes::compress(&mut states, lanes);
            debug_assert!(added, "the caller has checked that");
            if last {
                break;
            }
        }
        std::array::from_fn(|lane| md5::bytes(states.map(|words| words[lane])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify::method::Method;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn digests_equal_those_of_the_bytes(
            lengths in prop::collection::vec((64usize..9000, 1usize..30), 1..4), start in 0usize..64,
        ) {
            let mut ahead = DigestsAhead::new();
            let seed_of = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
            let mut number = 5;
            let mut found = 0;
            for (length, count) in lengths {
                for _ in 0..count {
                    if let Some(digest) = ahead.md5(number, (start, length), &seed_of) {
                        let mut data = vec![0; length];
                        Body::new(seed_of(number), length as u64).fill(0, &mut data);
                        prop_assert_eq!(digest, Method::Md5.digest(&data[start..]));
                        found += 1;
                    }
                    // Some numbers are left out, as if a write had failed.
                    number += 1 + u64::from(number % 11 == 0);
                }
                prop_assert!(found > 0 || count <= LANES || !md5_lanes::available());
            }
        }
    }
}
