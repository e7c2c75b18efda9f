//! The bytes of a write without a pattern, computed from the seed in its headers.

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
        let mut expected = [0; 512];
        for (chunk, at) in found.chunks(expected.len()).zip((position..).step_by(expected.len())) {
            let expected = &mut expected[..chunk.len()];
            self.fill(at, expected);
            if let Some(i) = chunk.iter().zip(&*expected).position(|(found, byte)| found != byte) {
                let (expected, found) = (expected[i], chunk[i]);
                return Some(Difference { position: at + i as u64, expected, found });
            }
        }
        None
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

/// The lanes before a word of a body.
struct Words {
    lanes: [u64; 4],
    /// Lane of the next word.
    next: usize,
    /// Words that the lanes give in turn, before the first lane goes on alone.
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
