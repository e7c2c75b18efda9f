//! The header at the start of each interval, in fio's layouts. Integers are in little-endian order.
//!
//! | bytes, current | bytes, before fio 3.41 | field |
//! |---|---|---|
//! | 0 to 1 | 0 to 1 | magic `0xACCA` |
//! | 2 | – | version `0x81` |
//! | 3 | 2 to 3 | number of the [`Method`] |
//! | 4 to 7 | 4 to 7 | length of the interval |
//! | 8 to 15 | 8 to 15 | seed of the body of the whole write |
//! | 16 to 23 | 16 to 23 | offset of the interval in its file |
//! | 24 to 31 | 24 to 31 | seconds and fraction of a second of the start of the write |
//! | 32 to 39 | 34 to 35 | number of the write |
//! | 40 to 41 | 32 to 33 | number of the thread |
//! | 42 to 43 | – | bytes of the body, which the checksum includes |
//! | 44 to 47 | 36 to 39 | checksum of all bytes before it ([`crc32c`]) |

use super::body::Difference;
use super::method::{Digest, Method, crc32c};

/// The first two bytes of a header.
pub const MAGIC: u16 = 0xacca;
/// The version of [`HeaderLayout::Current`].
pub const VERSION: u8 = 0x81;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderLayout {
    /// fio 3.41 and later: 48 bytes.
    Current,
    /// Versions before 3.41: 40 bytes.
    Before341,
}

impl HeaderLayout {
    /// Length of the header in bytes.
    #[must_use]
    pub fn header_length(self) -> usize {
        match self {
            HeaderLayout::Current => 48,
            HeaderLayout::Before341 => 40,
        }
    }
}

/// The fields of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyHeader {
    /// Where the fields are.
    pub layout: HeaderLayout,
    /// Method of the digest.
    pub method: Method,
    /// Length of the interval in bytes.
    pub length: u32,
    /// Seed of the body of the whole write, the same in all its intervals. Without meaning under a pattern.
    pub seed: u64,
    /// Offset of the interval in its file, in bytes.
    pub offset: u64,
    /// Start of the write on the monotonic clock of its writer: whole seconds.
    pub seconds: u32,
    /// Nanoseconds after `seconds`; some versions before 3.41 wrote microseconds.
    pub fraction: u32,
    /// Number of writes that the job had issued before. The old layout keeps the low 16 bits.
    pub number: u64,
    /// Number of the thread of the job, from 1: its low 16 bits.
    pub thread: u16,
}

/// The header that a reader expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected {
    /// Length of the interval in bytes.
    pub length: u32,
    /// Offset of the interval in its file, in bytes.
    pub offset: u64,
    /// Seed of the body; `None` if `verify_header_seed` is off.
    pub seed: Option<u64>,
    /// Number of the write; `None` if `verify_write_sequence` is off.
    pub number: Option<u64>,
}

/// How the contents of an interval differ from what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Corruption {
    /// The interval ends within its header or digest.
    #[error("the interval has {found} bytes; its header and digest take {expected}")]
    Truncated {
        /// Bytes that the header and the digest take.
        expected: usize,
        /// Bytes of the interval.
        found: usize,
    },
    /// The block starts with other data.
    #[error("bad magic {found:#06x}, expected {expected:#06x}")]
    Magic {
        /// [`MAGIC`].
        expected: u16,
        /// The first two bytes.
        found: u16,
    },
    /// The header has neither layout.
    #[error("bad version {found:#04x} of the header, expected {expected:#04x}")]
    Version {
        /// [`VERSION`].
        expected: u8,
        /// The byte after the magic.
        found: u8,
    },
    /// The interval of the header has another length.
    #[error("bad length {found} in the header, expected {expected}")]
    Length {
        /// Bytes that the reader expects.
        expected: u32,
        /// Bytes according to the header.
        found: u32,
    },
    /// The body was computed from another seed: another write.
    #[error("bad seed {found:#018x} in the header, expected {expected:#018x}")]
    Seed {
        /// Seed that the reader expects.
        expected: u64,
        /// Seed in the header.
        found: u64,
    },
    /// The interval belongs at another offset.
    #[error("bad offset {found} in the header, expected {expected}")]
    Offset {
        /// Offset that was read, in bytes.
        expected: u64,
        /// Offset in the header, in bytes.
        found: u64,
    },
    /// The block was written by an earlier or later write of the job.
    #[error("bad write number {found} in the header, expected {expected}")]
    Number {
        /// Number of the write that the reader expects.
        expected: u64,
        /// Number in the header.
        found: u64,
    },
    /// The header contradicts its own checksum.
    #[error("bad checksum {found:#010x} of the header, computed {expected:#010x}")]
    HeaderChecksum {
        /// Checksum of the header's bytes.
        expected: u32,
        /// Checksum in the header.
        found: u32,
    },
    /// The header is intact and names a method that does not exist.
    #[error("the header has the unknown method {found}")]
    Method {
        /// Number of the method.
        found: u8,
    },
    /// The data after the header contradicts its digest.
    #[error("bad digest {}, computed {}", .0.found, .0.expected)]
    Digest(Box<DigestMismatch>),
    /// The data is not that of the job's pattern.
    #[error(
        "bad pattern: byte {:#04x} at position {} of the write, expected {:#04x}",
        .0.found, .0.position, .0.expected
    )]
    Pattern(Difference),
}

