//! New random bytes for every write (`refill_buffers`).

use fiord_simd::random_fill::{LANES, Stream};

use crate::rng::{Purpose, Rng};
use crate::{Content, Io};

/// Generator of random bytes at memory speed, for one job.
#[derive(Debug, Clone)]
pub struct Lanes {
    stream: Stream,
    /// Words that were drawn and not yet used.
    spare: [u64; LANES],
    used: usize,
}

impl Lanes {
    /// The generator for this seed and job index.
    #[must_use]
    pub fn new(seed: u64, job: u64) -> Self {
        let mut rng = Rng::new(seed, Purpose::Content, job);
        let stream = Stream::new(std::array::from_fn(|_| rng.draw()));
        Lanes { stream, spare: [0; LANES], used: LANES }
    }

    /// Fills `buffer` with random bytes.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        self.stream.fill(buffer);
    }

    /// 64 random bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        if self.used == LANES {
            self.spare = self.stream.words();
            self.used = 0;
        }
        self.used += 1;
        self.spare[self.used - 1]
    }
}

/// New random bytes for every write.
#[derive(Debug, Clone)]
pub struct Refill {
    lanes: Lanes,
}

impl Refill {
    /// Draws the random bytes from `lanes`.
    #[must_use]
    pub fn new(lanes: Lanes) -> Self {
        Refill { lanes }
    }
}

impl Content for Refill {
    fn prepare(&mut self, buffer: &mut [u8]) {
        self.lanes.fill(buffer);
    }
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], _: &Io) {
        self.lanes.fill(buffer);
    }
}
