//! The format of `verify=fiord`: each sector identifies itself, and every byte of it can be computed from its header.
//!
//! A sector has the size of a logical block of the target, at least 512 bytes. Integers are in little-endian order.
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | magic `FRDS` |
//! | 4 | version, 1 |
//! | 5 | binary logarithm of the sector size in bytes |
//! | 6 to 7 | [`SectorFlags`] |
//! | 8 to 15 | [`TargetId`] |
//! | 16 to 23 | address: offset of the sector in its target, in bytes |
//! | 24 to 31 | [`RunId`]: the start of the run in seconds since 1970, times 2^32, plus a random number |
//! | 32 to 39 | number of the write in its job, from 0 |
//! | 40 to 43 | length of the write in bytes |
//! | 44 to 45 | number of the job in the run |
//! | 46 to 47 | generation of the block |
//! | 48 to 55 | address of the write |
//! | 56 to 63 | checksum of bytes 0 to 55 |
//! | from 64 | body: word `i` of the sector, of 8 bytes, is the checksum plus `i` × `0x9E3779B97F4A7C15`, modulo 2^64 |
//!
//! The checksum is computed modulo 2^64 from the seven words `w0` to `w6` before it. With `mix(x)` for two rounds of
//! "`x ^= x >> 32`, then `x *= 0xD6E8FEB86659FD93`" and a last `x ^= x >> 32`, and the constant `C` of the body:
//!
//! ```text
//! a = mix(mix(w0 ^ C) + w1) + w3
//! b = mix(mix(a) + w4) + w6
//! checksum = mix(mix(mix(b) + w5) ^ w2 * C)
//! ```
//!
//! So each address of a write has another checksum. Two sectors differ in their header and in each word of their
//! body, and a sector that consists of parts of two sectors, or whose bytes are shifted, contradicts its header.
//!
//! ```
//! use fiord_formats::integrity::sector::{
//!     RunId, SectorCheck, SectorExpected, SectorFlags, SectorSize, SectorWrite, TargetId,
//! };
//!
//! let (target, run) = (TargetId(7), RunId::new(1_700_000_000, 99));
//! let write = SectorWrite {
//!     size: SectorSize::MIN, flags: SectorFlags::NONE, target, run, job: 0, number: 5, start: 8192, length: 4096,
//! };
//! let mut data = vec![0; 4096];
//! write.fill(8192, 1, &mut data);
//!
//! let mut check = SectorCheck::new(SectorSize::MIN, target, run);
//! let expected = SectorExpected { generation: Some(1), writer: None };
//! assert_eq!(check.first_bad(8192, &expected, &data), None);
//! data[700] ^= 1;
//! assert_eq!(check.first_bad(8192, &expected, &data), Some(512));
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

/// The first four bytes of a sector.
pub const SECTOR_MAGIC: [u8; 4] = *b"FRDS";
/// The version of the format.
pub const SECTOR_VERSION: u8 = 1;
/// Length of the header in bytes.
pub const SECTOR_HEADER: usize = 64;

/// The bits of the header's words that all sectors of a write share: not the address and not the checksum.
const SHARED_WORDS: [u64; WORDS] = [!0, !0, 0, !0, !0, !0, !0, 0];
/// Words of 8 bytes in the header.
const WORDS: usize = SECTOR_HEADER / 8;
/// The difference of two consecutive words of a body: 2^64 divided by the golden ratio, an odd number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Identifies a target: derived from what does not change when the target gets another name, such as the serial
/// number of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TargetId(#[serde(with = "crate::hex")] pub u64);

