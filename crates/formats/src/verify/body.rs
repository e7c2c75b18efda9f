//! The bytes of a write without a pattern, computed from the seed in its headers.

use fiord_simd::crc32c::{self, WordSequence};
use fiord_simd::vectors::fill_products;

use super::method::crc32c_after;

/// The factor by which a lane advances after each word.
const FACTOR: u64 = 0x61c8_8646_80b5_83eb;
/// The factors of the seed with which the four lanes start.
const LANES: [u64; 4] = [1, 2, 3, 5];
/// Bytes that the four lanes give in one turn.
const TURN: u64 = 32;

/// The body of one write: words of 8 bytes in little-endian order, from four lanes in turn. The last bytes,
/// fewer than 32, come from the first lane alone, so they depend on the length of the write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Body {
    seed: u64,
    length: u64,
}

/// The first byte of a body that differs from what was computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Position in the write, in bytes.
    pub position: u64,
    /// The byte of the body.
    pub expected: u8,
    /// The byte that was read.
    pub found: u8,
}

impl Difference {
    /// The bits that differ.
    #[must_use]
    pub fn bits(&self) -> u8 {
        self.expected ^ self.found
    }
}

impl Body {
    /// The body of a write of `length` bytes. The headers of all its intervals contain `seed`.
    #[must_use]
    pub fn new(seed: u64, length: u64) -> Self {
        Body { seed, length }
    }

    /// Writes the bytes of the body from `position` on.
    pub fn fill(&self, position: u64, buffer: &mut [u8]) {
        // Whole turns, between a part of a turn before them and the tail after them.
        let before = (TURN - position % TURN) % TURN;
        let turns = (self.length / TURN * TURN).saturating_sub(position.saturating_add(before));
        let length = buffer.len() as u64;
        let start = before.min(length) as usize;
        let whole = turns.min(length.saturating_sub(before)) / TURN * TURN;
        let (head, rest) = buffer.split_at_mut(start);
        let (turns, tail) = rest.split_at_mut(whole as usize);
        self.fill_words(position, head);
        self.fill_turns((position + before) / TURN, turns);
        self.fill_words(position + before + whole, tail);
    }

    /// Writes the bytes of the body from `position` on. Returns the [`crc32c`](super::method::crc32c) of those after the
    /// first `skip`.
    pub(super) fn fill_with_crc32c(&self, position: u64, buffer: &mut [u8], skip: usize) -> u32 {
        let turns = (self.length / TURN * TURN).saturating_sub(position);
        let whole = turns.min(buffer.len() as u64) as usize / 64 * 64;
        let mut filled = 0;
        let mut crc = !0;
        if position.is_multiple_of(TURN) && skip <= whole.min(64) {
            let first = self.seed.wrapping_mul(factor_power(position / TURN));
            let chunks = buffer[..whole].as_chunks_mut().0;
            if let Some(first) = crc32c::fill(first, &TWO_TURNS, chunks, skip) {
                (filled, crc) = (whole, first);
            }
        }
        if filled < buffer.len() {
            let rest = &mut buffer[filled..];
            self.fill(position + filled as u64, rest);
            crc = crc32c_after(crc, rest.get(skip.saturating_sub(filled)..).unwrap_or_default());
        }
        crc
    }

    /// The seed that most words of `bytes` have, which were read from `position` of a write of `length` bytes.
    /// `None` if no seed has the majority, or if there are too few words.
    pub(crate) fn seed_of(length: u64, position: u64, bytes: &[u8]) -> Option<u64> {
        let skip = ((8 - position % 8) % 8) as usize;
        let first = (position + skip as u64) / 8;
        let turns = length / TURN;
        let words = bytes.get(skip..)?.as_chunks::<8>().0.iter().zip(first..);
        let inverses = LANES.map(inverse);
        let mut power = inverse(factor_power(first / 4));
        let mut turn = first / 4;
        let step = inverse(FACTOR);
        let mut majority = Majority::default();
        for (word, index) in words.take_while(|(_, index)| index / 4 < turns) {
            if index / 4 != turn {
                turn = index / 4;
                power = power.wrapping_mul(step);
            }
            let seed = u64::from_le_bytes(*word).wrapping_mul(inverses[(index % 4) as usize]);
            majority.vote(seed.wrapping_mul(power));
        }
        majority.winner()
    }

    /// Writes whole turns from the turn of this index on.
    fn fill_turns(&self, index: u64, buffer: &mut [u8]) {
        let first = self.seed.wrapping_mul(factor_power(index));
        Turns { first, buffer }.fill();
    }

    fn fill_words(&self, position: u64, buffer: &mut [u8]) {
        if buffer.is_empty() {
            return;
        }
        let mut words = self.words(position);
        let skip = (position % 8) as usize;
        let (head, rest) = buffer.split_at_mut(((8 - skip) % 8).min(buffer.len()));
        if !head.is_empty() {
            head.copy_from_slice(&words.next_bytes()[skip..skip + head.len()]);
        }
        let (whole, tail) = rest.as_chunks_mut::<8>();
        for word in whole {
            *word = words.next_bytes();
        }
        if !tail.is_empty() {
            tail.copy_from_slice(&words.next_bytes()[..tail.len()]);
        }
    }

    /// Compares `found`, read from `position` of the write on, with the body.
    #[must_use]
    pub fn first_difference(&self, position: u64, found: &[u8]) -> Option<Difference> {
        first_difference(position, found, |at, expected| self.fill(at, expected))
    }

