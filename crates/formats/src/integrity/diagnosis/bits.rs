//! Which bits of an extent differ.

use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

/// Maximum number of bytes that [`BitFlips`] lists.
const MAX_LISTED: usize = 16;
/// Maximum number of differing bits of a word of 8 bytes, on average, that count as flips. Unrelated words differ in 32.
const MAX_PER_WORD: u64 = 8;

/// Details of [`Diagnosis::BitFlips`](super::Diagnosis::BitFlips).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct BitFlips {
    /// Number of bits that differ.
    pub count: u64,
    /// Number of them that are 1 instead of 0.
    pub ones: u64,
    /// Bits of an 8-byte word that differ anywhere in the extent; bit 0 is the lowest of the first byte. A single
    /// bit in many words is a defective data line.
    #[serde(with = "crate::hex")]
    pub lines: u64,
    /// Number of sectors or intervals with flipped bits.
    pub units: u64,
    /// The bits have the same positions in all of these sectors or intervals.
    pub uniform: bool,
    /// The first bytes that differ, at most 16.
    pub first: Vec<FlippedBits>,
}

/// A byte with flipped bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlippedBits {
    /// Position of the byte in the extent.
    pub at: Bytes,
    /// The byte that was written.
    pub expected: u8,
    /// The byte that was read.
    pub found: u8,
}

impl FlippedBits {
    /// The bits that differ.
    #[must_use]
    pub fn mask(&self) -> u8 {
        self.expected ^ self.found
    }
}

impl BitFlips {
    /// Compares one sector or interval with what was written. `None`: they are equal, or differ in more than
    /// single bits.
    pub(super) fn between(expected: &[u8], found: &[u8]) -> Option<Self> {
        let mut flips = BitFlips { units: 1, uniform: true, ..BitFlips::default() };
        let mut words = 0;
        let mut last_word = usize::MAX;
        let differ = expected.iter().zip(found).enumerate().filter(|(_, (a, b))| a != b);
        for (at, (&expected, &found)) in differ {
            let mask = expected ^ found;
            flips.count += u64::from(mask.count_ones());
            flips.ones += u64::from((mask & found).count_ones());
            flips.lines |= u64::from(mask) << (at % 8 * 8);
            words += u64::from(at / 8 != last_word);
            last_word = at / 8;
            if flips.first.len() < MAX_LISTED {
                flips.first.push(FlippedBits { at: Bytes(at as u64), expected, found });
            }
        }
        (flips.count > 0 && flips.count <= words * MAX_PER_WORD).then_some(flips)
    }

    /// Adds the flips of the extent that follows this one, which has `length`.
    pub(super) fn append(&mut self, next: &BitFlips, length: Bytes) {
        let positions = |flips: &BitFlips, base: u64| -> Vec<(u64, u8)> {
            flips.first.iter().map(|bits| (bits.at.0.wrapping_sub(base), bits.mask())).collect()
        };
        let per_unit = |flips: &BitFlips| flips.count / flips.units.max(1);
        // The list contains the first unit, and as much of the others as has room.
        let unit = length.0 / self.units.max(1);
        let first: Vec<_> = positions(self, 0).into_iter().filter(|(at, _)| *at < unit).collect();
        let others = positions(next, 0);
        self.uniform &= next.uniform
            && per_unit(self) == per_unit(next)
            && others.get(..first.len()).is_some_and(|others| others == first);
        self.count = self.count.saturating_add(next.count);
        self.ones = self.ones.saturating_add(next.ones);
        self.lines |= next.lines;
        self.units = self.units.saturating_add(next.units);
        let room = MAX_LISTED.saturating_sub(self.first.len());
        let moved =
            |bits: &FlippedBits| FlippedBits { at: bits.at.saturating_add(length), ..*bits };
        self.first.extend(next.first.iter().take(room).map(moved));
    }
}