/// A digest that does not fit the data after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestMismatch {
    /// Digest of the data.
    pub expected: Digest,
    /// Digest after the header.
    pub found: Digest,
}

impl VerifyHeader {
    /// Reads a header of either layout, and checks its checksum.
    ///
    /// # Errors
    /// The bytes are not an intact header.
    pub fn read(bytes: &[u8]) -> Result<Self, Corruption> {
        let fields = Fields::read(bytes)?;
        fields.check_sum()?;
        fields.header()
    }

    /// Reads a header of either layout and checks it in fio's order: magic, version, length, seed, offset,
    /// number, checksum. fio ignores the method of the header and computes the digest of its option.
    ///
    /// # Errors
    /// The first field that differs.
    pub fn check(bytes: &[u8], expected: &Expected) -> Result<Self, Corruption> {
        let fields = Fields::read(bytes)?;
        let Expected { length, offset, seed, number } = *expected;
        if fields.length() != length {
            return Err(Corruption::Length { expected: length, found: fields.length() });
        }
        if let Some(expected) = seed.filter(|seed| *seed != fields.seed()) {
            return Err(Corruption::Seed { expected, found: fields.seed() });
        }
        if fields.offset() != offset {
            return Err(Corruption::Offset { expected: offset, found: fields.offset() });
        }
        if let Some(expected) = number.map(|number| fields.layout.stored_number(number))
            && expected != fields.number()
        {
            return Err(Corruption::Number { expected, found: fields.number() });
        }
        fields.check_sum()?;
        fields.header()
    }

    /// Writes the header to the start of `bytes`, and leaves bytes 42 and 43 of the current layout as they are.
    ///
    /// # Errors
    /// `bytes` is shorter than the header.
    pub fn write(&self, bytes: &mut [u8]) -> Result<(), Corruption> {
        let expected = self.layout.header_length();
        let found = bytes.len();
        let truncated = Corruption::Truncated { expected, found };
        match self.layout {
            HeaderLayout::Current => {
                self.write_current(bytes.first_chunk_mut().ok_or(truncated)?);
            }
            HeaderLayout::Before341 => {
                self.write_before_341(bytes.first_chunk_mut().ok_or(truncated)?);
            }
        }
        Ok(())
    }

    /// The first 32 bytes as words; `kind`: bytes 2 and 3.
    fn first_words(&self, kind: [u8; 2]) -> [u64; 4] {
        let [third, fourth] = kind;
        let [first, second] = MAGIC.to_le_bytes();
        let start = u32::from_le_bytes([first, second, third, fourth]);
        let two = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [two(start, self.length), self.seed, self.offset, two(self.seconds, self.fraction)]
    }