/// Sixteen hexadecimal digits.
impl fmt::Display for TargetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Identifies a run: its start and a random number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(#[serde(with = "crate::hex")] pub u64);

impl RunId {
    /// The run that started at `seconds` since 1970.
    #[must_use]
    pub fn new(seconds: u32, random: u32) -> Self {
        RunId(u64::from(seconds) << 32 | u64::from(random))
    }

    /// When the run started, in seconds since 1970.
    #[must_use]
    pub fn started(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Size of a sector: a power of two from 512 to 65536 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorSize {
    log2: u8,
}

impl SectorSize {
    /// 512 bytes.
    pub const MIN: SectorSize = SectorSize { log2: 9 };
    /// 64 KiB.
    pub const MAX: SectorSize = SectorSize { log2: 16 };

    /// The size of this many bytes; `None` if sectors cannot have it.
    #[must_use]
    pub fn new(bytes: u64) -> Option<Self> {
        let log2 = bytes.trailing_zeros() as u8;
        let possible = (SectorSize::MIN.log2..=SectorSize::MAX.log2).contains(&log2);
        (bytes.is_power_of_two() && possible).then_some(SectorSize { log2 })
    }

    #[must_use]
    pub fn bytes(self) -> usize {
        1 << self.log2
    }
}

/// Properties of a write that its sectors state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectorFlags(pub u16);

impl SectorFlags {
    pub const NONE: SectorFlags = SectorFlags(0);
    /// The write is durable when the target acknowledges it (FUA or `O_DSYNC`).
    pub const DURABLE: SectorFlags = SectorFlags(1);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorHeader {
    /// The write that wrote the sector.
    pub write: SectorWrite,
    /// Offset of the sector in its target, in bytes.
    pub address: u64,
    /// Generation of the block.
    pub generation: u16,
}

/// What all sectors of a write state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectorWrite {
    pub size: SectorSize,
    /// Properties of the write.
    pub flags: SectorFlags,
    /// Where the write belongs.
    pub target: TargetId,
    /// The run that wrote it.
    pub run: RunId,
    /// Number of the job in the run.
    pub job: u16,
    /// Number of the write in its job, from 0.
    pub number: u64,
    /// Offset of the write in its target, in bytes.
    pub start: u64,
    /// Length of the write in bytes.
    pub length: u32,
}

impl SectorWrite {
    /// Fills `data`, which begins at `address` of the target, with sectors of this write. All have the same
    /// generation. Bytes after the last whole sector become zeros.
    ///
    /// Inlined, so that a caller can have it compiled for wider vectors than those of every CPU.
    #[inline(always)]
    pub fn fill(&self, address: u64, generation: u16, data: &mut [u8]) {
        let mut words = self.words(generation);
        let identity = Identity::of(&words);
        let size = self.size.bytes();
        let mut sectors = data.chunks_exact_mut(size);
        let mut at = address;
        // No adapters of iterators: their closures would not be inlined.
        for sector in sectors.by_ref() {
            let seed = identity.seed(at);
            words[2] = at;
            words[7] = seed;
            at = at.wrapping_add(size as u64);
            let (chunks, _) = sector.as_chunks_mut::<SECTOR_HEADER>();
            let Some((header, body)) = chunks.split_first_mut() else { continue };
            put_words(header, &words);
            let mut expected = body_start(seed);
            for chunk in body {
                put_words(chunk, &expected);
                advance(&mut expected);
            }
        }
        sectors.into_remainder().fill(0);
    }

    /// The words of a header. The address and the checksum are 0.
    fn words(&self, generation: u16) -> [u64; WORDS] {
        let [a, b, c, d] = SECTOR_MAGIC;
        let [low, high] = self.flags.0.to_le_bytes();
        let first = [a, b, c, d, SECTOR_VERSION, self.size.log2, low, high];
        let job = u64::from(self.job) << 32 | u64::from(generation) << 48;
        [
            u64::from_le_bytes(first),
            self.target.0,
            0,
            self.run.0,
            self.number,
            u64::from(self.length) | job,
            self.start,
            0,
        ]
    }
}

impl SectorHeader {
    /// Reads the header at the start of `bytes`. `None`: there is no header, or it contradicts its checksum.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let words = header_words(bytes)?;
        let header = Self::parse(&words)?;
        (words[7] == header.seed()).then_some(header)
    }

    /// Reads the fields without the checksum. `None`: the magic, the version or the size is wrong.
    pub(super) fn parse(words: &[u64; WORDS]) -> Option<Self> {
        let [a, b, c, d, version, log2, low, high] = words[0].to_le_bytes();
        if [a, b, c, d] != SECTOR_MAGIC || version != SECTOR_VERSION || log2 > SectorSize::MAX.log2
        {
            return None;
        }
        let write = SectorWrite {
            size: SectorSize::new(1 << log2)?,
            flags: SectorFlags(u16::from_le_bytes([low, high])),
            target: TargetId(words[1]),
            run: RunId(words[3]),
            job: (words[5] >> 32) as u16,
            number: words[4],
            start: words[6],
            length: words[5] as u32,
        };
        Some(SectorHeader { write, address: words[2], generation: (words[5] >> 48) as u16 })
    }

    /// The checksum of the header, which is also the seed of the body.
    #[must_use]
    pub fn seed(&self) -> u64 {
        Identity::of(&self.write.words(self.generation)).seed(self.address)
    }

    /// Computes the sector.
    pub fn fill(&self, sector: &mut [u8]) {
        self.write.fill(self.address, self.generation, sector);
    }
}

/// The words of the header at the start of `bytes`; `None` if there are fewer bytes.
pub(super) fn header_words(bytes: &[u8]) -> Option<[u64; WORDS]> {
    let header: &[u8; SECTOR_HEADER] = bytes.first_chunk()?;
    let words = header.as_chunks::<8>().0;
    Some(std::array::from_fn(|i| u64::from_le_bytes(words[i])))
}

/// A mixture of the words of a header that are equal in all sectors of a write that have one generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity(u64);

impl Identity {
    #[inline]
    fn of(words: &[u64; WORDS]) -> Self {
        let fixed = mix(mix(words[0] ^ STEP).wrapping_add(words[1])).wrapping_add(words[3]);
        let number = mix(mix(fixed).wrapping_add(words[4])).wrapping_add(words[6]);
        Identity(mix(mix(number).wrapping_add(words[5])))
    }

    /// The checksum of the sector at `address`. Sectors at two addresses never have the same.
    #[inline(always)]
    fn seed(self, address: u64) -> u64 {
        mix(self.0 ^ address.wrapping_mul(STEP))
    }
}

/// A bijection in which every bit of the result depends on every bit of `x`.
#[inline(always)]
fn mix(mut x: u64) -> u64 {
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 32
}

/// Writes words at the start of `chunk`. An index instead of adapters of iterators: their closures would not be inlined.
#[inline(always)]
fn put_words(chunk: &mut [u8; SECTOR_HEADER], words: &[u64; WORDS]) {
    let chunk = chunk.as_chunks_mut::<8>().0;
    for i in 0..WORDS {
        chunk[i] = words[i].to_le_bytes();
    }
}

/// The first words of a body.
#[inline(always)]
fn body_start(seed: u64) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (i, word) in words.iter_mut().enumerate() {
        *word = body_word(seed, WORDS + i);
    }
    words
}

/// Advances the words of a body to those that follow them.
#[inline(always)]
fn advance(words: &mut [u64; WORDS]) {
    for word in words {
        *word = word.wrapping_add(STEP.wrapping_mul(WORDS as u64));
    }
}

/// Word `i` of a sector, counted from its start.
#[inline(always)]
pub(super) fn body_word(seed: u64, i: usize) -> u64 {
    seed.wrapping_add(STEP.wrapping_mul(i as u64))
}

/// Which write a reader expects in a sector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SectorExpected {
    /// Generation of the block; `None` if any is right.
    pub generation: Option<u16>,
    /// The write; `None` if the reader does not know it.
    pub writer: Option<SectorWriter>,
}

