//! Loops over memory, compiled for the widest vectors that the CPU has.

/// A loop that [`widest`] compiles for several widths.
pub trait VectorWork {
    /// What the loop returns.
    type Output;

    /// Runs the loop. Implementations, and the functions that contain the loop, must be `#[inline(always)]`: code
    /// that is not inlined uses the vectors that every CPU of the architecture has.
    fn run(self) -> Self::Output;
}

/// Runs `work` with AVX-512 or AVX2 if this CPU has it.
///
/// ```
/// use fiord_simd::vectors::{VectorWork, widest};
///
/// struct Sum<'a>(&'a [u64]);
/// impl VectorWork for Sum<'_> {
///     type Output = u64;
///     #[inline(always)]
///     fn run(self) -> u64 {
///         self.0.iter().sum()
///     }
/// }
/// assert_eq!(widest(Sum(&[1, 2, 3])), 6);
/// ```
#[inline]
pub fn widest<W: VectorWork>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512vl") && has!("avx512dq") && has!("avx512bw") {
            // SAFETY: the CPU has all features with which the function is compiled.
            return unsafe { with_avx512(work) };
        }
        if has!("avx2") {
            // SAFETY: the CPU has AVX2.
            return unsafe { with_avx2(work) };
        }
    }
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw")]
fn with_avx512<W: VectorWork>(work: W) -> W::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn with_avx2<W: VectorWork>(work: W) -> W::Output {
    work.run()
}

/// Fills chunks with words, little-endian. After each chunk, all words are multiplied by `factor`, modulo 2^64.
///
/// The code for AVX-512 is explicit: when the program is optimized as a whole, the compiler makes no vectors of the loop.
///
/// ```
/// let mut chunks = [[0; 256]; 2];
/// fiord_simd::vectors::fill_products([[3; 8]; 4], 5, &mut chunks);
/// assert_eq!((&chunks[0][..8], &chunks[1][..8]), (&3_u64.to_le_bytes()[..], &15_u64.to_le_bytes()[..]));
/// ```
pub fn fill_products(mut words: [[u64; 8]; 4], factor: u64, chunks: &mut [[u8; 256]]) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("avx512dq") {
            // SAFETY: the CPU has the features with which the function is compiled.
            return unsafe { fill_products_avx512(&words, factor, chunks) };
        }
    }
    for chunk in chunks {
        for (bytes, word) in chunk.as_chunks_mut::<8>().0.iter_mut().zip(words.as_flattened_mut()) {
            *bytes = word.to_le_bytes();
            *word = word.wrapping_mul(factor);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq")]
fn fill_products_avx512(words: &[[u64; 8]; 4], factor: u64, chunks: &mut [[u8; 256]]) {
    use std::arch::x86_64::{
        __m512i, _mm512_loadu_si512, _mm512_mullo_epi64, _mm512_set1_epi64, _mm512_storeu_si512,
    };
    let factor = _mm512_set1_epi64(factor as i64);
    // SAFETY: eight words have 64 bytes.
    let mut vectors: [__m512i; 4] =
        words.map(|words| unsafe { _mm512_loadu_si512(words.as_ptr().cast()) });
    for chunk in chunks {
        for (bytes, vector) in chunk.as_chunks_mut::<64>().0.iter_mut().zip(&mut vectors) {
            // SAFETY: the part of the chunk has 64 bytes.
            unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), *vector) };
            *vector = _mm512_mullo_epi64(*vector, factor);
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn products_do_not_depend_on_the_cpu() {
        let mut words: [[u64; 8]; 4] = std::array::from_fn(|v| {
            std::array::from_fn(|i| (v * 8 + i) as u64 * 2 + 0x9e37_79b9_7f4a_7c15)
        });
        let factor = 0xd134_2543_de82_ef95;
        let mut chunks = [[0; 256]; 5];
        super::fill_products(words, factor, &mut chunks);
        for chunk in chunks {
            for (bytes, word) in chunk.as_chunks::<8>().0.iter().zip(words.as_flattened_mut()) {
                assert_eq!(u64::from_le_bytes(*bytes), *word);
                *word = word.wrapping_mul(factor);
            }
        }
    }
}
