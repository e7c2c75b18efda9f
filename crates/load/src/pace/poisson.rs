//! I/Os that arrive as those of many independent clients do: a Poisson process.
//!
//! The time to the next arrival is exponentially distributed: `-ln(U) · mean`, with `U` evenly from
//! (0, 1]. The logarithm is taken in integers: the leading zeros of `U` and a table of 256 chords of
//! the binary logarithm, exact to 3·10⁻⁶.

use fiord_plan::Rate;

use super::{LONGEST, fraction};
use crate::rng::Rng;

/// Chords of the logarithm.
const CHORDS: usize = 256;
/// Bits behind the point of a mean: a mean of a nanosecond is good to 10⁻⁶.
const POINT: u32 = 20;
/// The largest mean, ns: with a draw of at most 45 means, and `POINT` bits, all fits.
const LARGEST_MEAN: u64 = 1 << 43;

/// Draws from the exponential distribution with mean 1.
#[derive(Debug, Clone)]
pub struct Exponential {
    rng: Rng,
    /// log2 of 1 + i / CHORDS, 32 bits behind the point.
    log2: Box<[u64; CHORDS + 1]>,
}

impl Exponential {
    /// Draws from `rng`.
    pub fn new(rng: Rng) -> Self {
        let log2 = |i: usize| (1.0 + i as f64 / CHORDS as f64).log2() * 2f64.powi(32);
        Exponential { rng, log2: Box::new(std::array::from_fn(|i| log2(i).round() as u64)) }
    }

    /// A draw, 32 bits behind the point.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        /// ln 2, 32 bits behind the point.
        const LN2: u128 = 2_977_044_472;
        let u = self.rng.draw() | 1;
        let zeros = u.leading_zeros();
        // Its first bit is the 1 before the point, 63 bits are behind it.
        let mantissa = u << zeros;
        let chord = (mantissa >> 55) as usize & (CHORDS - 1);
        let along = (mantissa << 9) >> 32;
        let (from, to) = (self.log2[chord], self.log2[chord + 1]);
        let log2 = from + (((to - from) * along) >> 32);
        let halvings = ((u64::from(zeros) + 1) << 32) - log2;
        ((u128::from(halvings) * LN2) >> 32) as u64
    }
}

/// When the next I/O is due.
#[derive(Debug, Clone)]
pub struct Poisson {
    rate: Rate,
    due: u64,
    /// The fraction of a nanosecond that `due` lacks, `POINT` bits.
    rest: u64,
    len: u32,
    /// The mean time to the next I/O after one of `len` bytes, `POINT` bits behind the point.
    mean: u64,
    exponential: Exponential,
}

impl Poisson {
    /// The first I/O is due a draw after `begin`.
    pub fn new(rate: Rate, begin: u64, rng: Rng) -> Self {
        let exponential = Exponential::new(rng);
        let mut poisson = Poisson { rate, due: begin, rest: 0, len: 0, mean: 0, exponential };
        poisson.measure(4096);
        poisson.advance(4096);
        poisson
    }

    #[inline(never)]
    fn measure(&mut self, len: u32) {
        let (numerator, denominator) = fraction(self.rate, len);
        let mean = (u128::from(numerator) << POINT) / u128::from(denominator);
        self.len = len;
        self.mean = mean.min(u128::from(LARGEST_MEAN) << POINT) as u64;
    }

    /// When the next I/O is due.
    #[inline]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// An I/O of so many bytes was made.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        if len != self.len {
            self.measure(len);
        }
        let draw = u128::from(self.exponential.draw());
        let gap = ((u128::from(self.mean) * draw) >> 32) + u128::from(self.rest);
        self.rest = gap as u64 & ((1 << POINT) - 1);
        self.due = self.due.saturating_add((gap >> POINT) as u64).min(LONGEST);
    }

    /// The next I/O is due at this time instead.
    pub fn set(&mut self, due: u64) {
        self.due = due;
    }
}
