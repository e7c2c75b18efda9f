//! The journal of a run with `verify=fiord` (`verify_journal`): which writes a target had received, acknowledged and
//! flushed before a crash.
//!
//! The journal lies on a disk other than that of the target. Before a job issues a write, a record that announces it is
//! durable in the journal (an intent). A job announces its next writes in groups, and records the issue and the
//! completion of each write, and flushes, when they happen; these records become durable a little later. So after a
//! crash:
//!
//! - every write that can be on the target is announced in the journal;
//! - a completion or flush that is missing only makes the check more lenient.
//!
//! # The file
//!
//! A journal begins with a header ([`JournalHeader`]) of 4096 bytes for each target. Journal blocks follow, each at a
//! multiple of 4096 bytes. The writer makes one block durable before it writes the next, so a crash can damage only the
//! last one. Integers are little endian.
//!
//! The targets of a journal lie one after another in one space of addresses. Each begins at its base, a multiple of the
//! block length; the first one at 0.
//!
//! | bytes of each part of the header | field |
//! |---|---|
//! | 0 to 7 | magic `FRDJRNL2` |
//! | 8 to 15 | [`TargetId`](super::sector::TargetId) |
//! | 16 to 23 | [`RunId`] |
//! | 24 to 31 | bytes of a block: a divisor of all offsets and lengths |
//! | 32 to 39 | bytes of a sector, at least 512 |
//! | 40 to 47 | size of the target in bytes; 0: unknown |
//! | 48 to 55 | flags; 1: a crash of the job can tear a sector (`ioengine=mmap`) |
//! | 56 to 63 | base of the target |
//! | 64 to 65 | number of targets |
//! | 66 to 67 | index of this target |
//! | 68 to 69 | length of the path of the target; 0 if the header has no room for it |
//! | from 70 | the path |
//! | 4088 to 4095 | checksum of the bytes before it |
//!
//! | bytes of a journal block | field |
//! |---|---|
//! | 0 to 3 | magic `FJBL` |
//! | 4 to 7 | length of the records in bytes |
//! | 8 to 15 | number of the block, from 0 |
//! | 16 to 23 | checksum of the [`RunId`], of bytes 0 to 15 and of the records |
//! | from 24 | records, then zeros up to a multiple of 4096 |
//!
//! | kind of a record, one byte | fields |
//! |---|---|
//! | 1: writes announced | job u16, number of the first u64, count u32, then for each offset u64 and length u32 |
//! | 2: the next write of a job issued | job u16 |
//! | 3, 4: write completed; 4: it was durable when acknowledged | job u16, number u64, index of the target u16 |
//! | 5: write failed | job u16, number u64 |
//! | 6: flush issued | number of the flush u64, index of the target u16 |
//! | 7: flush completed | number of the flush u64 |
//! | 8: trim issued | address u64, length u64 |
//!
//! The offsets of announced writes are addresses, too.

mod header;

use fiord_simd::crc::CRC64_NVME;
use fiord_types::Bytes;

use super::sector::{RunId, SectorWriter};

pub use header::{JournalHeader, JournaledTarget, MAX_TARGETS};

/// The first bytes of a journal.
pub const JOURNAL_MAGIC: [u8; 8] = *b"FRDJRNL2";
/// Length of the header, and the alignment of journal blocks, in bytes.
pub const JOURNAL_UNIT: usize = 4096;

const BLOCK_MAGIC: [u8; 4] = *b"FJBL";
const BLOCK_HEADER: usize = 24;
/// Maximum size of the records in a block, in bytes. A reader needs no more memory than this for a block.
const MAX_RECORDS: usize = 1 << 20;
/// Maximum length of a record without the list of an announcement, in bytes.
const MAX_RECORD: usize = 32;
/// Bytes of an announced write in a record.
const ANNOUNCED: usize = 12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AnnouncedWrite {
    /// Where it begins: the base of its target plus its offset there.
    pub start: Bytes,
    /// Length of the write, below 4 GiB.
    pub length: Bytes,
}

/// An event of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalRecord {
    /// A job may issue this write from now on. Announced again, the later announcement is valid.
    Announced(SectorWriter, AnnouncedWrite),
    /// The job issues its next write: their numbers count from 0.
    Issued { job: u16 },
    /// The target acknowledged a write.
    Completed {
        writer: SectorWriter,
        /// Index of the target.
        target: u16,
        /// The write was durable then, without a flush.
        durable: bool,
    },
    /// A write failed, so it may be on the target or not.
    Failed(SectorWriter),
    /// A flush is about to be issued. It covers the writes to its target that completed before this record.
    FlushIssued {
        /// Number of the flush.
        flush: u64,
        /// Index of the target.
        target: u16,
    },
    /// The target acknowledged the flush with this number.
    FlushCompleted(u64),
    /// A trim is about to be issued. What it covers may contain anything until a later write.
    Trimmed {
        /// The address of its first byte.
        start: Bytes,
        /// Length of the trim.
        length: Bytes,
    },
}

