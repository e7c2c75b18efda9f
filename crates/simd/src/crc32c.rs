//! CRC-32C with the instructions of x86 CPUs: alone, or while the bytes are computed.
//!
//! CPUs with AVX-512 compute it in four streams at a time. Three use the instruction for CRC-32C, which a stream can
//! begin only every third cycle. The fourth, which is twice as long, multiplies polynomials in vectors; that takes another
//! part of the CPU. In the end, the results of the streams are moved to their places: each is multiplied by a power of x.

use crate::crc::CRC32C;

/// A CRC-32C after more bytes. `state`: the CRC before them, without the inversion at the end; `!0` at the start.
///
/// ```
/// assert_eq!(!fiord_simd::crc32c::update(!0, b"123456789"), 0xe306_9283);
/// ```
#[inline]
#[must_use]
pub fn update(state: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        if bytes.len() <= x86::SHORT && std::arch::is_x86_feature_detected!("sse4.2") {
            // SAFETY: the CPU has SSE 4.2.
            return unsafe { x86::one_stream(state, bytes) };
        }
        if x86::has_all() {
            // SAFETY: the CPU has all features with which the function is compiled.
            return unsafe { x86::update(state, bytes) };
        }
    }
    CRC32C.update(state.into(), bytes) as u32
}

/// Maximum number of rounds of the four streams until they are brought together.
const MAX_ROUNDS: usize = 256;

/// Words that follow from the first one, modulo 2^64: each word is the one eight words before it, times a factor.
#[derive(Debug, Clone)]
pub struct WordSequence {
    /// The first eight words if the first word is 1.
    words: [u64; 8],
    /// The first powers of the factor.
    powers: [u64; MAX_ROUNDS + 1],
}

impl WordSequence {
    /// A sequence that begins with `words`, each times the first word. Each word after them is the one eight words
    /// before it, times `factor`.
    #[must_use]
    pub const fn new(words: [u64; 8], factor: u64) -> Self {
        let mut powers = [1u64; MAX_ROUNDS + 1];
        let mut i = 1;
        while i < powers.len() {
            powers[i] = powers[i - 1].wrapping_mul(factor);
            i += 1;
        }
        WordSequence { words, powers }
    }
}

