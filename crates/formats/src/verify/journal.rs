//! The journal of a run with `verify=fiord` (`verify_journal`): which writes a target had received, acknowledged and
//! flushed before a crash.
//!
//! The journal lies on another disk than the target. A write is recorded before it is issued (an intent), its
//! completion and flushes after them. Records are collected into blocks, and a block is durable before any write
//! is issued that it announces. So after a crash:
//!
//! - every write that can be on the target is in the journal;
//! - a completion or flush that is missing only makes the check more lenient.
//!
//! | bytes of the file | field |
//! |---|---|
//! | 0 to 7 | magic `FRDJRNL1` |
//! | 8 to 15 | [`TargetId`] |
//! | 16 to 23 | [`RunId`] |
//! | 24 to 31 | bytes of a block of the target, at least 512: a divisor of all offsets and lengths |
//! | 32 to 39 | checksum of bytes 0 to 31 |
//! | from 40 | journal blocks |
//!
//! | bytes of a journal block | field |
//! |---|---|
//! | 0 to 3 | magic `FJBL` |
//! | 4 to 7 | length of the records in bytes |
//! | 8 to 15 | number of the block, from 0 |
//! | 16 to 23 | checksum of bytes 0 to 15 and of the records |
//! | from 24 | records |
//!
//! A record begins with its kind in one byte: 1 intent (job u16, number u64, offset u64, length u32), 2 write completed
//! and 3 write failed (job u16, number u64), 4 flush issued and 5 flush completed (its number u64). Integers are little
//! endian.

use super::sector::{RunId, SectorWriter, TargetId};

/// The first bytes of a journal.
pub const JOURNAL_MAGIC: [u8; 8] = *b"FRDJRNL1";
/// Length of the header of the file.
pub const JOURNAL_HEADER: usize = 40;

const BLOCK_MAGIC: [u8; 4] = *b"FJBL";
const BLOCK_HEADER: usize = 24;
/// Smallest block of a target in bytes. It bounds how many blocks an intent can name.
const SMALLEST_BLOCK: u64 = 512;
/// Most bytes of records in a block. A reader needs no more memory than this for a block.
const MOST_RECORDS: usize = 1 << 20;

/// The start of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalHeader {
    /// The target of the run.
    pub target: TargetId,
    /// The run.
    pub run: RunId,
    /// Bytes of a block of the target: a divisor of all offsets and lengths.
    pub block: u64,
}

/// An event of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalRecord {
    /// A write is about to be issued.
    Intent {
        /// The write.
        writer: SectorWriter,
        /// Its offset in the target, in bytes.
        offset: u64,
        /// Its length in bytes.
        length: u32,
    },
    /// The target acknowledged a write.
    Completed(SectorWriter),
    /// A write failed, so it may be on the target or not.
    Failed(SectorWriter),
    /// A flush is about to be issued. It covers the writes that were completed before.
    FlushIssued(u64),
    /// The target acknowledged the flush with this number.
    FlushCompleted(u64),
}

/// Why a journal cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The file does not begin like a journal.
    #[error("the file is not a journal of fiord: its header is missing or damaged")]
    NotAJournal,
    /// The journal is of another target.
    #[error(
        "the journal is of target {found}, and the target that was opened is {expected}. \
         To fix: name the target of the run"
    )]
    OtherTarget {
        /// The target that was opened.
        expected: TargetId,
        /// The target of the journal.
        found: TargetId,
    },
    /// A block of the journal is damaged, and others follow it.
    #[error(
        "the journal is damaged at byte {at}, before its end: its own disk has lost data, so it does not say what \
         the target must contain"
    )]
    Damaged {
        /// Where the block begins, in bytes of the file.
        at: u64,
    },
}

