//! CRCs of up to 64 bits with the carry-less multiplication of x86 CPUs, or with tables.
//!
//! A CRC is the remainder of a division of polynomials over GF(2). Blocks of 128 bytes are folded into eight sums of 16 bytes
//! that have the remainder of everything before them: a sum is moved 1024 bits onward by multiplying its halves by powers of x
//! modulo the polynomial, or, with AVX-512, 256 bytes and 2048 bits ("Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009). The
//! last 16 bytes and the rest go through tables, eight bytes at a time, which are also for CPUs without the instruction.
//!
//! The tables of a CRC are made when they are first used. A library that has them ready has those of 50 polynomials, 0.7 MB.

use std::sync::OnceLock;

/// A kind of CRC. The values of [`Crc::update`] have no inversion at the start or at the end.
///
/// ```
/// use fiord_simd::crc::CRC64_NVME;
///
/// let state = CRC64_NVME.update(!0, b"1234");
/// assert_eq!(!CRC64_NVME.update(state, b"56789"), 0xae8b_1486_0a79_9888);
/// ```
#[derive(Debug)]
pub struct Crc {
    /// The polynomial without its highest term: in a reflected CRC with the highest power in the lowest bit.
    polynomial: u64,
    /// Bits of the CRC.
    width: u32,
    /// The bits of a byte are in reverse order: the lowest is the highest power of x.
    reflected: bool,
    /// Powers of x by which the first and the second half of a sum are multiplied when it moves.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for x86"))]
    powers: Powers,
    tables: OnceLock<Box<[[u64; 256]; 8]>>,
}

/// Two powers of x for each distance, in bits, by which sums move.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code, reason = "for x86"))]
struct Powers {
    by_2048: [u64; 2],
    by_1024: [u64; 2],
    by_512: [u64; 2],
    by_128: [u64; 2],
}

/// CRC-16/ARC: polynomial 8005h, reflected.
pub static CRC16_ARC: Crc = Crc::reflected(0xa001, 16);
/// CRC-16/T10-DIF: polynomial 8BB7h (SBC-4, 4.21.4).
pub static CRC16_T10_DIF: Crc = Crc::forward(0x8bb7, 16);
/// CRC-7/MMC as the highest 7 of 16 bits: polynomial 9h.
pub static CRC7_IN_16: Crc = Crc::forward(0x09 << 9, 16);
/// The CRC of 32 bits of `cksum` (POSIX): polynomial 04C11DB7h.
pub static CRC32_CKSUM: Crc = Crc::forward(0x04c1_1db7, 32);
/// CRC-32C: polynomial 1EDC6F41h, reflected (RFC 3720, 12.1). [`crate::crc32c`] is faster where it is available.
pub static CRC32C: Crc = Crc::reflected(0x82f6_3b78, 32);
/// The CRC of 64 bits of NVMe: polynomial AD93D23594C93659h, reflected (NVM Command Set Specification 1.0, 5.2.1.3.4).
pub static CRC64_NVME: Crc = Crc::reflected(0x9a6c_9329_ac4b_c9b5, 64);
/// CRC-64/REDIS: polynomial AD93D23594C935A9h, reflected.
pub static CRC64_REDIS: Crc = Crc::reflected(0x95ac_9329_ac4b_c9b5, 64);

impl Crc {
    /// A reflected CRC.
    const fn reflected(polynomial: u64, width: u32) -> Crc {
        Crc::new(polynomial, width, true)
    }

    /// A CRC whose first bit is the highest one of the first byte.
    const fn forward(polynomial: u64, width: u32) -> Crc {
        Crc::new(polynomial, width, false)
    }

    const fn new(polynomial: u64, width: u32, reflected: bool) -> Crc {
        let none = Powers { by_2048: [0; 2], by_1024: [0; 2], by_512: [0; 2], by_128: [0; 2] };
        let mut crc = Crc { polynomial, width, reflected, powers: none, tables: OnceLock::new() };
        crc.powers = Powers {
            by_2048: crc.moved_by(2048),
            by_1024: crc.moved_by(1024),
            by_512: crc.moved_by(512),
            by_128: crc.moved_by(128),
        };
        crc
    }