    /// The words of the body from the one that contains `position` on.
    fn words(&self, position: u64) -> Words {
        let (index, turns) = (position / 8, self.length / TURN);
        let tail = index.saturating_sub(turns * 4);
        let turn = (index / 4).min(turns);
        let start = factor_power(turn);
        let mut lanes = LANES.map(|lane| self.seed.wrapping_mul(lane).wrapping_mul(start));
        let done = if turn < turns { (index % 4) as usize } else { 0 };
        for lane in &mut lanes[..done] {
            *lane = lane.wrapping_mul(FACTOR);
        }
        lanes[0] = lanes[0].wrapping_mul(factor_power(tail));
        Words { lanes, next: done, left: (turns * 4).saturating_sub(index) }
    }
}

/// Compares `found`, read from `position` of a write on, with the bytes that `fill` computes for a position.
pub(super) fn first_difference(
    position: u64,
    found: &[u8],
    fill: impl Fn(u64, &mut [u8]),
) -> Option<Difference> {
    let mut expected = [0; 4096];
    for (chunk, at) in found.chunks(expected.len()).zip((position..).step_by(expected.len())) {
        let expected = &mut expected[..chunk.len()];
        fill(at, expected);
        if chunk == expected {
            continue;
        }
        if let Some(i) = chunk.iter().zip(&*expected).position(|(found, byte)| found != byte) {
            let (expected, found) = (expected[i], chunk[i]);
            return Some(Difference { position: at + i as u64, expected, found });
        }
    }
    None
}

/// Whole turns, the first of which begins with the word `first`.
struct Turns<'b> {
    first: u64,
    buffer: &'b mut [u8],
}

/// Turns in a vector of 512 bits.
const WIDE: usize = 2;
/// Vectors that are computed at a time. Each multiplication waits for the one before it in its vector.
const VECTORS: usize = 4;

impl Turns<'_> {
    fn fill(self) {
        let vectors: [[u64; 4 * WIDE]; VECTORS] = std::array::from_fn(|v| {
            std::array::from_fn(|i| {
                let start = self.first.wrapping_mul(POWERS[WIDE * v + i / 4]);
                start.wrapping_mul(LANES[i % 4])
            })
        });
        let (chunks, rest) = self.buffer.as_chunks_mut::<{ 32 * WIDE * VECTORS }>();
        let count = chunks.len();
        fill_products(vectors, POWERS[WIDE * VECTORS], chunks);
        let turns = count * WIDE * VECTORS;
        let mut word = self.first.wrapping_mul(factor_power(turns as u64));
        for turn in rest.as_chunks_mut::<32>().0 {
            let words = LANES.map(|lane| word.wrapping_mul(lane).to_le_bytes());
            turn.copy_from_slice(words.as_flattened());
            word = word.wrapping_mul(FACTOR);
        }
    }
}

/// The first powers of [`FACTOR`].
const POWERS: [u64; WIDE * VECTORS + 1] = {
    let mut powers = [1u64; WIDE * VECTORS + 1];
    let mut i = 1;
    while i < powers.len() {
        powers[i] = powers[i - 1].wrapping_mul(FACTOR);
        i += 1;
    }
    powers
};

/// The words of two turns, 64 bytes, relative to the first one, and how they advance.
static TWO_TURNS: WordSequence = {
    let [a, b, c, d] = LANES;
    WordSequence::new([a, b, c, d, after(a), after(b), after(c), after(d)], POWERS[2])
};

/// The word of a lane after this one.
const fn after(word: u64) -> u64 {
    word.wrapping_mul(FACTOR)
}

/// The lanes before a word of a body.
struct Words {
    lanes: [u64; 4],
    /// Lane of the next word.
    next: usize,
    /// Words that the lanes give in turn, before the first lane continues alone.
    left: u64,
}

impl Words {
    #[inline]
    fn next_bytes(&mut self) -> [u8; 8] {
        let lane = if self.left > 0 { self.next } else { 0 };
        self.left = self.left.saturating_sub(1);
        self.next = (self.next + 1) % 4;
        let word = self.lanes[lane];
        self.lanes[lane] = word.wrapping_mul(FACTOR);
        word.to_le_bytes()
    }
}

/// The inverse of an odd number, modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Each step of Newton's method doubles the number of right bits; 3 bits are right at first.
    (0..5).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
}

/// Finds the value that most votes have. The count of the winner is a lower bound, so a narrow majority may have no
/// winner.
#[derive(Debug, Default)]
pub(crate) struct Majority {
    candidate: u64,
    lead: u32,
    votes: u32,
}

impl Majority {
    pub(crate) fn vote(&mut self, value: u64) {
        self.votes += 1;
        match self.lead {
            0 => (self.candidate, self.lead) = (value, 1),
            _ if value == self.candidate => self.lead += 1,
            _ => self.lead -= 1,
        }
    }

    /// The value whose votes exceed all others by at least two.
    pub(crate) fn winner(&self) -> Option<u64> {
        (self.lead >= 2).then_some(self.candidate)
    }
}

/// [`FACTOR`] to the power of `exponent`, modulo 2^64.
fn factor_power(mut exponent: u64) -> u64 {
    let (mut power, mut square) = (1u64, FACTOR);
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(square);
        }
        square = square.wrapping_mul(square);
        exponent >>= 1;
    }
    power
}
