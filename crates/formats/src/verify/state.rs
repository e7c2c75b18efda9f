//! State files (`verify_state_save`, `verify_state_load`): which writes of a job are expected on the target.
//!
//! All integers are in little-endian order. Version 7 is written; versions 5 to 7 are read.
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 7 | version |
//! | 8 to 15 | length of the payload |
//! | 16 to 23 | checksum of the payload ([`crc32c`]) |
//! | 24 to 27 | number of entries |
//! | 32 to 39 | number of writes |
//! | 40 to 47 | index of the job |
//! | 48 to 55 | flag |
//! | 56 to 103 | state of the random generators, which fio does not read. fiord stores a [mark](FiordMark) there |
//! | 104 to 167 | name of the job, padded with zeros |
//! | from 168 | 8 bytes for each entry: the number of a write that is not complete; all ones in a free entry |

use super::method::crc32c;

/// The version that [`VerifyState::write`] writes.
pub const VERSION: u64 = 7;

const HEADER: usize = 24;
/// Length of the payload before its entries.
const FIXED: usize = 144;
const NAME: usize = 64;
const FREE: u64 = u64::MAX;

/// The contents of a state file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifyState {
    /// Writes issued; with `verify_policy=fsynced`, those issued before the last flush that succeeded.
    pub number: u64,
    /// Index of the job, from 0.
    pub index: u64,
    /// Stored as it was read; fio writes 0.
    pub flag: u64,
    /// State of the random generators, stored as it was read. No reader uses it.
    pub generators: [u8; 48],
    /// Name of the job: at most 63 bytes.
    pub name: Vec<u8>,
    /// Numbers of writes: as many entries as the queue depth for those in flight, then one for each failed
    /// write. `None`: the entry is free.
    pub incomplete: Vec<Option<u64>>,
}

/// Why a state file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum VerifyStateError {
    /// The file ends too early.
    #[error("the verify state has {found} bytes, expected {expected}: the file is truncated")]
    Truncated {
        /// Bytes that the file must have at least.
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// Bytes follow the payload.
    #[error("the verify state has {found} bytes, expected {expected}: bytes follow its end")]
    Trailing {
        /// Bytes that the file has according to its header.
        expected: u64,
        /// Bytes of the file.
        found: u64,
    },
    /// A version that this program cannot read, or another kind of file.
    #[error("the verify state has version {found}, expected 5 to 7")]
    Version {
        /// Version of the file.
        found: u64,
    },
    /// The payload is damaged.
    #[error("bad checksum {found:#010x} of the verify state, computed {expected:#010x}")]
    Checksum {
        /// Checksum of the payload.
        expected: u64,
        /// Checksum in the header.
        found: u64,
    },
    /// The number of entries contradicts the length of the payload.
    #[error("the verify state has {found} entries, but its length is that of {expected}")]
    Depth {
        /// Entries that fit in the payload.
        expected: u64,
        /// Entries according to the payload.
        found: u64,
    },
    /// The name cannot be stored.
    #[error("the job name has {found} bytes; a verify state holds at most {most}")]
    Name {
        /// Length in bytes that can be stored.
        most: usize,
        /// Length of the name in bytes.
        found: usize,
    },
}

/// What fiord stores instead of the state of the random generators.
///
/// | bytes of the field | |
/// |---|---|
/// | 0 to 7 | `fiord` and the version 1 |
/// | 8 to 15 | checksum of the order of the first writes |
/// | 16 to 23 | writes issued, with any `verify_policy` |
/// | from 24 | 0 |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FiordMark {
    order: u64,
    issued: u64,
}

impl FiordMark {
    const START: [u8; 8] = *b"fiord\0\0\x01";

    /// See [`order`](Self::order) and [`issued`](Self::issued).
    #[must_use]
    pub fn new(order: u64, issued: u64) -> Self {
        FiordMark { order, issued }
    }

    /// Checksum of the places and lengths of the first writes. A job that writes other blocks, or in another order, has
    /// another one.
    #[must_use]
    pub fn order(self) -> u64 {
        self.order
    }

    /// Number of writes that were issued.
    #[must_use]
    pub fn issued(self) -> u64 {
        self.issued
    }

    /// The bytes of the field.
    #[must_use]
    pub fn bytes(self) -> [u8; 48] {
        let mut field = [0; 48];
        for (at, bytes) in
            [(0, Self::START), (8, self.order.to_le_bytes()), (16, self.issued.to_le_bytes())]
        {
            field[at..at + 8].copy_from_slice(&bytes);
        }
        field
    }
}

