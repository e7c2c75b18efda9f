//! Random bytes at the speed of memory; not for secrets.
//!
//! [`Stream`] runs 32 generators in parallel. Each is a multiply-with-carry generator with a 64-bit
//! state (Marsaglia). Its multiplier is chosen so that `A * 2^32 - 1` and `A * 2^31 - 1` are prime, so
//! the period is `A * 2^31 - 1`, about 2^63. A step is one 32-by-32-bit multiplication, a shift and an
//! addition. Vector units of every size have these instructions, so the speed of stores limits the fill
//! rate, not arithmetic. The widest unit of the processor is chosen at run time.

/// Number of generators that run in parallel.
pub const LANES: usize = 32;

/// Bytes that all generators produce in one step.
const STEP: usize = LANES * 8;

/// Multiplier of the generators.
const A: u64 = 4_294_957_665;

/// Vector units that this module supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FillUnit {
    /// Instructions that every processor of this architecture has.
    Portable,
    /// AVX2: 256 bits.
    Avx2,
    /// AVX-512: 512 bits.
    Avx512,
}

impl FillUnit {
    /// Returns the widest vector unit of this processor.
    #[must_use]
    pub fn best() -> FillUnit {
        #[cfg(target_arch = "x86_64")]
        {
            if std::arch::is_x86_feature_detected!("avx512f") {
                return FillUnit::Avx512;
            }
            if std::arch::is_x86_feature_detected!("avx2") {
                return FillUnit::Avx2;
            }
        }
        FillUnit::Portable
    }
}

/// A stream of random bytes.
#[derive(Debug, Clone)]
#[repr(align(64))]
pub struct Stream {
    lanes: [u64; LANES],
    unit: FillUnit,
}

impl Stream {
    /// Creates a stream from 32 seeds. Seeds that are not valid states are adjusted.
    #[must_use]
    pub fn new(seeds: [u64; LANES]) -> Self {
        Self::with_unit(seeds, FillUnit::best())
    }

    /// Creates a stream that uses another vector unit, to compare them. If the processor lacks the unit, the
    /// stream uses the best one that it has.
    #[must_use]
    pub fn with_unit(seeds: [u64; LANES], unit: FillUnit) -> Self {
        // A valid state is below A * 2^32 - 1 and not 0.
        let state =
            |seed: u64| (((seed >> 32) * (A - 1)) >> 32) << 32 | (seed & 0xffff_ffff).max(1);
        let unit = if unit as u8 <= FillUnit::best() as u8 { unit } else { FillUnit::best() };
        Stream { lanes: seeds.map(state), unit }
    }