    /// The powers of x for the halves of a sum that moves by `bits`.
    const fn moved_by(&self, bits: u32) -> [u64; 2] {
        // The product of two reflected words has one bit less than its register, so it is too large by a factor of x.
        let less = if self.reflected { 1 } else { 0 };
        [self.power(bits + 64 - less), self.power(bits - less)]
    }

    /// x to the power of `exponent`, modulo the polynomial. Of a reflected CRC, the highest bit of the word is 1.
    const fn power(&self, exponent: u32) -> u64 {
        let unused = 64 - self.width;
        let mut power: u64 = if self.reflected { 1 << 63 } else { 1 };
        let mut i = 0;
        while i < exponent {
            power = if self.reflected {
                let carry = power >> unused & 1 == 1;
                let shifted = power >> 1 >> unused << unused;
                if carry { shifted ^ self.polynomial << unused } else { shifted }
            } else {
                let carry = power >> (self.width - 1) & 1 == 1;
                let shifted = power << 1 & self.mask();
                if carry { shifted ^ self.polynomial } else { shifted }
            };
            i += 1;
        }
        power
    }

    /// A word whose lowest bits, as many as the CRC has, are set.
    const fn mask(&self) -> u64 {
        !0 >> (64 - self.width)
    }

    /// The CRC after more bytes. `state`: the CRC before them.
    #[must_use]
    pub fn update(&self, state: u64, bytes: &[u8]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if let Some(last) = x86::fold(self, state, bytes) {
            return self.with_tables(self.with_tables(0, &last), bytes.as_chunks::<16>().1);
        }
        self.with_tables(state, bytes)
    }

