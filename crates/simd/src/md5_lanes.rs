//! The compression function of MD5 (RFC 1321) for eight messages at once. Each step of MD5 waits for the one before
//! it, so that one message leaves most of the CPU idle; the steps of eight messages are independent.

/// Number of messages.
pub const LANES: usize = 8;

/// The states of eight messages: the first word of all of them, then the second, and so on.
pub type States = [[u32; LANES]; 4];

/// Whether this CPU has the instructions of [`compress`].
#[inline]
#[must_use]
pub fn available() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Adds blocks to the states of eight messages: as many as the shortest list has. False if this CPU lacks the
/// instructions; the states are unchanged then.
///
/// ```
/// use fiord_simd::md5_lanes::{available, compress};
///
/// let mut states = [[1; 8], [2; 8], [3; 8], [4; 8]];
/// let block = [[7; 64]];
/// let added = compress(&mut states, [&block[..]; 8]);
/// assert_eq!(added, available());
/// assert!(states[0].iter().all(|word| *word == states[0][0]));
/// ```
#[inline]
#[must_use]
pub fn compress(states: &mut States, blocks: [&[[u8; 64]]; LANES]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if available() {
        // SAFETY: the CPU has AVX2, with which the function is compiled.
        unsafe { x86::compress(states, blocks) };
        return true;
    }
    let _ = (states, blocks);
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{LANES, States};

    /// One step. `$function` gives the function of the round of the three newer words.
    macro_rules! step {
        ($function:ident, $rotation:literal, $a:ident $b:ident $c:ident $d:ident, $word:expr, $sine:expr) => {
            let old =
                _mm256_add_epi32($a, _mm256_add_epi32($word, _mm256_set1_epi32($sine as i32)));
            let sum = _mm256_add_epi32(old, $function($b, $c, $d));
            let left = _mm256_slli_epi32::<$rotation>(sum);
            let right = _mm256_srli_epi32::<{ 32 - $rotation }>(sum);
            $a = _mm256_add_epi32(_mm256_or_si256(left, right), $b);
        };
    }

    /// The sixteen steps of a round. Step `i` uses the word `$factor * i + $first`.
    macro_rules! round {
        ($function:ident, $round:literal, [$r0:literal $r1:literal $r2:literal $r3:literal], $factor:literal, $first:literal, $a:ident $b:ident $c:ident $d:ident, $words:ident) => {
            round!(@ $function, $round, [$r0 $r1 $r2 $r3], $factor, $first, $a $b $c $d, $words, 0 1 2 3);
            round!(@ $function, $round, [$r0 $r1 $r2 $r3], $factor, $first, $a $b $c $d, $words, 4 5 6 7);
            round!(@ $function, $round, [$r0 $r1 $r2 $r3], $factor, $first, $a $b $c $d, $words, 8 9 10 11);
            round!(@ $function, $round, [$r0 $r1 $r2 $r3], $factor, $first, $a $b $c $d, $words, 12 13 14 15);
        };
        (@ $function:ident, $round:literal, [$r0:literal $r1:literal $r2:literal $r3:literal], $factor:literal, $first:literal, $a:ident $b:ident $c:ident $d:ident, $words:ident, $i0:literal $i1:literal $i2:literal $i3:literal) => {
            step!($function, $r0, $a $b $c $d, $words[($factor * $i0 + $first) % 16], SINES[$round][$i0]);
            step!($function, $r1, $d $a $b $c, $words[($factor * $i1 + $first) % 16], SINES[$round][$i1]);
            step!($function, $r2, $c $d $a $b, $words[($factor * $i2 + $first) % 16], SINES[$round][$i2]);
            step!($function, $r3, $b $c $d $a, $words[($factor * $i3 + $first) % 16], SINES[$round][$i3]);
        };
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn compress(states: &mut States, blocks: [&[[u8; 64]]; LANES]) {
        let count = blocks.iter().map(|blocks| blocks.len()).min().unwrap_or(0);
        let [mut a, mut b, mut c, mut d] = states.map(|words| vector(words));
        for index in 0..count {
            let before = [a, b, c, d];
            let words = words(blocks.map(|blocks| &blocks[index]));
            round!(first, 0, [7 12 17 22], 1, 0, a b c d, words);
            round!(second, 1, [5 9 14 20], 5, 1, a b c d, words);
            round!(third, 2, [4 11 16 23], 3, 5, a b c d, words);
            round!(fourth, 3, [6 10 15 21], 7, 0, a b c d, words);
            a = _mm256_add_epi32(a, before[0]);
            b = _mm256_add_epi32(b, before[1]);
            c = _mm256_add_epi32(c, before[2]);
            d = _mm256_add_epi32(d, before[3]);
        }
        *states = [a, b, c, d].map(|vector| array(vector));
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn first(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_xor_si256(d, _mm256_and_si256(b, _mm256_xor_si256(c, d)))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn second(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_or_si256(_mm256_andnot_si256(d, c), _mm256_and_si256(d, b))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn third(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        _mm256_xor_si256(b, _mm256_xor_si256(c, d))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn fourth(b: __m256i, c: __m256i, d: __m256i) -> __m256i {
        let not_d = _mm256_xor_si256(d, _mm256_set1_epi32(-1));
        _mm256_xor_si256(c, _mm256_or_si256(b, not_d))
    }

    /// The sixteen words of eight blocks: the first word of all of them, then the second, and so on.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn words(blocks: [&[u8; 64]; LANES]) -> [__m256i; 16] {
        let mut words = [_mm256_setzero_si256(); 16];
        for half in 0..2 {
            let rows = blocks.map(|block| {
                let longs = block.as_chunks::<8>().0;
                let long = |i: usize| i64::from_le_bytes(longs[4 * half + i]);
                _mm256_set_epi64x(long(3), long(2), long(1), long(0))
            });
            words[8 * half..][..8].copy_from_slice(&transposed(rows));
        }
        words
    }

    /// Exchanges rows and columns of a matrix of words.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn transposed(rows: [__m256i; 8]) -> [__m256i; 8] {
        let pairs: [__m256i; 8] = std::array::from_fn(|i| {
            let (upper, lower) = (rows[i / 2 * 2], rows[i / 2 * 2 + 1]);
            match i % 2 {
                0 => _mm256_unpacklo_epi32(upper, lower),
                _ => _mm256_unpackhi_epi32(upper, lower),
            }
        });
        // Four words of a column in each half: the columns i and i + 4.
        let fours: [__m256i; 8] = std::array::from_fn(|i| {
            let (upper, lower) = (pairs[i / 4 * 4 + i % 4 / 2], pairs[i / 4 * 4 + i % 4 / 2 + 2]);
            match i % 2 {
                0 => _mm256_unpacklo_epi64(upper, lower),
                _ => _mm256_unpackhi_epi64(upper, lower),
            }
        });
        std::array::from_fn(|i| match i / 4 {
            0 => _mm256_permute2x128_si256::<0x20>(fours[i], fours[i + 4]),
            _ => _mm256_permute2x128_si256::<0x31>(fours[i - 4], fours[i]),
        })
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn vector(words: [u32; LANES]) -> __m256i {
        let [a, b, c, d, e, f, g, h] = words.map(u32::cast_signed);
        _mm256_setr_epi32(a, b, c, d, e, f, g, h)
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn array(vector: __m256i) -> [u32; LANES] {
        let halves = [_mm256_castsi256_si128(vector), _mm256_extracti128_si256::<1>(vector)];
        let words = halves.map(|half| {
            let low = _mm_cvtsi128_si64(half).cast_unsigned();
            let high = _mm_extract_epi64::<1>(half).cast_unsigned();
            [low as u32, (low >> 32) as u32, high as u32, (high >> 32) as u32]
        });
        std::array::from_fn(|i| words[i / 4][i % 4])
    }

    /// The constants of the steps: the sines of 1 to 64, times 2^32.
    #[rustfmt::skip]
    static SINES: [[u32; 16]; 4] = [
        [
            0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee,
            0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
            0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be,
            0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
        ],
        [
            0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa,
            0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
            0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed,
            0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
        ],
        [
            0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c,
            0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
            0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05,
            0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
        ],
        [
            0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039,
            0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
            0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1,
            0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
        ],
    ];
}