impl JournalHeader {
    /// The bytes at the start of the file.
    #[must_use]
    pub fn write(&self) -> [u8; JOURNAL_HEADER] {
        let mut bytes = [0; JOURNAL_HEADER];
        let fields = [u64::from_le_bytes(JOURNAL_MAGIC), self.target.0, self.run.0, self.block];
        for (to, field) in bytes.as_chunks_mut::<8>().0.iter_mut().zip(fields) {
            *to = field.to_le_bytes();
        }
        let sum = sum_of(&[&bytes[..32]]);
        bytes[32..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the start of a file.
    ///
    /// # Errors
    /// It is not the start of a journal.
    pub fn read(bytes: &[u8]) -> Result<Self, JournalError> {
        let bytes: &[u8; JOURNAL_HEADER] = bytes.first_chunk().ok_or(JournalError::NotAJournal)?;
        let field = |at: usize| number(&bytes[at..]);
        let header =
            JournalHeader { target: TargetId(field(8)), run: RunId(field(16)), block: field(24) };
        let intact = bytes[..8] == JOURNAL_MAGIC && field(32) == sum_of(&[&bytes[..32]]);
        if intact && header.block >= SMALLEST_BLOCK {
            Ok(header)
        } else {
            Err(JournalError::NotAJournal)
        }
    }

    /// Checks that the journal is of `target`.
    ///
    /// # Errors
    /// It is of another one.
    pub fn check_target(&self, target: TargetId) -> Result<(), JournalError> {
        match self.target == target {
            true => Ok(()),
            false => Err(JournalError::OtherTarget { expected: target, found: self.target }),
        }
    }
}

/// Collects records into blocks.
///
/// ```
/// use fiord_formats::verify::journal::{JournalEnd, JournalReader, JournalRecord, JournalWriter};
///
/// let mut writer = JournalWriter::default();
/// writer.add(JournalRecord::FlushIssued(0));
/// writer.add(JournalRecord::FlushCompleted(0));
/// let block = writer.take_block().expect("there are records");
/// assert_eq!(writer.take_block(), None);
///
/// let mut reader = JournalReader::default();
/// reader.push(&block);
/// let records = reader.next_block()?.expect("the block is complete");
/// assert_eq!(records, [JournalRecord::FlushIssued(0), JournalRecord::FlushCompleted(0)]);
/// assert_eq!(reader.end()?, JournalEnd::Complete);
/// # Ok::<(), fiord_formats::verify::journal::JournalError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct JournalWriter {
    records: Vec<u8>,
    blocks: u64,
}

impl JournalWriter {
    /// Adds a record. An intent must be in a block that is durable before its write is issued.
    pub fn add(&mut self, record: JournalRecord) {
        let (kind, writer) = match record {
            JournalRecord::Intent { writer, .. } => (1, Some(writer)),
            JournalRecord::Completed(writer) => (2, Some(writer)),
            JournalRecord::Failed(writer) => (3, Some(writer)),
            JournalRecord::FlushIssued(_) => (4, None),
            JournalRecord::FlushCompleted(_) => (5, None),
        };
        self.records.push(kind);
        if let Some(writer) = writer {
            self.records.extend(writer.job.to_le_bytes());
            self.records.extend(writer.number.to_le_bytes());
        }
        match record {
            JournalRecord::Intent { offset, length, .. } => {
                self.records.extend(offset.to_le_bytes());
                self.records.extend(length.to_le_bytes());
            }
            JournalRecord::FlushIssued(flush) | JournalRecord::FlushCompleted(flush) => {
                self.records.extend(flush.to_le_bytes());
            }
            JournalRecord::Completed(_) | JournalRecord::Failed(_) => {}
        }
    }

    /// Whether the records should be written now, because a block has no room for many more.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.records.len() >= MOST_RECORDS - 64
    }

    /// The next block, with all records that were added since the last one; `None` if there are none.
    pub fn take_block(&mut self) -> Option<Vec<u8>> {
        if self.records.is_empty() {
            return None;
        }
        let records = std::mem::take(&mut self.records);
        let mut block = Vec::with_capacity(BLOCK_HEADER + records.len());
        block.extend(BLOCK_MAGIC);
        block.extend((records.len() as u32).to_le_bytes());
        block.extend(self.blocks.to_le_bytes());
        let sum = sum_of(&[&block, &records]);
        block.extend(sum.to_le_bytes());
        block.extend(records);
        self.blocks += 1;
        Some(block)
    }
}

/// How a journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalEnd {
    /// After a block.
    Complete,
    /// Within a block, as after a power cut. No write of that block was issued, so nothing is missing.
    Torn {
        /// Bytes of the file that contain whole blocks.
        at: u64,
    },
}

/// Reads the blocks of a journal, after its header.
#[derive(Debug, Clone, Default)]
pub struct JournalReader {
    bytes: Vec<u8>,
    /// Bytes of whole blocks before `bytes`.
    read: u64,
    blocks: u64,
}