    /// [`Crc::update`] on any CPU.
    fn with_tables(&self, mut state: u64, bytes: &[u8]) -> u64 {
        let tables = self.tables.get_or_init(|| self.make_tables());
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            let mixed = if self.reflected {
                (state ^ u64::from_le_bytes(*word)).to_le_bytes()
            } else {
                (state << (64 - self.width) ^ u64::from_be_bytes(*word)).to_be_bytes()
            };
            state = (0..8).fold(0, |sum, i| sum ^ tables[7 - i][usize::from(mixed[i])]);
        }
        for byte in rest {
            state = if self.reflected {
                state >> 8 ^ tables[0][usize::from(state as u8 ^ byte)]
            } else {
                let top = (state >> (self.width - 8)) as u8;
                (state << 8 & self.mask()) ^ tables[0][usize::from(top ^ byte)]
            };
        }
        state
    }

    /// Table `n` has, for each byte, the CRC of that byte and `n` zero bytes after it.
    fn make_tables(&self) -> Box<[[u64; 256]; 8]> {
        let mut tables = Box::new([[0; 256]; 8]);
        for byte in 0..256 {
            tables[0][byte] = self.of_byte(byte as u64);
        }
        for n in 1..8 {
            for byte in 0..256 {
                let before = tables[n - 1][byte];
                tables[n][byte] = if self.reflected {
                    before >> 8 ^ tables[0][before as usize & 0xff]
                } else {
                    let top = (before >> (self.width - 8)) as usize;
                    (before << 8 & self.mask()) ^ tables[0][top]
                };
            }
        }
        tables
    }

    /// The CRC of one byte, bit by bit.
    fn of_byte(&self, byte: u64) -> u64 {
        if self.reflected {
            return (0..8).fold(byte, |crc, _| {
                let carry = crc & 1 == 1;
                crc >> 1 ^ if carry { self.polynomial } else { 0 }
            });
        }
        (0..8).fold(byte << (self.width - 8), |crc, _| {
            let carry = crc >> (self.width - 1) & 1 == 1;
            (crc << 1 & self.mask()) ^ if carry { self.polynomial } else { 0 }
        })
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::is_x86_feature_detected as has;
    use std::arch::x86_64::{
        __m128i, __m512i, _mm_clmulepi64_si128, _mm_loadu_si128, _mm_set_epi64x, _mm_shuffle_epi8,
        _mm_storeu_si128, _mm_xor_si128, _mm512_broadcast_i32x4, _mm512_clmulepi64_epi128,
        _mm512_extracti32x4_epi32, _mm512_loadu_si512, _mm512_shuffle_epi8, _mm512_xor_si512,
        _mm512_zextsi128_si512,
    };

    use super::{Crc, Powers};

    /// 16 bytes with the remainder of the state and of all whole blocks of 16 bytes. `None` if this CPU lacks the
    /// instructions, or if tables are faster for so few bytes.
    pub(super) fn fold(crc: &Crc, state: u64, bytes: &[u8]) -> Option<[u8; 16]> {
        let blocks = bytes.as_chunks::<16>().0;
        if blocks.len() >= 32 && has!("vpclmulqdq") && has!("avx512f") && has!("avx512bw") {
            // SAFETY: the CPU has the features with which the function is compiled.
            return Some(unsafe { fold_wide(Order::of(crc), crc, state, blocks) });
        }
        narrow(crc, state, blocks)
    }

    /// [`fold`] with registers of 16 bytes.
    pub(super) fn narrow(crc: &Crc, state: u64, blocks: &[[u8; 16]]) -> Option<[u8; 16]> {
        let possible = blocks.len() >= 8 && has!("pclmulqdq") && has!("ssse3");
        // SAFETY: the CPU has the features with which the function is compiled.
        possible.then(|| unsafe { fold_narrow(Order::of(crc), crc, state, blocks) })
    }

    /// Which half of a register has the first bytes.
    #[derive(Clone, Copy)]
    enum Order {
        /// The lower one: the bytes are in the order of memory.
        LowerFirst,
        /// The upper one: the bytes are reversed.
        UpperFirst,
    }

    impl Order {
        fn of(crc: &Crc) -> Order {
            if crc.reflected { Order::LowerFirst } else { Order::UpperFirst }
        }

        /// A register with these halves.
        #[inline]
        #[target_feature(enable = "sse2")]
        fn halves(self, [first, second]: [u64; 2]) -> __m128i {
            match self {
                Order::LowerFirst => _mm_set_epi64x(second as i64, first as i64),
                Order::UpperFirst => _mm_set_epi64x(first as i64, second as i64),
            }
        }

        /// The state, where it is added to the first block.
        #[inline]
        #[target_feature(enable = "sse2")]
        fn state(self, crc: &Crc, state: u64) -> __m128i {
            match self {
                Order::LowerFirst => self.halves([state, 0]),
                Order::UpperFirst => self.halves([state << (64 - crc.width), 0]),
            }
        }

        /// A block of memory as a register, or back.
        #[inline]
        #[target_feature(enable = "ssse3")]
        fn block(self, block: __m128i) -> __m128i {
            match self {
                Order::LowerFirst => block,
                Order::UpperFirst => _mm_shuffle_epi8(block, reversal()),
            }
        }

        #[inline]
        #[target_feature(enable = "ssse3")]
        fn load(self, block: &[u8; 16]) -> __m128i {
            // SAFETY: a block has 16 bytes.
            self.block(unsafe { _mm_loadu_si128(block.as_ptr().cast()) })
        }

        #[inline]
        #[target_feature(enable = "avx512f,avx512bw")]
        fn load_four(self, blocks: &[[u8; 16]; 4]) -> __m512i {
            // SAFETY: four blocks have 64 bytes.
            let blocks = unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) };
            match self {
                Order::LowerFirst => blocks,
                Order::UpperFirst => {
                    _mm512_shuffle_epi8(blocks, _mm512_broadcast_i32x4(reversal()))
                }
            }
        }
    }

    /// The order of bytes that reverses 16 bytes.
    #[inline]
    #[target_feature(enable = "sse2")]
    fn reversal() -> __m128i {
        _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f)
    }

    /// At least 8 blocks, eight at a time.
    #[target_feature(enable = "pclmulqdq,ssse3")]
    fn fold_narrow(order: Order, crc: &Crc, state: u64, blocks: &[[u8; 16]]) -> [u8; 16] {
        let Powers { by_1024, by_128, .. } = crc.powers;
        let (by_1024, by_128) = (order.halves(by_1024), order.halves(by_128));
        let (groups, rest) = blocks.as_chunks::<8>();
        let Some((first, groups)) = groups.split_first() else { unreachable!("at least 8 blocks") };
        let mut sums = first.map(|block| order.load(&block));
        sums[0] = _mm_xor_si128(sums[0], order.state(crc, state));
        for group in groups {
            for (sum, block) in sums.iter_mut().zip(group) {
                *sum = _mm_xor_si128(moved(*sum, by_1024), order.load(block));
            }
        }
        let mut sum = sums[0];
        for next in &sums[1..] {
            sum = _mm_xor_si128(moved(sum, by_128), *next);
        }
        stored(order, sum, by_128, rest)
    }

    /// At least 16 blocks, 16 at a time.
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq,ssse3")]
    fn fold_wide(order: Order, crc: &Crc, state: u64, blocks: &[[u8; 16]]) -> [u8; 16] {
        let Powers { by_2048, by_512, by_128, .. } = crc.powers;
        let by_2048 = _mm512_broadcast_i32x4(order.halves(by_2048));
        let by_512 = _mm512_broadcast_i32x4(order.halves(by_512));
        let by_128 = order.halves(by_128);
        let (fours, rest) = blocks.as_chunks::<4>();
        let (groups, fours) = fours.as_chunks::<4>();
        let Some((first, groups)) = groups.split_first() else {
            unreachable!("at least 16 blocks")
        };
        let mut sums = first.map(|blocks| order.load_four(&blocks));
        sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(order.state(crc, state)));
        for group in groups {
            for (sum, blocks) in sums.iter_mut().zip(group) {
                *sum = _mm512_xor_si512(moved_four(*sum, by_2048), order.load_four(blocks));
            }
        }
        let mut sum = sums[0];
        for next in &sums[1..] {
            sum = _mm512_xor_si512(moved_four(sum, by_512), *next);
        }
        for blocks in fours {
            sum = _mm512_xor_si512(moved_four(sum, by_512), order.load_four(blocks));
        }
        let mut last = _mm512_extracti32x4_epi32::<0>(sum);
        last = _mm_xor_si128(moved(last, by_128), _mm512_extracti32x4_epi32::<1>(sum));
        last = _mm_xor_si128(moved(last, by_128), _mm512_extracti32x4_epi32::<2>(sum));
        last = _mm_xor_si128(moved(last, by_128), _mm512_extracti32x4_epi32::<3>(sum));
        stored(order, last, by_128, rest)
    }

    /// Adds the last blocks to a sum, and returns it in the order of memory.
    #[inline]
    #[target_feature(enable = "pclmulqdq,ssse3")]
    fn stored(order: Order, mut sum: __m128i, by_128: __m128i, rest: &[[u8; 16]]) -> [u8; 16] {
        for block in rest {
            sum = _mm_xor_si128(moved(sum, by_128), order.load(block));
        }
        let mut bytes = [0; 16];
        // SAFETY: the array has 16 bytes.
        unsafe { _mm_storeu_si128(bytes.as_mut_ptr().cast(), order.block(sum)) };
        bytes
    }

    /// A sum, multiplied by the powers of x for its halves.
    #[inline]
    #[target_feature(enable = "pclmulqdq")]
    fn moved(sum: __m128i, powers: __m128i) -> __m128i {
        let lower = _mm_clmulepi64_si128::<0x00>(sum, powers);
        let upper = _mm_clmulepi64_si128::<0x11>(sum, powers);
        _mm_xor_si128(lower, upper)
    }

    /// [`moved`] for four sums.
    #[inline]
    #[target_feature(enable = "avx512f,vpclmulqdq")]
    fn moved_four(sums: __m512i, powers: __m512i) -> __m512i {
        let lower = _mm512_clmulepi64_epi128::<0x00>(sums, powers);
        let upper = _mm512_clmulepi64_epi128::<0x11>(sums, powers);
        _mm512_xor_si512(lower, upper)
    }
}