/// Why a journal cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The file does not begin like a journal.
    #[error("it is not a journal of fiord: its header is missing or damaged")]
    NotAJournal,
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

/// Collects records into blocks.
///
/// ```
/// use fiord_formats::integrity::journal::{JournalEnd, JournalReader, JournalRecord, JournalWriter};
/// use fiord_formats::integrity::sector::RunId;
///
/// let mut writer = JournalWriter::new(RunId(7));
/// writer.add(JournalRecord::FlushIssued { flush: 0, target: 0 });
/// writer.add(JournalRecord::FlushCompleted(0));
/// let mut block = Vec::new();
/// assert!(writer.take_block(&mut block));
/// assert!(!writer.take_block(&mut block), "there are no more records");
///
/// let mut reader = JournalReader::new(RunId(7));
/// reader.push(&block);
/// let mut records = Vec::new();
/// assert!(reader.next_block(&mut records)?);
/// assert_eq!(records[1], JournalRecord::FlushCompleted(0));
/// assert_eq!(reader.end()?, JournalEnd::Complete);
/// # Ok::<(), fiord_formats::integrity::journal::JournalError>(())
/// ```
#[derive(Debug, Clone)]
pub struct JournalWriter {
    run: RunId,
    /// Records that no block contains yet.
    records: Vec<u8>,
    /// Lengths of those that fill whole blocks: no record lies in two blocks.
    whole: Vec<usize>,
    /// Bytes of `records` after the last whole block.
    rest: usize,
    blocks: u64,
}

impl JournalWriter {
    /// A writer of the journal of a run.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        JournalWriter { run, records: Vec::new(), whole: Vec::new(), rest: 0, blocks: 0 }
    }

    /// Adds a record. An announcement must be in a block that is durable before its write is issued.
    #[inline]
    pub fn add(&mut self, record: JournalRecord) {
        let before = self.records.len();
        match record {
            JournalRecord::Announced(writer, write) => self.announce(writer, &[write]),
            JournalRecord::Issued { job } => {
                let [low, high] = job.to_le_bytes();
                self.records.extend_from_slice(&[2, low, high]);
            }
            JournalRecord::Completed { writer, target, durable } => {
                self.add_writer(if durable { 4 } else { 3 }, writer);
                self.records.extend_from_slice(&target.to_le_bytes());
            }
            JournalRecord::Failed(writer) => self.add_writer(5, writer),
            JournalRecord::FlushIssued { flush, target } => {
                self.add_word(6, flush);
                self.records.extend_from_slice(&target.to_le_bytes());
            }
            JournalRecord::FlushCompleted(flush) => self.add_word(7, flush),
            JournalRecord::Trimmed { start, length } => {
                self.add_word(8, start.0);
                self.records.extend_from_slice(&length.0.to_le_bytes());
            }
        }
        if !matches!(record, JournalRecord::Announced(..)) {
            self.added(before);
        }
    }

    /// Announces writes of a job with consecutive numbers from that of `first`.
    pub fn announce(&mut self, first: SectorWriter, writes: &[AnnouncedWrite]) {
        let most = (MAX_RECORDS - MAX_RECORD) / ANNOUNCED;
        let mut first = first;
        for part in writes.chunks(most) {
            let before = self.records.len();
            self.add_writer(1, first);
            self.records.extend_from_slice(&(part.len() as u32).to_le_bytes());
            for write in part {
                self.records.extend_from_slice(&write.start.0.to_le_bytes());
                self.records.extend_from_slice(&(write.length.0 as u32).to_le_bytes());
            }
            first.number = first.number.wrapping_add(part.len() as u64);
            self.added(before);
        }
    }

    /// Bytes of records that no block contains yet.
    #[must_use]
    pub fn pending_bytes(&self) -> usize {
        self.records.len()
    }

    /// Appends the next block to `block`; false if there are no records. A writer makes each block durable before it
    /// writes the next one.
    pub fn take_block(&mut self, block: &mut Vec<u8>) -> bool {
        let length = match self.whole.is_empty() {
            true => self.records.len(),
            false => self.whole.remove(0),
        };
        if length == 0 {
            return false;
        }
        if self.whole.is_empty() && length == self.records.len() {
            self.rest = 0;
        }
        let start = block.len();
        block.extend_from_slice(&BLOCK_MAGIC);
        block.extend_from_slice(&(length as u32).to_le_bytes());
        block.extend_from_slice(&self.blocks.to_le_bytes());
        let records = &self.records[..length];
        let sum = sum_of(&[&self.run.0.to_le_bytes(), &block[start..], records]);
        block.extend_from_slice(&sum.to_le_bytes());
        block.extend_from_slice(records);
        block.resize(start + size_of_block(length), 0);
        self.records.drain(..length);
        self.blocks += 1;
        true
    }

    fn add_writer(&mut self, kind: u8, writer: SectorWriter) {
        let mut bytes = [kind; 11];
        bytes[1..3].copy_from_slice(&writer.job.to_le_bytes());
        bytes[3..].copy_from_slice(&writer.number.to_le_bytes());
        self.records.extend_from_slice(&bytes);
    }

    fn add_word(&mut self, kind: u8, word: u64) {
        self.records.push(kind);
        self.records.extend_from_slice(&word.to_le_bytes());
    }

    /// The records from `before` on are one record.
    fn added(&mut self, before: usize) {
        let length = self.records.len() - before;
        if self.rest + length > MAX_RECORDS {
            self.whole.push(self.rest);
            self.rest = 0;
        }
        self.rest += length;
    }
}

