//! The methods of `verify`, and their digests.
//!
//! Several digests differ from the algorithm that gives them their name. These deviations are part of the format.

use std::fmt;

use fiord_simd::crc::{CRC7_IN_16, CRC16_ARC, CRC32_CKSUM, CRC64_REDIS};
use sha2::Digest as _;

/// A method of `verify`. Its number is stored in the header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Method {
    /// Only the header.
    Meta = 1,
    Md5 = 2,
    /// CRC-64/REDIS.
    Crc64 = 3,
    /// Polynomial 04C11DB7, not reflected, start 0, not inverted: CRC-32/CKSUM without its inversion.
    Crc32 = 4,
    /// CRC-32C without the final inversion. `crc32c-intel` is the same method.
    Crc32c = 5,
    /// CRC-16/ARC.
    Crc16 = 7,
    /// CRC-7/MMC, in the low seven bits.
    Crc7 = 8,
    /// The state and the last block of a SHA-256 whose padding holds the length in little-endian order:
    /// the low byte of each of the eight words of the state, then bytes 8 to 63 of the last block.
    Sha256 = 9,
    /// SHA-512, then bytes 64 to 127 of the last block, padding included.
    Sha512 = 10,
    /// SHA3-224.
    Sha3224 = 11,
    /// SHA3-256.
    Sha3256 = 12,
    /// SHA3-384.
    Sha3384 = 13,
    /// SHA3-512.
    Sha3512 = 14,
    /// XXH32 with seed 1.
    Xxhash = 15,
    /// SHA-1, each of its five words in little-endian order.
    Sha1 = 16,
    /// A header, then the pattern of the job.
    PatternHdr = 17,
    /// The pattern of the job without a header.
    Pattern = 18,
    /// No check.
    Null = 19,
}

/// The largest number of bytes that a digest has.
pub const MAX_DIGEST: usize = 128;

/// The digest of a method: [`Method::digest_length`] bytes, as they are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Digest {
    bytes: [u8; MAX_DIGEST],
    length: usize,
}

impl Digest {
    pub(super) fn new(digest: &[u8]) -> Self {
        let mut bytes = [0; MAX_DIGEST];
        bytes[..digest.len()].copy_from_slice(digest);
        Digest { bytes, length: digest.len() }
    }

    /// The bytes as they are stored after the header.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Hexadecimal digits in the order of the bytes.
impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Method {
    /// Whether a `verify_pattern` is compared byte for byte, because no digest covers the body.
    #[must_use]
    pub const fn compares_pattern(self) -> bool {
        matches!(self, Method::Pattern | Method::PatternHdr | Method::Meta)
    }

    /// All methods, in the order of their numbers.
    pub const ALL: [Method; 18] = [
        Method::Meta,
        Method::Md5,
        Method::Crc64,
        Method::Crc32,
        Method::Crc32c,
        Method::Crc16,
        Method::Crc7,
        Method::Sha256,
        Method::Sha512,
        Method::Sha3224,
        Method::Sha3256,
        Method::Sha3384,
        Method::Sha3512,
        Method::Xxhash,
        Method::Sha1,
        Method::PatternHdr,
        Method::Pattern,
        Method::Null,
    ];

    /// The value of `verify` that selects the method; empty for [`Method::Null`], which checks nothing.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Method::Meta => "meta",
            Method::Md5 => "md5",
            Method::Crc64 => "crc64",
            Method::Crc32 => "crc32",
            Method::Crc32c => "crc32c",
            Method::Crc16 => "crc16",
            Method::Crc7 => "crc7",
            Method::Sha256 => "sha256",
            Method::Sha512 => "sha512",
            Method::Sha3224 => "sha3-224",
            Method::Sha3256 => "sha3-256",
            Method::Sha3384 => "sha3-384",
            Method::Sha3512 => "sha3-512",
            Method::Xxhash => "xxhash",
            Method::Sha1 => "sha1",
            Method::PatternHdr => "pattern_hdr",
            Method::Pattern => "pattern",
            Method::Null => "",
        }
    }

    /// The method with this number in the header.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Method::ALL.into_iter().find(|method| *method as u8 == number)
    }

    /// Whether each interval starts with a header.
    #[must_use]
    pub fn has_header(self) -> bool {
        !matches!(self, Method::Pattern | Method::Null)
    }

    /// Length in bytes of the digest after the header.
    #[must_use]
    pub fn digest_length(self) -> usize {
        match self {
            Method::Meta | Method::PatternHdr | Method::Pattern | Method::Null => 0,
            Method::Crc7 => 1,
            Method::Crc16 => 2,
            Method::Crc32 | Method::Crc32c | Method::Xxhash => 4,
            Method::Crc64 => 8,
            Method::Md5 => 16,
            Method::Sha1 => 20,
            Method::Sha3224 => 28,
            Method::Sha3256 => 32,
            Method::Sha3384 => 48,
            Method::Sha256 | Method::Sha3512 => 64,
            Method::Sha512 => 128,
        }
    }

    /// Whether `stored` is the [digest](Method::digest) of `data`.
    #[must_use]
    pub fn matches(self, data: &[u8], stored: &[u8]) -> bool {
        match self {
            Method::Meta | Method::PatternHdr | Method::Pattern | Method::Null => stored.is_empty(),
            Method::Crc32c => stored == crc32c(data).to_le_bytes(),
            _ => stored == self.digest(data).as_bytes(),
        }
    }

    /// Computes the digest of `data`: of what follows the header and the digest in an interval.
    #[must_use]
    pub fn digest(self, data: &[u8]) -> Digest {
        match self {
            Method::Meta | Method::PatternHdr | Method::Pattern | Method::Null => Digest::new(&[]),
            Method::Md5 => Digest::new(&super::md5::digest(data)),
            Method::Crc64 => Digest::new(&CRC64_REDIS.update(0, data).to_le_bytes()),
            Method::Crc32 => Digest::new(&(CRC32_CKSUM.update(0, data) as u32).to_le_bytes()),
            Method::Crc32c => Digest::new(&crc32c(data).to_le_bytes()),
            Method::Crc16 => Digest::new(&(CRC16_ARC.update(0, data) as u16).to_le_bytes()),
            Method::Crc7 => Digest::new(&[crc7(data)]),
            Method::Xxhash => Digest::new(&xxhash_rust::xxh32::xxh32(data, 1).to_le_bytes()),
            Method::Sha1 => {
                let mut digest: [u8; 20] = sha1::Sha1::digest(data).into();
                digest.as_chunks_mut::<4>().0.iter_mut().for_each(|word| word.reverse());
                Digest::new(&digest)
            }
            Method::Sha256 => Digest::new(&sha256(data)),
            Method::Sha512 => Digest::new(&sha512(data)),
            Method::Sha3224 => Digest::new(&sha3::Sha3_224::digest(data)),
            Method::Sha3256 => Digest::new(&sha3::Sha3_256::digest(data)),
            Method::Sha3384 => Digest::new(&sha3::Sha3_384::digest(data)),
            Method::Sha3512 => Digest::new(&sha3::Sha3_512::digest(data)),
        }
    }
}

