//! Random numbers from a seed, and distributions of latencies.

/// Generator xoshiro256** by Blackman and Vigna (public domain), seeded by SplitMix64.
#[derive(Debug, Clone)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Creates a generator. Equal seeds give equal sequences.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut mixed = seed;
        let state = [(); 4].map(|()| {
            mixed = mixed.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ (z >> 31)
        });
        Random { state }
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number from `0.0 .. 1.0`, uniformly distributed.
    pub fn fraction(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from `0 .. bound`, uniformly distributed; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
    }

    /// `true` with a probability of `percent` per cent. Draws no number for 0.
    pub fn chance(&mut self, percent: f64) -> bool {
        percent > 0.0 && self.fraction() * 100.0 < percent
    }

    /// A number from the standard normal distribution (Box-Muller).
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.fraction()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.fraction()).cos()
    }
}

/// Distribution of a latency. Times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatencyDistribution {
    /// Always this time.
    Constant(u64),
    /// Uniform between two times, inclusive.
    Uniform(u64, u64),
    /// Normal, truncated at 0.
    Normal {
        mean: u64,
        /// Standard deviation.
        deviation: u64,
    },
    /// Exponential with this mean.
    Exponential(u64),
    /// Log-normal.
    Lognormal {
        median: u64,
        /// Standard deviation of the natural logarithm.
        sigma: f64,
    },
}

impl LatencyDistribution {
    /// Draws a latency in nanoseconds.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match *self {
            LatencyDistribution::Constant(ns) => ns,
            LatencyDistribution::Uniform(low, high) => {
                low + random.below((high - low).saturating_add(1))
            }
            LatencyDistribution::Normal { mean, deviation } => {
                (mean as f64 + deviation as f64 * random.normal()).round() as u64
            }
            LatencyDistribution::Exponential(mean) => {
                (-(1.0 - random.fraction()).ln() * mean as f64).round() as u64
            }
            LatencyDistribution::Lognormal { median, sigma } => {
                (median as f64 * (sigma * random.normal()).exp()).round() as u64
            }
        }
    }
}