/// The name of the state file of a job of this machine. It lies in the directory `--aux-path`.
#[must_use]
pub fn file_name(job: &str, index: u64) -> String {
    format!("local-{}-{index}-verify.state", job.replace('/', "."))
}

impl VerifyState {
    /// What fiord stored in the state. `None`: another program wrote it.
    #[must_use]
    pub fn mark(&self) -> Option<FiordMark> {
        let (order, issued) = (u64_at(&self.generators, 8), u64_at(&self.generators, 16));
        self.generators.starts_with(&FiordMark::START).then_some(FiordMark { order, issued })
    }

    /// Whether the state leaves open if some writes are complete: those in flight, those that failed, and with
    /// `verify_policy=fsynced` those after the last flush. What a state of fio says about the latter is not known.
    #[must_use]
    pub fn has_open_ends(&self) -> bool {
        let later = self.mark().is_some_and(|mark| mark.issued() > self.number);
        later || self.incomplete.iter().any(Option::is_some)
    }

    /// The name under which a state is stored for a job: at most 63 bytes.
    #[must_use]
    pub fn stored_name(job: &str) -> Vec<u8> {
        let mut name = job.as_bytes().to_vec();
        name.truncate(NAME - 1);
        name
    }

    /// Reads a state file.
    ///
    /// # Errors
    /// The file is damaged, of another kind, or of an unknown version.
    pub fn read(file: &[u8]) -> Result<Self, VerifyStateError> {
        let found = file.len() as u64;
        if file.len() < HEADER {
            return Err(VerifyStateError::Truncated { expected: HEADER as u64, found });
        }
        let (header, payload) = file.split_at(HEADER);
        let version = u64_at(header, 0);
        if !(5..=VERSION).contains(&version) {
            return Err(VerifyStateError::Version { found: version });
        }
        let stated = u64_at(header, 8).saturating_add(HEADER as u64);
        let expected = stated.max((HEADER + FIXED) as u64);
        if found < expected {
            return Err(VerifyStateError::Truncated { expected, found });
        }
        if found > stated {
            return Err(VerifyStateError::Trailing { expected: stated, found });
        }
        let (expected, found) = (u64::from(crc32c(payload)), u64_at(header, 16));
        if expected != found {
            return Err(VerifyStateError::Checksum { expected, found });
        }
        let (fixed, entries) = payload.split_at(FIXED);
        let depth = u64::from(u64_at(fixed, 0) as u32);
        let (entries, rest) = entries.as_chunks::<8>();
        if entries.len() as u64 != depth || !rest.is_empty() {
            return Err(VerifyStateError::Depth { expected: entries.len() as u64, found: depth });
        }
        let name = &fixed[FIXED - NAME..];
        let end = name.iter().position(|byte| *byte == 0).unwrap_or(NAME - 1).min(NAME - 1);
        let entry = |bytes: &[u8; 8]| Some(u64::from_le_bytes(*bytes)).filter(|n| *n != FREE);
        Ok(VerifyState {
            number: u64_at(fixed, 8),
            index: u64_at(fixed, 16),
            flag: u64_at(fixed, 24),
            generators: std::array::from_fn(|i| fixed[32 + i]),
            name: name[..end].to_vec(),
            incomplete: entries.iter().map(entry).collect(),
        })
    }

    /// Writes a state file of version 7.
    ///
    /// # Errors
    /// The name is too long.
    pub fn write(&self) -> Result<Vec<u8>, VerifyStateError> {
        let (most, found) = (NAME - 1, self.name.len());
        if found > most {
            return Err(VerifyStateError::Name { most, found });
        }
        let mut payload = Vec::with_capacity(FIXED + self.incomplete.len() * 8);
        payload.extend((self.incomplete.len() as u64).to_le_bytes());
        for value in [self.number, self.index, self.flag] {
            payload.extend(value.to_le_bytes());
        }
        payload.extend(self.generators);
        payload.extend(&self.name);
        payload.resize(FIXED, 0);
        for entry in &self.incomplete {
            payload.extend(entry.unwrap_or(FREE).to_le_bytes());
        }
        let mut file = Vec::with_capacity(HEADER + payload.len());
        for value in [VERSION, payload.len() as u64, u64::from(crc32c(&payload))] {
            file.extend(value.to_le_bytes());
        }
        file.append(&mut payload);
        Ok(file)
    }
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}
