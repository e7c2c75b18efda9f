//! New random bytes for every write (`refill_buffers`).

use crate::rng::{Purpose, Rng};
use crate::{Content, Io};

/// How many generators run side by side; the compiler makes vector code of them.
const LANES: usize = 8;

/// Eight xoshiro256++ generators in step, for filling buffers at memory speed.
#[derive(Debug, Clone)]
pub struct Lanes {
    s: [[u64; LANES]; 4],
}

impl Lanes {
    /// The streams of this seed for this job.
    pub fn new(seed: u64, job: u64) -> Self {
        let mut rng = Rng::new(seed, Purpose::Content, job);
        Lanes { s: std::array::from_fn(|_| std::array::from_fn(|_| rng.draw())) }
    }

    #[inline]
    fn next(&mut self) -> [u64; LANES] {
        let [a, b, c, d] = &mut self.s;
        let mut out = [0; LANES];
        for i in 0..LANES {
            out[i] = a[i].wrapping_add(d[i]).rotate_left(23).wrapping_add(a[i]);
            let t = b[i] << 17;
            c[i] ^= a[i];
            d[i] ^= b[i];
            b[i] ^= c[i];
            a[i] ^= d[i];
            c[i] ^= t;
            d[i] = d[i].rotate_left(45);
        }
        out
    }

    /// Fills `buffer` with random bytes.
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let (chunks, rest) = buffer.as_chunks_mut::<{ LANES * 8 }>();
        let mut lanes = self.clone();
        for chunk in chunks {
            let (words, _) = chunk.as_chunks_mut::<8>();
            for (to, word) in words.iter_mut().zip(lanes.next()) {
                *to = word.to_le_bytes();
            }
        }
        if !rest.is_empty() {
            let last = lanes.next();
            for (to, word) in rest.chunks_mut(8).zip(last) {
                to.copy_from_slice(&word.to_le_bytes()[..to.len()]);
            }
        }
        *self = lanes;
    }

    /// 64 random bits.
    pub fn word(&mut self) -> u64 {
        self.next()[0]
    }
}

/// New random bytes for every write.
#[derive(Debug, Clone)]
pub struct Refill {
    lanes: Lanes,
}

impl Refill {
    /// Random bytes from `lanes`.
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
