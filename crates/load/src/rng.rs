//! Random numbers: fast, seeded and repeatable, not for secrets.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, <https://prng.di.unimi.it/>), seeded with
//! splitmix64 as its authors advise. Bounded integers come from Lemire's multiply-shift method with
//! rejection (arXiv:1805.10941), which makes every value equally likely.

/// One step of splitmix64, which turns related seeds into unrelated numbers.
#[inline]
pub fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// What a stream of random numbers is used for. Each purpose has a stream of its own, so that an
/// option that draws numbers does not change what other options draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    Offset = 1,
    /// Block sizes.
    Size = 2,
    /// Directions of a mixed load.
    Direction = 3,
    /// Choice of the file.
    File = 4,
    /// Whether the next offset is random (`percentage_random`).
    Randomness = 5,
    /// Arrival times of I/Os (`rate_process=poisson`).
    Arrival = 32,
    /// Bytes of the buffers.
    Content = 6,
    /// Positions of hot spots.
    HotSpot = 7,
    /// Priorities of single I/Os.
    Priority = 8,
    /// Kinds of write commands.
    Form = 10,
    /// Placement of writes on the device.
    Placement = 9,
}

/// Generator xoshiro256++.
#[derive(Debug, Clone)]
pub struct Rng {
    s: [u64; 4],
}

impl Rng {
    /// The stream for this seed and purpose. `which` distinguishes streams of the same purpose, for
    /// example by file or direction.
    #[must_use]
    pub fn new(seed: u64, purpose: Purpose, which: u64) -> Self {
        let mut state = seed;
        let mut state = splitmix(&mut state) ^ (purpose as u64).wrapping_mul(0xd6e8_feb8_6659_fd93);
        let mut state = splitmix(&mut state) ^ which;
        Rng { s: std::array::from_fn(|_| splitmix(&mut state)) }
    }

    /// 64 random bits.
    #[inline(always)]
    pub fn draw(&mut self) -> u64 {
        let s = &mut self.s;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number from `0 .. bound`, uniformly distributed; 0 if `bound` is 0.
    #[inline(always)]
    pub fn below(&mut self, bound: u64) -> u64 {
        let mut product = u128::from(self.draw()) * u128::from(bound);
        if (product as u64) < bound {
            product = self.reject(product, bound);
        }
        (product >> 64) as u64
    }

    /// The rare case of [`Rng::below`] that needs another draw.
    #[cold]
    fn reject(&mut self, mut product: u128, bound: u64) -> u128 {
        let threshold = bound.wrapping_neg() % bound;
        while (product as u64) < threshold {
            product = u128::from(self.draw()) * u128::from(bound);
        }
        product
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounded_numbers_are_even_and_in_bounds() {
        let mut rng = Rng::new(1, Purpose::Offset, 0);
        let mut seen = [0u32; 7];
        for _ in 0..70_000 {
            seen[rng.below(7) as usize] += 1;
        }
        // Five standard deviations of a binomial distribution with n = 70 000 and p = 1/7 are 463.
        assert!(seen.iter().all(|&n| n.abs_diff(10_000) < 463), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn streams_differ_by_seed_purpose_and_index() {
        let first = |seed, purpose, which| Rng::new(seed, purpose, which).draw();
        let one = first(1, Purpose::Offset, 0);
        assert_ne!(one, first(2, Purpose::Offset, 0));
        assert_ne!(one, first(1, Purpose::Size, 0));
        assert_ne!(one, first(1, Purpose::Offset, 1));
        assert_eq!(one, first(1, Purpose::Offset, 0));
    }
}