/// A write of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SectorWriter {
    /// Number of the job in the run.
    pub job: u16,
    /// Number of the write in its job.
    pub number: u64,
}

impl SectorExpected {
    /// Whether a header with the right target, run and address is as expected.
    #[must_use]
    pub fn accepts(&self, header: &SectorHeader) -> bool {
        let writer = SectorWriter { job: header.write.job, number: header.write.number };
        self.generation.is_none_or(|generation| generation == header.generation)
            && self.writer.is_none_or(|expected| expected == writer)
    }
}

/// Checks sectors of one run on one target.
#[derive(Debug, Clone)]
pub struct SectorCheck {
    size: SectorSize,
    target: TargetId,
    run: RunId,
    /// The words of the header that was seen last, without address and checksum.
    words: [u64; WORDS],
    identity: Identity,
}

impl SectorCheck {
    /// Checks sectors of `run` on `target`.
    #[must_use]
    pub fn new(size: SectorSize, target: TargetId, run: RunId) -> Self {
        SectorCheck { size, target, run, words: [0; WORDS], identity: Identity(0) }
    }

    /// Checks `data`, which begins at `address` of the target. All sectors must be as `expected`. Bytes after the
    /// last whole sector must be zeros. Returns the position in `data` of the first sector that is wrong.
    ///
    /// Inlined, so that a caller can have it compiled for wider vectors than those of every CPU.
    #[inline(always)]
    #[must_use]
    pub fn first_bad(
        &mut self,
        address: u64,
        expected: &SectorExpected,
        data: &[u8],
    ) -> Option<usize> {
        let size = self.size.bytes();
        let whole = data.len() - data.len() % size;
        let mut position = 0;
        while position < whole {
            let words = header_words(&data[position..])?;
            if !self.adopt(&words, expected) {
                return Some(position);
            }
            // All sectors up to the end of the data, or up to the first that this write did not write.
            let at = address.wrapping_add(position as u64);
            let rest = &data[position..whole];
            let good = match self.size {
                SectorSize::MIN => self.intact_sectors::<512>(at, rest),
                _ => self.intact_sectors_of(at, rest, size),
            };
            if good == 0 {
                return Some(position);
            }
            position += good;
        }
        data[whole..].iter().any(|byte| *byte != 0).then_some(whole)
    }