/// Bytes of a block in the file.
fn size_of_block(records: usize) -> usize {
    (BLOCK_HEADER + records).next_multiple_of(JOURNAL_UNIT)
}

/// How a journal ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JournalEnd {
    /// After a block.
    Complete,
    /// Within a block, as after a power cut. No write that only this block announces was issued, so nothing is missing.
    Torn {
        /// Bytes of the file that contain whole blocks.
        at: u64,
    },
}

/// Reads the blocks of a journal, after its header.
#[derive(Debug, Clone)]
pub struct JournalReader {
    run: RunId,
    bytes: Vec<u8>,
    /// Position in `bytes` of the next block.
    next: usize,
    /// Bytes of the file before `bytes`.
    read: u64,
    blocks: u64,
}

impl JournalReader {
    /// A reader of the journal of a run with one target.
    #[must_use]
    pub fn new(run: RunId) -> Self {
        JournalReader { run, bytes: Vec::new(), next: 0, read: JOURNAL_UNIT as u64, blocks: 0 }
    }

    /// A reader of a journal with this header.
    #[must_use]
    pub fn of(header: &JournalHeader) -> Self {
        JournalReader { read: header.length().0, ..JournalReader::new(header.run) }
    }

    /// Adds bytes of the file, in order. Read all blocks before adding more, so that memory is bounded.
    pub fn push(&mut self, bytes: &[u8]) {
        self.read += self.next as u64;
        self.bytes.drain(..self.next);
        self.next = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Whether more bytes of the file can contain another block, or show that the journal is damaged.
    #[must_use]
    pub fn wants_more(&self) -> bool {
        self.rest().len() < 2 * size_of_block(MAX_RECORDS)
    }

    /// Replaces `records` by those of the next block. False: more bytes are needed, or the journal ends here.
    ///
    /// # Errors
    /// A damaged block, and an intact block follows it.
    pub fn next_block(&mut self, records: &mut Vec<JournalRecord>) -> Result<bool, JournalError> {
        records.clear();
        let rest = &self.bytes[self.next..];
        if let Some(size) = block_size(rest)
            && rest.len() < size
        {
            return Ok(false);
        }
        match self.parse(rest, self.blocks, records) {
            Some(size) => {
                self.next += size;
                self.blocks += 1;
                Ok(true)
            }
            None => {
                records.clear();
                self.check_behind().map(|()| false)
            }
        }
    }

    /// How the journal ends, when all of its bytes were added and all blocks were read.
    ///
    /// # Errors
    /// A damaged block, and an intact block follows it.
    pub fn end(&self) -> Result<JournalEnd, JournalError> {
        self.check_behind()?;
        let rest = self.rest();
        // A device contains something else after the journal.
        let begins = rest.starts_with(&BLOCK_MAGIC) && rest.len() >= 16;
        let own = begins && number(&rest[8..16]) == self.blocks;
        let short = !rest.is_empty() && rest.len() < JOURNAL_UNIT;
        Ok(match own || short {
            true => JournalEnd::Torn { at: self.at() },
            false => JournalEnd::Complete,
        })
    }

    fn rest(&self) -> &[u8] {
        &self.bytes[self.next..]
    }

    fn at(&self) -> u64 {
        self.read + self.next as u64
    }

    /// Fails if an intact block with a later number follows in the bytes.
    fn check_behind(&self) -> Result<(), JournalError> {
        let rest = self.rest();
        for at in (JOURNAL_UNIT..rest.len()).step_by(JOURNAL_UNIT) {
            let block = &rest[at..];
            let later = block.len() >= BLOCK_HEADER
                && number(&block[8..16]) > self.blocks
                && self.parse(block, number(&block[8..16]), &mut Vec::new()).is_some();
            if later {
                return Err(JournalError::Damaged { at: self.at() });
            }
        }
        Ok(())
    }

    /// The size of the block at the start of `bytes`, whose records are appended; `None` if it is damaged.
    fn parse(&self, bytes: &[u8], expected: u64, into: &mut Vec<JournalRecord>) -> Option<usize> {
        let size = block_size(bytes)?;
        let header: &[u8; BLOCK_HEADER] = bytes.first_chunk()?;
        let length = number(&header[4..8]) as usize;
        let mut records = bytes.get(BLOCK_HEADER..BLOCK_HEADER + length)?;
        let padding = bytes.get(BLOCK_HEADER + length..size)?;
        let sum = sum_of(&[&self.run.0.to_le_bytes(), &header[..16], records]);
        let intact = number(&header[8..16]) == expected
            && number(&header[16..]) == sum
            && padding.iter().all(|byte| *byte == 0);
        if !intact {
            return None;
        }
        while !records.is_empty() {
            record(&mut records, into)?;
        }
        Some(size)
    }
}

/// Size of the block at the start of the bytes; `None` if no block begins here or its header is incomplete.
fn block_size(bytes: &[u8]) -> Option<usize> {
    let header: &[u8; BLOCK_HEADER] = bytes.first_chunk()?;
    let length = number(&header[4..8]) as usize;
    let block = header[..4] == BLOCK_MAGIC && (1..=MAX_RECORDS).contains(&length);
    block.then(|| size_of_block(length))
}

/// Takes a record from the start of `bytes`; `None` if there is none.
fn record(bytes: &mut &[u8], into: &mut Vec<JournalRecord>) -> Option<()> {
    let kind = take(bytes, 1)?[0];
    let record = match kind {
        1 => {
            let writer = writer(take(bytes, 10)?);
            let count = number(take(bytes, 4)?) as usize;
            let list = take(bytes, count.checked_mul(ANNOUNCED)?)?;
            let writes = list.as_chunks::<ANNOUNCED>().0;
            for (i, fields) in writes.iter().enumerate() {
                let (start, length) = (Bytes(number(&fields[..8])), Bytes(number(&fields[8..])));
                let number = writer.number.wrapping_add(i as u64);
                let writer = SectorWriter { number, ..writer };
                let write = AnnouncedWrite { start, length };
                into.push(JournalRecord::Announced(writer, write));
            }
            return Some(());
        }
        2 => JournalRecord::Issued { job: number(take(bytes, 2)?) as u16 },
        3 | 4 => {
            let writer = writer(take(bytes, 10)?);
            let target = number(take(bytes, 2)?) as u16;
            JournalRecord::Completed { writer, target, durable: kind == 4 }
        }
        5 => JournalRecord::Failed(writer(take(bytes, 10)?)),
        6 => {
            let flush = number(take(bytes, 8)?);
            JournalRecord::FlushIssued { flush, target: number(take(bytes, 2)?) as u16 }
        }
        7 => JournalRecord::FlushCompleted(number(take(bytes, 8)?)),
        8 => {
            let start = Bytes(number(take(bytes, 8)?));
            JournalRecord::Trimmed { start, length: Bytes(number(take(bytes, 8)?)) }
        }
        _ => return None,
    };
    into.push(record);
    Some(())
}

fn take<'b>(bytes: &mut &'b [u8], length: usize) -> Option<&'b [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

fn writer(fields: &[u8]) -> SectorWriter {
    SectorWriter { job: number(&fields[..2]) as u16, number: number(&fields[2..]) }
}

/// The little-endian integer of up to 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    u64::from_le_bytes(word)
}

/// The checksum of several parts, as if they were one.
fn sum_of(parts: &[&[u8]]) -> u64 {
    !parts.iter().fold(!0, |state, part| CRC64_NVME.update(state, part))
}

#[cfg(test)]
mod tests;