/// Fills `chunks` with the words of a sequence whose first word is `first`, in little-endian order. Returns the CRC-32C
/// of the bytes from `skip` on, which is at most 64, without the inversion at its end. `None` if this CPU lacks the
/// instructions; nothing is filled then.
///
/// ```
/// use fiord_simd::crc32c::{WordSequence, fill, update};
///
/// let sequence = WordSequence::new([1, 2, 3, 4, 5, 6, 7, 8], 9);
/// let mut chunks = [[0; 64]; 3];
/// if let Some(crc) = fill(10, &sequence, &mut chunks, 20) {
///     assert_eq!(chunks[2][8..16], (10u64 * 2 * 9 * 9).to_le_bytes());
///     assert_eq!(crc, update(!0, &chunks.as_flattened()[20..]));
/// }
/// ```
#[inline]
#[must_use]
pub fn fill(
    first: u64,
    sequence: &WordSequence,
    chunks: &mut [[u8; 64]],
    skip: usize,
) -> Option<u32> {
    #[cfg(target_arch = "x86_64")]
    if x86::has_all() {
        // SAFETY: the CPU has all features with which the function is compiled.
        return Some(unsafe { x86::fill(first, sequence, chunks, skip) });
    }
    let _ = (first, sequence, chunks, skip);
    None
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;
    use std::sync::LazyLock;

    use super::{MAX_ROUNDS, WordSequence};

    /// The polynomial of CRC-32C. As in every number here, the highest power of x is in the lowest bit.
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    /// Longest input that one stream handles about as fast as several.
    pub(super) const SHORT: usize = 256;
    /// Chunks of 64 bytes that the stream of vectors handles in one round. Each other stream handles one.
    const VECTORS: usize = 6;
    /// Vectors in flight. Each multiplication waits for the one before it in its vector.
    const LANES: usize = 3;
    /// Chunks of all streams in one round.
    const ROUND: usize = VECTORS + 3;

    /// Whether the CPU has the features of [`update`] and [`fill`].
    #[inline]
    pub(super) fn has_all() -> bool {
        static HAS_ALL: LazyLock<bool> = LazyLock::new(|| {
            use std::arch::is_x86_feature_detected as has;
            has!("avx512f")
                && has!("avx512dq")
                && has!("vpclmulqdq")
                && has!("pclmulqdq")
                && has!("sse4.2")
        });
        *HAS_ALL
    }

    /// `state` times x to the power of `count`, modulo the polynomial.
    const fn times_x(state: u32, count: usize) -> u32 {
        let (mut state, mut i) = (state, 0);
        while i < count {
            state = (state >> 1) ^ if state & 1 == 1 { POLYNOMIAL } else { 0 };
            i += 1;
        }
        state
    }

    /// The product of two polynomials, modulo the polynomial.
    const fn product(a: u32, b: u32) -> u32 {
        let (mut sum, mut shifted, mut i) = (0, b, 0);
        while i < 32 {
            if a << i >> 31 == 1 {
                sum ^= shifted;
            }
            shifted = times_x(shifted, 1);
            i += 1;
        }
        sum
    }

    /// x to the power of `exponent`, modulo the polynomial.
    const fn power(exponent: usize) -> u32 {
        times_x(1 << 31, exponent)
    }

    /// Factor `n` moves a CRC past `n` chunks. The product of two polynomials of 32 bits is that of their reflected
    /// numbers times x, and an instruction for CRC-32C multiplies it by x^32.
    const PAST_CHUNKS: [u32; ROUND * MAX_ROUNDS + 1] = {
        let mut factors = [0; ROUND * MAX_ROUNDS + 1];
        let chunk = power(512);
        factors[1] = power(512 - 33);
        let mut i = 2;
        while i < factors.len() {
            factors[i] = product(factors[i - 1], chunk);
            i += 1;
        }
        factors
    };

    /// The two factors that move 16 bytes of a vector past `bytes`.
    const fn past(bytes: usize) -> [u64; 2] {
        [(power(bytes * 8 + 63) as u64) << 32, (power(bytes * 8 - 1) as u64) << 32]
    }

    /// Factors that move a vector past [`LANES`] vectors.
    const PAST_LANES: [u64; 2] = past(64 * LANES);

    /// Factors that move all parts of the last vectors to the last 16 bytes. The last part stays.
    const TO_THE_END: [[u64; 8]; LANES] = {
        let mut factors = [[0; 8]; LANES];
        let mut part = 0;
        while part + 1 < 4 * LANES {
            let two = past(64 * LANES - 16 - 16 * part);
            factors[part / 4][part % 4 * 2] = two[0];
            factors[part / 4][part % 4 * 2 + 1] = two[1];
            part += 1;
        }
        factors
    };

    /// [`super::update`] for few bytes.
    #[inline]
    #[target_feature(enable = "sse4.2")]
    pub(super) fn one_stream(state: u32, bytes: &[u8]) -> u32 {
        let (words, rest) = bytes.as_chunks::<8>();
        let mut crc = u64::from(state);
        for word in words {
            crc = _mm_crc32_u64(crc, u64::from_le_bytes(*word));
        }
        let (half, rest) = rest.as_chunks::<4>();
        let mut crc = crc as u32;
        for half in half {
            crc = _mm_crc32_u32(crc, u32::from_le_bytes(*half));
        }
        rest.iter().fold(crc, |crc, byte| _mm_crc32_u8(crc, *byte))
    }

    /// [`super::update`] for many bytes.
    #[target_feature(enable = "avx512f,avx512dq,vpclmulqdq,pclmulqdq,sse4.2")]
    pub(super) fn update(state: u32, bytes: &[u8]) -> u32 {
        // Loads that cross a cache line take twice as long.
        let unaligned = bytes.as_ptr().align_offset(64).min(bytes.len());
        let (head, bytes) = bytes.split_at(unaligned);
        let mut state = one_stream(state, head);
        let (mut chunks, tail) = bytes.as_chunks::<64>();
        while chunks.len() >= ROUND {
            let rounds = (chunks.len() / ROUND).min(MAX_ROUNDS);
            let (now, later) = chunks.split_at(rounds * ROUND);
            state = four_streams(state, now, rounds);
            chunks = later;
        }
        one_stream(few_chunks(state, chunks), tail)
    }

    /// [`super::fill`].
    #[target_feature(enable = "avx512f,avx512dq,vpclmulqdq,pclmulqdq,sse4.2")]
    pub(super) fn fill(
        first: u64,
        sequence: &WordSequence,
        chunks: &mut [[u8; 64]],
        skip: usize,
    ) -> u32 {
        let step = _mm512_set1_epi64(sequence.powers[1].cast_signed());
        let first = _mm512_set1_epi64(first.cast_signed());
        let mut words = _mm512_mullo_epi64(vector(&sequence.words), first);
        let mut state = !0;
        // The first chunk is not part of the streams if some of its bytes do not count.
        let (begin, mut rest) = chunks.split_at_mut(chunks.len().min(usize::from(skip > 0)));
        for chunk in begin {
            store(chunk, words);
            state = one_stream(state, &chunk[skip.min(64)..]);
            words = _mm512_mullo_epi64(words, step);
        }
        while rest.len() >= ROUND {
            let rounds = (rest.len() / ROUND).min(MAX_ROUNDS);
            let (now, later) = rest.split_at_mut(rounds * ROUND);
            (state, words) = fill_four_streams((state, words), sequence, now, rounds);
            rest = later;
        }
        for chunk in &mut *rest {
            store(chunk, words);
            words = _mm512_mullo_epi64(words, step);
        }
        few_chunks(state, rest)
    }

    /// The CRC after fewer chunks than a round has.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.2")]
    fn few_chunks(mut state: u32, mut chunks: &[[u8; 64]]) -> u32 {
        while let Some((now, later)) = chunks.split_first_chunk() {
            state = three_streams(state, now);
            chunks = later;
        }
        one_stream(state, chunks.as_flattened())
    }

    /// The CRC after `rounds` rounds.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,vpclmulqdq,pclmulqdq,sse4.2")]
    fn four_streams(state: u32, chunks: &[[u8; 64]], rounds: usize) -> u32 {
        let (streams, vectors) = chunks.split_at(3 * rounds);
        let (first, rest) = streams.split_at(rounds);
        let (second, third) = rest.split_at(rounds);
        let mut rest = vectors.as_chunks::<VECTORS>().0.iter().zip(first).zip(second).zip(third);
        let Some((((vectors, a), b), c)) = rest.next() else { return state };
        let mut crcs = [0; 3];
        let [next, after] = halves(vectors);
        let mut lanes = next.map(|chunk| load(chunk));
        (0..4).for_each(|word| add_word(&mut crcs, [a, b, c], word));
        add_half(&mut crcs, &mut lanes, ([a, b, c], 4), after.map(|chunk| load(chunk)));
        for (((vectors, a), b), c) in rest {
            let [next, after] = halves(vectors);
            add_half(&mut crcs, &mut lanes, ([a, b, c], 0), next.map(|chunk| load(chunk)));
            add_half(&mut crcs, &mut lanes, ([a, b, c], 4), after.map(|chunk| load(chunk)));
        }
        joined(state, crcs, lanes, rounds)
    }

    /// [`four_streams`] of chunks that are filled. Also returns the words after them.
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,vpclmulqdq,pclmulqdq,sse4.2")]
    fn fill_four_streams(
        (state, words): (u32, __m512i),
        sequence: &WordSequence,
        chunks: &mut [[u8; 64]],
        rounds: usize,
    ) -> (u32, __m512i) {
        let (streams, vectors) = chunks.split_at_mut(3 * rounds);
        let (first, rest) = streams.split_at_mut(rounds);
        let (second, third) = rest.split_at_mut(rounds);
        let vectors = vectors.as_chunks_mut::<VECTORS>().0;
        let step = _mm512_set1_epi64(sequence.powers[1].cast_signed());
        let stream = _mm512_set1_epi64(sequence.powers[rounds].cast_signed());
        let mut a = words;
        let mut b = _mm512_mullo_epi64(a, stream);
        let mut c = _mm512_mullo_epi64(b, stream);
        let mut next = Generator { words: _mm512_mullo_epi64(c, stream), step };
        let mut crcs = [0; 3];
        let mut lanes = [_mm512_setzero_si512(); LANES];
        for i in 0..rounds {
            store(&mut first[i], a);
            store(&mut second[i], b);
            store(&mut third[i], c);
            a = _mm512_mullo_epi64(a, step);
            b = _mm512_mullo_epi64(b, step);
            c = _mm512_mullo_epi64(c, step);
            let [begin, end] = halves_mut(&mut vectors[i]);
            // The streams of words are a round behind: a load of what was just stored is slow.
            let Some(before) = i.checked_sub(1) else {
                lanes = next.fill(begin);
                let after = next.fill(end);
                for (lane, after) in lanes.iter_mut().zip(after) {
                    *lane = past_lanes(*lane, after);
                }
                continue;
            };
            let words = [&first[before], &second[before], &third[before]];
            add_half(&mut crcs, &mut lanes, (words, 0), next.fill(begin));
            add_half(&mut crcs, &mut lanes, (words, 4), next.fill(end));
        }
        let last = rounds - 1;
        (0..8).for_each(|word| {
            add_word(&mut crcs, [&first[last], &second[last], &third[last]], word);
        });
        (joined(state, crcs, lanes, rounds), next.words)
    }

    /// The words of the next chunk.
    struct Generator {
        words: __m512i,
        step: __m512i,
    }

    impl Generator {
        /// Fills chunks and returns their words.
        #[inline]
        #[target_feature(enable = "avx512f,avx512dq")]
        fn fill(&mut self, chunks: [&mut [u8; 64]; LANES]) -> [__m512i; LANES] {
            chunks.map(|chunk| {
                let words = self.words;
                store(chunk, words);
                self.words = _mm512_mullo_epi64(words, self.step);
                words
            })
        }
    }

    /// The two halves of the vectors of a round.
    #[inline]
    fn halves(vectors: &[[u8; 64]; VECTORS]) -> [[&[u8; 64]; LANES]; 2] {
        let [a, b, c, d, e, f] = vectors;
        [[a, b, c], [d, e, f]]
    }

    /// The two halves of the vectors of a round.
    #[inline]
    fn halves_mut(vectors: &mut [[u8; 64]; VECTORS]) -> [[&mut [u8; 64]; LANES]; 2] {
        let [a, b, c, d, e, f] = vectors;
        [[a, b, c], [d, e, f]]
    }

    /// Adds four words, from `word` on, to each stream of words, and the `next` vectors to the stream of vectors.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq,sse4.2")]
    fn add_half(
        crcs: &mut [u64; 3],
        lanes: &mut [__m512i; LANES],
        (chunks, word): ([&[u8; 64]; 3], usize),
        next: [__m512i; LANES],
    ) {
        for (i, (lane, next)) in lanes.iter_mut().zip(next).enumerate() {
            add_word(crcs, chunks, word + i);
            *lane = past_lanes(*lane, next);
        }
        add_word(crcs, chunks, word + LANES);
    }

    /// Adds a word of its chunk to each stream.
    #[inline]
    #[target_feature(enable = "sse4.2")]
    fn add_word(crcs: &mut [u64; 3], chunks: [&[u8; 64]; 3], word: usize) {
        for (crc, chunk) in crcs.iter_mut().zip(chunks) {
            *crc = _mm_crc32_u64(*crc, u64::from_le_bytes(chunk.as_chunks::<8>().0[word]));
        }
    }

    /// A vector past [`LANES`] vectors, and the `next` one added.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn past_lanes(vector: __m512i, next: __m512i) -> __m512i {
        let [low, high] = PAST_LANES.map(u64::cast_signed);
        moved(vector, _mm512_set_epi64(high, low, high, low, high, low, high, low), next)
    }

    /// Each part of a vector times its two factors, and another vector added.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn moved(vector: __m512i, factors: __m512i, other: __m512i) -> __m512i {
        let low = _mm512_clmulepi64_epi128::<0x00>(vector, factors);
        let high = _mm512_clmulepi64_epi128::<0x11>(vector, factors);
        _mm512_ternarylogic_epi64::<0x96>(low, high, other)
    }

    /// The CRC after `rounds` rounds. `state`: that before them.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.2")]
    fn joined(state: u32, crcs: [u64; 3], lanes: [__m512i; LANES], rounds: usize) -> u32 {
        let chunks = [VECTORS + 2, VECTORS + 1, VECTORS].map(|chunks| chunks * rounds);
        let mut before = past_chunks(u64::from(state), ROUND * rounds);
        for (crc, chunks) in crcs.into_iter().zip(chunks) {
            before = _mm_xor_si128(before, past_chunks(crc, chunks));
        }
        // The last part of the last vector is in its place.
        let mut sum = _mm512_maskz_mov_epi64(0xc0, lanes[LANES - 1]);
        for (lane, factors) in lanes.into_iter().zip(&TO_THE_END) {
            sum = moved(lane, vector(factors), sum);
        }
        let half = _mm512_extracti64x4_epi64::<1>(sum);
        let half = _mm256_xor_si256(half, _mm512_castsi512_si256(sum));
        let part = _mm256_extracti128_si256::<1>(half);
        let part = _mm_xor_si128(part, _mm256_castsi256_si128(half));
        let part = _mm_xor_si128(part, _mm_slli_si128::<8>(before));
        let low = _mm_crc32_u64(0, _mm_cvtsi128_si64(part).cast_unsigned());
        _mm_crc32_u64(low, _mm_extract_epi64::<1>(part).cast_unsigned()) as u32
    }

    /// The CRC after three chunks in three streams.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse4.2")]
    fn three_streams(state: u32, [a, b, c]: &[[u8; 64]; 3]) -> u32 {
        let mut crcs = [u64::from(state), 0, 0];
        (0..8).for_each(|word| add_word(&mut crcs, [a, b, c], word));
        let before = _mm_xor_si128(past_chunks(crcs[0], 2), past_chunks(crcs[1], 1));
        let before = _mm_cvtsi128_si64(before).cast_unsigned();
        (_mm_crc32_u64(0, before) ^ crcs[2]) as u32
    }

    /// A number of 64 bits whose CRC is that of `crc` past `chunks` chunks.
    #[inline]
    #[target_feature(enable = "pclmulqdq,sse2")]
    fn past_chunks(crc: u64, chunks: usize) -> __m128i {
        let factor = _mm_cvtsi32_si128(PAST_CHUNKS[chunks].cast_signed());
        _mm_clmulepi64_si128::<0>(_mm_cvtsi64_si128(crc.cast_signed()), factor)
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn vector(words: &[u64; 8]) -> __m512i {
        // SAFETY: the 64 bytes are readable.
        unsafe { _mm512_loadu_si512(words.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn load(chunk: &[u8; 64]) -> __m512i {
        // SAFETY: the 64 bytes are readable.
        unsafe { _mm512_loadu_si512(chunk.as_ptr().cast()) }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn store(chunk: &mut [u8; 64], words: __m512i) {
        // SAFETY: the 64 bytes are writable.
        unsafe { _mm512_storeu_si512(chunk.as_mut_ptr().cast(), words) };
    }
}

#[cfg(test)]
mod tests {
    /// The CRC of RFC 3720, bit by bit.
    fn naive(state: u32, bytes: &[u8]) -> u32 {
        bytes.iter().fold(state, |state, byte| {
            (0..8).fold(state ^ u32::from(*byte), |state, _| {
                (state >> 1) ^ if state & 1 == 1 { 0x82f6_3b78 } else { 0 }
            })
        })
    }

    fn bytes(count: usize) -> Vec<u8> {
        let mut word = 0x1234_5678u32;
        let next = |_| {
            word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (word >> 24) as u8
        };
        (0..count).map(next).collect()
    }

    #[test]
    fn crcs_of_all_lengths_and_alignments() {
        let data = bytes(700_000);
        let long = [577 * 256, 600_001, 4096, 131_072, 131_020].into_iter();
        for length in (0..1500).chain(long) {
            let at = length * 7 % 64;
            let part = &data[at..at + length];
            let crc = super::update(0x8765_4321, part);
            assert_eq!(crc, naive(0x8765_4321, part), "{length} bytes from {at}");
        }
    }

    #[test]
    fn filled_words_and_their_crc() {
        let words = [1, 5, 7, 11, 13, 17, 19, 0xfedc_ba98_7654_3210];
        let factor = 0x61c8_8646_80b5_83eb;
        let sequence = super::WordSequence::new(words, factor);
        for count in (0..40).chain([511, 64 * 9, 256 * 9 + 20, 600 * 9]) {
            for skip in [0, 1, 7, 48, 52, 63, 64] {
                let mut chunks = vec![[0xa5; 64]; count + 1];
                let crc = super::fill(77, &sequence, &mut chunks[..count], skip);
                let Some(crc) = crc else { return };
                let mut expected = words.map(|word| word.wrapping_mul(77));
                for chunk in &chunks[..count] {
                    let found = chunk.as_chunks::<8>().0;
                    assert!(found.iter().zip(expected).all(|(f, e)| *f == e.to_le_bytes()));
                    expected = expected.map(|word| word.wrapping_mul(factor));
                }
                assert_eq!(chunks[count], [0xa5; 64]);
                let all = chunks[..count].as_flattened();
                assert_eq!(crc, naive(!0, all.get(skip..).unwrap_or_default()), "{count} {skip}");
            }
        }
    }
}