    /// Bytes of the sectors at the start of `data` that the last write wrote and that are intact. The size is
    /// constant, so that the compiler unrolls the loop over a sector.
    #[inline(always)]
    fn intact_sectors<const SIZE: usize>(&self, address: u64, data: &[u8]) -> usize {
        // No adapters of iterators: their closures would not be inlined.
        let mut good = 0;
        for sector in data.as_chunks::<SIZE>().0 {
            if !self.is_intact(address.wrapping_add(good as u64), sector) {
                break;
            }
            good += SIZE;
        }
        good
    }

    /// [`SectorCheck::intact_sectors`] for sectors of any size.
    #[inline(always)]
    fn intact_sectors_of(&self, address: u64, data: &[u8], size: usize) -> usize {
        let mut good = 0;
        for sector in data.chunks_exact(size) {
            if !self.is_intact(address.wrapping_add(good as u64), sector) {
                break;
            }
            good += size;
        }
        good
    }

    /// Whether the words that all sectors of a write share are those of the last header.
    fn is_same_write(&self, words: &[u64; WORDS]) -> bool {
        let differences = [0, 1, 3, 4, 5, 6].map(|i| words[i] ^ self.words[i]);
        differences.iter().fold(0, |all, word| all | word) == 0
    }

    /// Takes over the identity of another write if it is as expected.
    fn adopt(&mut self, words: &[u64; WORDS], expected: &SectorExpected) -> bool {
        let wanted = |header: &SectorHeader| {
            header.write.size == self.size
                && header.write.target == self.target
                && header.write.run == self.run
                && expected.accepts(header)
        };
        if !SectorHeader::parse(words).as_ref().is_some_and(wanted) {
            return false;
        }
        if !self.is_same_write(words) {
            self.words = *words;
            self.identity = Identity::of(words);
        }
        true
    }

    /// Whether a sector is one of the last write, and header and body are right.
    #[inline(always)]
    fn is_intact(&self, address: u64, sector: &[u8]) -> bool {
        let seed = self.identity.seed(address);
        let Some((header, body)) = sector.as_chunks::<SECTOR_HEADER>().0.split_first() else {
            return false;
        };
        let header = header.as_chunks::<8>().0;
        let word = |i: usize| u64::from_le_bytes(header[i]);
        let own = (word(2) ^ address) | (word(7) ^ seed);
        let mut lanes = [0; WORDS];
        for i in 0..WORDS {
            lanes[i] = (u64::from_le_bytes(header[i]) ^ self.words[i]) & SHARED_WORDS[i];
        }
        let mut expected = body_start(seed);
        for chunk in body {
            let words = chunk.as_chunks::<8>().0;
            for i in 0..WORDS {
                lanes[i] |= u64::from_le_bytes(words[i]) ^ expected[i];
            }
            advance(&mut expected);
        }
        lanes.iter().fold(own, |all, lane| all | lane) == 0
    }
}

#[cfg(test)]
#[path = "sector_tests.rs"]
mod tests;