impl JournalReader {
    /// Adds bytes of the file, in order. Read all blocks before adding more, so that memory is bounded.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The records of the next block. `None`: more bytes are needed, or the journal ends here.
    ///
    /// # Errors
    /// A damaged block, and an intact block follows it.
    pub fn next_block(&mut self) -> Result<Option<Vec<JournalRecord>>, JournalError> {
        let Some(length) = self.block_length() else { return self.nothing_or_damaged() };
        if self.bytes.len() < length {
            return Ok(None);
        }
        match self.parse(&self.bytes[..length], self.blocks) {
            Some(records) => {
                self.bytes.drain(..length);
                self.read += length as u64;
                self.blocks += 1;
                Ok(Some(records))
            }
            None => self.nothing_or_damaged(),
        }
    }

    /// How the journal ends, when all of its bytes were added and all blocks were read.
    ///
    /// # Errors
    /// A damaged block, and an intact block follows it.
    pub fn end(&self) -> Result<JournalEnd, JournalError> {
        if self.bytes.is_empty() {
            return Ok(JournalEnd::Complete);
        }
        let at = self.read + JOURNAL_HEADER as u64;
        if self.has_block_behind() {
            return Err(JournalError::Damaged { at });
        }
        Ok(JournalEnd::Torn { at })
    }

    /// Length of the block at the start of the bytes; `None` if no block begins here or its header is incomplete.
    fn block_length(&self) -> Option<usize> {
        let header: &[u8; BLOCK_HEADER] = self.bytes.first_chunk()?;
        let length = number(&header[4..]) as u32 as usize;
        let block = header[..4] == BLOCK_MAGIC && length <= MOST_RECORDS;
        block.then_some(BLOCK_HEADER + length)
    }

    fn nothing_or_damaged(&self) -> Result<Option<Vec<JournalRecord>>, JournalError> {
        match self.has_block_behind() {
            true => Err(JournalError::Damaged { at: self.read + JOURNAL_HEADER as u64 }),
            false => Ok(None),
        }
    }

    /// Whether an intact block with a later number follows in the bytes.
    fn has_block_behind(&self) -> bool {
        (1..self.bytes.len()).any(|at| {
            let rest = &self.bytes[at..];
            rest.starts_with(&BLOCK_MAGIC)
                && rest.len() >= BLOCK_HEADER
                && rest
                    .get(..BLOCK_HEADER + (number(&rest[4..]) as u32 as usize).min(MOST_RECORDS))
                    .is_some_and(|block| self.parse(block, number(&rest[8..])).is_some())
        })
    }

    /// The records of a whole block; `None` if it is damaged.
    fn parse(&self, block: &[u8], expected: u64) -> Option<Vec<JournalRecord>> {
        let (header, mut records) = block.split_at_checked(BLOCK_HEADER)?;
        let intact = number(&header[8..]) == expected
            && number(&header[16..]) == sum_of(&[&header[..16], records]);
        if !intact {
            return None;
        }
        let mut list = Vec::new();
        while !records.is_empty() {
            list.push(record(&mut records)?);
        }
        Some(list)
    }
}

/// Takes a record from the start of `bytes`; `None` if there is none.
fn record(bytes: &mut &[u8]) -> Option<JournalRecord> {
    let (kind, rest) = bytes.split_first()?;
    let length = match kind {
        1 => 22,
        2 | 3 => 10,
        4 | 5 => 8,
        _ => return None,
    };
    let (fields, rest) = rest.split_at_checked(length)?;
    let writer =
        |fields: &[u8]| SectorWriter { job: number(fields) as u16, number: number(&fields[2..]) };
    *bytes = rest;
    Some(match kind {
        1 => JournalRecord::Intent {
            writer: writer(fields),
            offset: number(&fields[10..]),
            length: number(&fields[18..]) as u32,
        },
        2 => JournalRecord::Completed(writer(fields)),
        3 => JournalRecord::Failed(writer(fields)),
        4 => JournalRecord::FlushIssued(number(fields)),
        _ => JournalRecord::FlushCompleted(number(fields)),
    })
}

/// The little-endian integer of up to 8 bytes at the start of `bytes`.
fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

/// The checksum of several parts, as if they were one.
fn sum_of(parts: &[&[u8]]) -> u64 {
    let mut digest = crc_fast::Digest::new(crc_fast::CrcAlgorithm::Crc64Nvme);
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize()
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
