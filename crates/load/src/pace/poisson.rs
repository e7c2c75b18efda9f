//! I/Os that arrive like those of many independent clients: a Poisson process.
//!
//! The time to the next arrival is exponentially distributed: `-ln(U) · mean`, with `U` uniformly
//! from (0, 1]. The logarithm uses integers only: the leading zeros of `U`, and a table of 256
//! chords of the binary logarithm, exact to 3·10⁻⁶.

use fiord_plan::Rate;

use super::{MAX_STEP, fraction};
use crate::rng::Rng;

/// Number of chords of the logarithm.
const CHORDS: usize = 256;
/// Fractional bits of a mean, so that a mean of a nanosecond is exact to 10⁻⁶.
const POINT: u32 = 20;
/// Maximum mean in nanoseconds. A draw is at most 45 means, so with `POINT` fractional bits nothing
/// overflows.
const MAX_MEAN: u64 = 1 << 43;

/// Draws from the exponential distribution with mean 1.
#[derive(Debug, Clone)]
pub struct Exponential {
    rng: Rng,
    /// log2(1 + i / CHORDS) with 32 fractional bits.
    log2: Box<[u64; CHORDS + 1]>,
}

impl Exponential {
    /// Draws from `rng`.
    #[must_use]
    pub fn new(rng: Rng) -> Self {
        let log2 = |i: usize| (1.0 + i as f64 / CHORDS as f64).log2() * 2f64.powi(32);
        Exponential { rng, log2: Box::new(std::array::from_fn(|i| log2(i).round() as u64)) }
    }

    /// A draw with 32 fractional bits.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        /// ln 2 with 32 fractional bits.
        const LN2: u128 = 2_977_044_472;
        let u = self.rng.draw() | 1;
        let zeros = u.leading_zeros();
        // The highest bit is the 1 before the point; 63 fractional bits follow.
        let mantissa = u << zeros;
        let chord = (mantissa >> 55) as usize & (CHORDS - 1);
        let along = (mantissa << 9) >> 32;
        let (from, to) = (self.log2[chord], self.log2[chord + 1]);
        let log2 = from + (((to - from) * along) >> 32);
        let halvings = ((u64::from(zeros) + 1) << 32) - log2;
        ((u128::from(halvings) * LN2) >> 32) as u64
    }
}

/// Schedule with exponentially distributed steps.
#[derive(Debug, Clone)]
pub struct Poisson {
    rate: Rate,
    due: u64,
    /// The fraction of a nanosecond to add to `due`, with `POINT` bits.
    rest: u64,
    len: u32,
    /// Mean time from an I/O of `len` bytes to the next one, with `POINT` fractional bits.
    mean: u64,
    exponential: Exponential,
}

impl Poisson {
    /// A schedule whose first I/O is due one draw after `begin`.
    #[must_use]
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
        self.mean = mean.min(u128::from(MAX_MEAN) << POINT) as u64;
    }

    /// When the next I/O is due, in nanoseconds.
    #[inline]
    #[must_use]
    pub fn due(&self) -> u64 {
        self.due
    }

    /// An I/O of `len` bytes was issued.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        if len != self.len {
            self.measure(len);
        }
        let draw = u128::from(self.exponential.draw());
        let gap = ((u128::from(self.mean) * draw) >> 32) + u128::from(self.rest);
        self.rest = gap as u64 & ((1 << POINT) - 1);
        self.due = self.due.saturating_add((gap >> POINT) as u64).min(MAX_STEP);
    }

    /// Sets the due time of the next I/O.
    pub fn set(&mut self, due: u64) {
        self.due = due;
    }
}