    /// Whole words, because the checksum reads words: a load of several smaller stores is slow.
    pub(super) fn write_current(&self, bytes: &mut [u8; 48]) {
        let [a, b, c, d] = self.first_words([VERSION, self.method as u8]);
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip([a, b, c, d, self.number]) {
            *to = word.to_le_bytes();
        }
        let [low, high] = self.thread.to_le_bytes();
        let word = [low, high, bytes[42], bytes[43]];
        bytes[40..44].copy_from_slice(&word);
        let sum = crc32c(&bytes[..44]);
        bytes[44..].copy_from_slice(&sum.to_le_bytes());
    }

    fn write_before_341(&self, bytes: &mut [u8; 40]) {
        let words = self.first_words([self.method as u8, 0]);
        for (to, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
            *to = word.to_le_bytes();
        }
        bytes[32..34].copy_from_slice(&self.thread.to_le_bytes());
        bytes[34..36].copy_from_slice(&(self.number as u16).to_le_bytes());
        let sum = crc32c(&bytes[..36]);
        bytes[36..].copy_from_slice(&sum.to_le_bytes());
    }
}

impl HeaderLayout {
    /// What the layout stores of the number of a write.
    fn stored_number(self, number: u64) -> u64 {
        match self {
            HeaderLayout::Current => number,
            HeaderLayout::Before341 => u64::from(number as u16),
        }
    }
}

/// The bytes of a header whose magic and version are right. It has the length of its layout.
struct Fields<'a> {
    layout: HeaderLayout,
    bytes: &'a [u8],
}

impl<'a> Fields<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Corruption> {
        let found = bytes.len();
        let truncated = |layout: HeaderLayout| Corruption::Truncated {
            expected: layout.header_length(),
            found,
        };
        let Some(&[low, high, version, method]) = bytes.first_chunk() else {
            return Err(truncated(HeaderLayout::Current));
        };
        let magic = u16::from_le_bytes([low, high]);
        if magic != MAGIC {
            return Err(Corruption::Magic { expected: MAGIC, found: magic });
        }
        // The old layout has the method in two bytes here, the upper of which is zero.
        let layout = match version {
            VERSION => HeaderLayout::Current,
            old if method == 0 && Method::from_number(old).is_some() => HeaderLayout::Before341,
            found => return Err(Corruption::Version { expected: VERSION, found }),
        };
        let bytes = bytes.get(..layout.header_length()).ok_or_else(|| truncated(layout))?;
        Ok(Fields { layout, bytes })
    }

    /// Bytes of a field. Each field lies within the length of its layout.
    fn array<const N: usize>(&self, at: usize) -> [u8; N] {
        self.bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; N])
    }

    fn method(&self) -> u8 {
        match self.layout {
            HeaderLayout::Current => self.bytes[3],
            HeaderLayout::Before341 => self.bytes[2],
        }
    }

    fn length(&self) -> u32 {
        u32::from_le_bytes(self.array(4))
    }

    fn seed(&self) -> u64 {
        u64::from_le_bytes(self.array(8))
    }

    fn offset(&self) -> u64 {
        u64::from_le_bytes(self.array(16))
    }

    fn number(&self) -> u64 {
        match self.layout {
            HeaderLayout::Current => u64::from_le_bytes(self.array(32)),
            HeaderLayout::Before341 => u64::from(u16::from_le_bytes(self.array(34))),
        }
    }

    fn thread(&self) -> u16 {
        match self.layout {
            HeaderLayout::Current => u16::from_le_bytes(self.array(40)),
            HeaderLayout::Before341 => u16::from_le_bytes(self.array(32)),
        }
    }

    fn check_sum(&self) -> Result<(), Corruption> {
        let end = self.bytes.len() - 4;
        let found = u32::from_le_bytes(self.array(end));
        let expected = crc32c(&self.bytes[..end]);
        if found == expected { Ok(()) } else { Err(Corruption::HeaderChecksum { expected, found }) }
    }

    fn header(&self) -> Result<VerifyHeader, Corruption> {
        let found = self.method();
        Ok(VerifyHeader {
            layout: self.layout,
            method: Method::from_number(found).ok_or(Corruption::Method { found })?,
            length: self.length(),
            seed: self.seed(),
            offset: self.offset(),
            seconds: u32::from_le_bytes(self.array(24)),
            fraction: u32::from_le_bytes(self.array(28)),
            number: self.number(),
            thread: self.thread(),
        })
    }
}