#[cfg(test)]
mod tests {
    use crc_fast::{CrcAlgorithm, checksum};

    use super::*;

    /// All kinds, with the library's name and the inversion that it has at the start and at the end.
    const ALL: [(&Crc, CrcAlgorithm, u64, u64); 6] = [
        (&CRC16_ARC, CrcAlgorithm::Crc16Arc, 0, 0),
        (&CRC16_T10_DIF, CrcAlgorithm::Crc16T10Dif, 0, 0),
        (&CRC32_CKSUM, CrcAlgorithm::Crc32Cksum, 0, 0xffff_ffff),
        (&CRC32C, CrcAlgorithm::Crc32Iscsi, 0xffff_ffff, 0xffff_ffff),
        (&CRC64_NVME, CrcAlgorithm::Crc64Nvme, !0, !0),
        (&CRC64_REDIS, CrcAlgorithm::Crc64Redis, 0, 0),
    ];

    fn bytes(len: usize) -> Vec<u8> {
        let next =
            |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        std::iter::successors(Some(7_u64), next)
            .map(|state| (state >> 56) as u8)
            .take(len)
            .collect()
    }

    /// One bit at a time.
    fn slow(crc: &Crc, state: u64, bytes: &[u8]) -> u64 {
        bytes.iter().fold(state, |state, byte| {
            if crc.reflected {
                crc.of_byte(state & 0xff ^ u64::from(*byte)) ^ state >> 8
            } else {
                let top = state >> (crc.width - 8) ^ u64::from(*byte);
                crc.of_byte(top) ^ (state << 8 & crc.mask())
            }
        })
    }