/// CRC-32C (Castagnoli, RFC 3720) without the final inversion. Headers and state files use it too.
#[must_use]
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_after(!0, bytes)
}

/// The [`crc32c`] of bytes whose start has the CRC `state`, and then `bytes`.
pub(super) fn crc32c_after(state: u32, bytes: &[u8]) -> u32 {
    fiord_simd::crc32c::update(state, bytes)
}

fn crc7(bytes: &[u8]) -> u8 {
    (CRC7_IN_16.update(0, bytes) >> 9) as u8
}

/// The initial state of SHA-256 (FIPS 180-4, 5.3.3).
const SHA256_STATE: [u32; 8] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f372,
    0xa54f_f53a,
    0x510e_527f,
    0x9b05_688c,
    0x1f83_d9ab,
    0x5be0_cd19,
];

fn sha256(data: &[u8]) -> [u8; 64] {
    let mut state = SHA256_STATE;
    let (blocks, rest) = data.as_chunks::<64>();
    // One call for many blocks keeps the state in registers.
    let mut batch = [sha2::digest::generic_array::GenericArray::default(); 32];
    for blocks in blocks.chunks(batch.len()) {
        let batch = &mut batch[..blocks.len()];
        batch.iter_mut().zip(blocks).for_each(|(to, block)| to.copy_from_slice(block));
        sha2::compress256(&mut state, batch);
    }
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= 56 {
        sha2::compress256(&mut state, std::slice::from_ref((&last).into()));
        last = [0; 64];
    }
    last[56..].copy_from_slice(&(data.len() as u64 * 8).to_le_bytes());
    sha2::compress256(&mut state, std::slice::from_ref((&last).into()));
    for (byte, word) in last.iter_mut().zip(state) {
        *byte = word as u8;
    }
    last
}

/// The initial state of SHA-512 (FIPS 180-4, 5.3.5).
const SHA512_STATE: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];

fn sha512(data: &[u8]) -> [u8; 128] {
    let mut state = SHA512_STATE;
    let (blocks, rest) = data.as_chunks::<128>();
    compress512(&mut state, blocks);
    let mut last = [0; 128];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= 112 {
        compress512(&mut state, &[last]);
        last = [0; 128];
    }
    last[112..].copy_from_slice(&(data.len() as u128 * 8).to_be_bytes());
    compress512(&mut state, &[last]);
    for (bytes, word) in last.as_chunks_mut::<8>().0.iter_mut().zip(state) {
        *bytes = word.to_be_bytes();
    }
    last
}

fn compress512(state: &mut [u64; 8], blocks: &[[u8; 128]]) {
    if !fiord_simd::sha512::compress(state, blocks) {
        for block in blocks {
            sha2::compress512(state, std::slice::from_ref(block.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use fiord_simd::crc::CRC32C;
    use proptest::prelude::*;
    use sha2::Digest as _;

    proptest! {
        #[test]
        fn crc32c_does_not_depend_on_the_cpu(
            data in prop::collection::vec(any::<u8>(), 0..5000), state: u32, at: prop::sample::Index,
        ) {
            let (start, rest) = data.split_at(at.index(data.len() + 1));
            let portable = CRC32C.update(CRC32C.update(state.into(), start), rest);
            prop_assert_eq!(u64::from(super::crc32c_after(state, &data)), portable);
        }

        #[test]
        fn sha512_equals_another_implementation(data in prop::collection::vec(any::<u8>(), 0..700)) {
            let expected: [u8; 64] = sha2::Sha512::digest(&data).into();
            prop_assert_eq!(&super::sha512(&data)[..64], expected);
        }

        #[test]
        fn sha256_does_not_depend_on_the_batches(data in prop::collection::vec(any::<u8>(), 2000..4500)) {
            // The low bytes of the state after all whole blocks, one block at a time.
            let mut state = super::SHA256_STATE;
            let (blocks, rest) = data.as_chunks::<64>();
            for block in blocks {
                sha2::compress256(&mut state, std::slice::from_ref(block.into()));
            }
            let whole = &data[..data.len() - rest.len()];
            let mut last = [0; 64];
            last[0] = 0x80;
            last[56..].copy_from_slice(&(whole.len() as u64 * 8).to_le_bytes());
            sha2::compress256(&mut state, std::slice::from_ref((&last).into()));
            prop_assert_eq!(&super::sha256(whole)[..8], state.map(|word| word as u8));
        }
    }
}