    /// Fills `buffer`. The bytes do not depend on the vector unit. Unused bytes of the last step are
    /// discarded.
    #[inline]
    pub fn fill(&mut self, buffer: &mut [u8]) {
        let (steps, rest) = buffer.as_chunks_mut::<STEP>();
        match self.unit {
            FillUnit::Portable => portable(&mut self.lanes, steps),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: `with_unit` admits a unit only if the processor has it.
            FillUnit::Avx2 => unsafe { x86::fill_avx2(&mut self.lanes, steps) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            FillUnit::Avx512 => unsafe { x86::fill_avx512(&mut self.lanes, steps) },
            #[cfg(not(target_arch = "x86_64"))]
            _ => portable(&mut self.lanes, steps),
        }
        if !rest.is_empty() {
            for (to, word) in rest.chunks_mut(8).zip(self.words()) {
                to.copy_from_slice(&word.to_le_bytes()[..to.len()]);
            }
        }
    }

    /// Returns the words of one step.
    #[inline]
    pub fn words(&mut self) -> [u64; LANES] {
        let out = self.lanes;
        self.lanes = out.map(next);
        out
    }
}

#[inline(always)]
fn next(x: u64) -> u64 {
    (x & 0xffff_ffff).wrapping_mul(A).wrapping_add(x >> 32)
}

/// Runs half of the generators at a time: as many as fit into the registers of a 128-bit unit.
fn portable(lanes: &mut [u64; LANES], steps: &mut [[u8; STEP]]) {
    const HALF: usize = LANES / 2;
    for half in [0, HALF] {
        let mut state: [u64; HALF] = std::array::from_fn(|i| lanes[half + i]);
        for step in &mut *steps {
            let (words, _) = step[half * 8..][..HALF * 8].as_chunks_mut::<8>();
            for (to, x) in words.iter_mut().zip(&mut state) {
                *to = x.to_le_bytes();
                *x = next(*x);
            }
        }
        lanes[half..][..HALF].copy_from_slice(&state);
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{A, LANES, STEP};

    #[target_feature(enable = "avx512f")]
    pub(super) fn fill_avx512(lanes: &mut [u64; LANES], steps: &mut [[u8; STEP]]) {
        let a = _mm512_set1_epi64(A as i64);
        // SAFETY: 8 words from a multiple of 8 below 32 lie in the array.
        let mut state: [__m512i; 4] =
            std::array::from_fn(|i| unsafe { _mm512_loadu_si512(lanes[i * 8..].as_ptr().cast()) });
        for step in steps {
            for (i, x) in state.iter_mut().enumerate() {
                // SAFETY: 64 bytes from a multiple of 64 below 256 lie in the step.
                unsafe { _mm512_storeu_si512(step.as_mut_ptr().add(i * 64).cast(), *x) };
                *x = _mm512_add_epi64(_mm512_mul_epu32(*x, a), _mm512_srli_epi64::<32>(*x));
            }
        }
        for (i, x) in state.iter().enumerate() {
            // SAFETY: as in the load.
            unsafe { _mm512_storeu_si512(lanes[i * 8..].as_mut_ptr().cast(), *x) };
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn fill_avx2(lanes: &mut [u64; LANES], steps: &mut [[u8; STEP]]) {
        let a = _mm256_set1_epi64x(A as i64);
        // SAFETY: 4 words from a multiple of 4 below 32 lie in the array.
        let mut state: [__m256i; 8] =
            std::array::from_fn(|i| unsafe { _mm256_loadu_si256(lanes[i * 4..].as_ptr().cast()) });
        for step in steps {
            for (i, x) in state.iter_mut().enumerate() {
                // SAFETY: 32 bytes from a multiple of 32 below 256 lie in the step.
                unsafe { _mm256_storeu_si256(step.as_mut_ptr().add(i * 32).cast(), *x) };
                *x = _mm256_add_epi64(_mm256_mul_epu32(*x, a), _mm256_srli_epi64::<32>(*x));
            }
        }
        for (i, x) in state.iter().enumerate() {
            // SAFETY: as in the load.
            unsafe { _mm256_storeu_si256(lanes[i * 4..].as_mut_ptr().cast(), *x) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seeds() -> [u64; LANES] {
        std::array::from_fn(|i| (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    #[test]
    fn every_vector_unit_produces_the_same_bytes() {
        for len in [0, 1, 7, 8, 255, 256, 257, 4096, 5000] {
            let made = [FillUnit::Portable, FillUnit::Avx2, FillUnit::Avx512].map(|unit| {
                let mut stream = Stream::with_unit(seeds(), unit);
                let mut buffers = [vec![0; len], vec![0; len]];
                buffers.iter_mut().for_each(|buffer| stream.fill(buffer));
                buffers
            });
            assert_eq!(made[0], made[1]);
            assert_eq!(made[0], made[2]);
            assert!(len < 8 || made[0][0] != made[0][1]);
        }
    }

    /// Chi-square test of the byte values at each position: 255 degrees of freedom, limit for one in a
    /// million by the Wilson-Hilferty approximation.
    #[test]
    fn byte_values_are_uniformly_distributed() {
        let mut stream = Stream::new(seeds());
        let mut buffer = vec![0; 8 << 20];
        stream.fill(&mut buffer);
        for at in 0..8 {
            let mut seen = [0u64; 256];
            buffer.iter().skip(at).step_by(8).for_each(|&b| seen[usize::from(b)] += 1);
            let expected = (buffer.len() / 8) as f64 / 256.0;
            let chi: f64 = seen.iter().map(|&n| (n as f64 - expected).powi(2) / expected).sum();
            assert!(chi < 372.0, "chi-square {chi} at byte {at}");
        }
    }

    #[test]
    fn no_word_occurs_twice() {
        let mut stream = Stream::new(seeds());
        let mut buffer = vec![0; 4 << 20];
        stream.fill(&mut buffer);
        let mut words: Vec<&[u8]> = buffer.chunks_exact(8).collect();
        words.sort_unstable();
        assert!(words.windows(2).all(|pair| pair[0] != pair[1]));
    }
}