    #[test]
    fn all_lengths_and_states_equal_the_slow_division() {
        let data = bytes(1100);
        for crc in ALL.iter().map(|(crc, ..)| *crc).chain([&CRC7_IN_16]) {
            for len in 0..data.len() {
                let start = len % 17;
                let part = &data[start.min(len)..len];
                for state in [0, 1, crc.mask(), 0x1234_5678_9abc_def0 & crc.mask()] {
                    let expected = slow(crc, state, part);
                    assert_eq!(crc.update(state, part), expected, "{crc:?} of {len} bytes");
                    assert_eq!(crc.with_tables(state, part), expected, "{crc:?} of {len} bytes");
                    #[cfg(target_arch = "x86_64")]
                    if let Some(last) = x86::narrow(crc, state, part.as_chunks::<16>().0) {
                        let sum = crc.with_tables(0, &last);
                        let found = crc.with_tables(sum, part.as_chunks::<16>().1);
                        assert_eq!(found, expected, "{crc:?} of {len} bytes");
                    }
                }
            }
        }
    }

    #[test]
    fn a_crc_of_parts_is_that_of_the_whole() {
        let data = bytes(5000);
        for (crc, algorithm, start, end) in ALL {
            let whole = checksum(algorithm, &data);
            for at in [0, 1, 15, 16, 127, 128, 129, 1000, 4999, 5000] {
                let (first, second) = data.split_at(at);
                assert_eq!(crc.update(crc.update(start, first), second) ^ end, whole, "{at}");
            }
        }
    }

    #[test]
    fn check_values_of_the_catalogue() {
        // "Catalogue of parametrised CRC algorithms", the values of "123456789".
        let check = |crc: &Crc, state| crc.update(state, b"123456789");
        assert_eq!(check(&CRC16_ARC, 0), 0xbb3d);
        assert_eq!(check(&CRC16_T10_DIF, 0), 0xd0db);
        assert_eq!(check(&CRC7_IN_16, 0) >> 9, 0x75);
        assert_eq!(check(&CRC32_CKSUM, 0) ^ 0xffff_ffff, 0x765e_7680);
        assert_eq!(check(&CRC32C, 0xffff_ffff) ^ 0xffff_ffff, 0xe306_9283);
        assert_eq!(!check(&CRC64_NVME, !0), 0xae8b_1486_0a79_9888);
        assert_eq!(check(&CRC64_REDIS, 0), 0xe9c6_d914_c4b8_d9ca);
    }
}
