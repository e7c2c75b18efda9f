//! Why a trace cannot be read, and what a reader noticed in a trace that it could read.

use std::io;

use fiord_types::{Bytes, Errno, Nanos};

use super::InvalidLines;

/// Characters of an invalid line in a message.
const QUOTED: usize = 100;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The source failed.
    #[error("cannot read the trace: {}", Errno::explain(.0))]
    Read(#[source] io::Error),
    /// The merged trace cannot be written.
    #[error("cannot write the merged trace: {}", Errno::explain(.0))]
    Write(#[source] io::Error),
    /// One of several files or traces.
    #[error("trace file {}: {source}", file + 1)]
    File {
        /// Index of the file in the list of files or traces, from 0.
        file: usize,
        /// What is wrong.
        source: Box<TraceError>,
    },
    /// The first bytes are those of no known format.
    #[error(
        "unknown trace format: the trace begins with {start:?}. To fix: use an I/O log of fio (version 2 or 3), \
         a blktrace file, output of biosnoop with its header, a vscsi trace, or a CSV trace in the format of MSR Cambridge, \
         Alibaba, Tencent or CloudPhysics"
    )]
    Unknown {
        /// The first characters.
        start: String,
    },
    /// The trace is in an archive, or compressed in a way that the reader cannot decompress.
    #[error(
        "the trace is {how}, and only gzip is decompressed. To fix: pass it through standard input: \
         `{command} FILE | fiord …`, with `-` as the name of the trace"
    )]
    Packed {
        /// How it is packed.
        how: &'static str,
        /// The command that unpacks it.
        command: &'static str,
    },
    /// The trace has no byte.
    #[error("the trace is empty")]
    Empty,
    /// A version of an I/O log that cannot be read.
    #[error(
        "I/O logs of version {found} are not supported. To fix: record the log with fio 1.17 or later, or with fiord"
    )]
    Version {
        /// The version in the first line.
        found: String,
    },
    /// A version of blktrace that cannot be read.
    #[error(
        "blktrace files of version {found} are not supported, only version 7. To fix: convert the file with `blkparse -d`"
    )]
    BlktraceVersion {
        /// The version in the first record.
        found: u8,
    },
    /// The record that begins at a byte is wrong.
    #[error("the record at byte {offset} of the trace is invalid: {problem}")]
    Record {
        /// Where the record begins.
        offset: Bytes,
        /// What is wrong with it.
        problem: RowProblem,
    },
    /// The record with a number is wrong.
    #[error("record number {sequence} of the trace is invalid: {problem}")]
    Sequence {
        /// The number that the record has.
        sequence: u64,
        /// What is wrong with it.
        problem: RowProblem,
    },
    /// The trace ends within a record.
    #[error(
        "the trace ends within the record at byte {offset}: {found} of {expected} bytes. \
         To fix: copy the complete trace, or cut it off at this byte"
    )]
    Truncated {
        /// Where the record begins.
        offset: Bytes,
        /// Bytes of the record that the trace has.
        found: Bytes,
        /// Bytes of the record.
        expected: Bytes,
    },
    /// A line is wrong.
    #[error("line {line} of the trace is invalid: {problem}: {text:?}")]
    Line {
        /// Number of the line, from 1.
        line: u64,
        /// The line, at most its first 100 characters.
        text: String,
        /// What is wrong with it.
        problem: RowProblem,
    },
}

/// The first characters of a line, for a message.
pub(super) fn quoted(bytes: &[u8]) -> String {
    let end = bytes.len().min(4 * QUOTED);
    String::from_utf8_lossy(&bytes[..end]).chars().take(QUOTED).collect()
}

/// What is wrong with a line or record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RowProblem {
    /// The line is longer than a reader keeps.
    #[error("it is longer than {most} bytes")]
    TooLong {
        /// Longest line in bytes.
        most: usize,
    },
    /// A field is missing.
    #[error("it has no {field}")]
    Missing { field: &'static str },
    /// A field is not a decimal number, or too large for one.
    #[error("its {field} is not a number below 2^64")]
    NotANumber { field: &'static str },
    /// The range of an I/O ends beyond the largest offset of a file.
    #[error("its range ends beyond 2^63 - 1")]
    TooFar,
    /// An action that the format does not have.
    #[error("unknown action")]
    Action,
    /// The I/O goes to a file that no earlier line added.
    #[error("no earlier line adds this file")]
    NotAdded,
    /// `wait` in a version that has timestamps.
    #[error(
        "`wait` is allowed in version 2 only. To fix: remove the line; version 3 has timestamps"
    )]
    Wait,
    /// A line has more or fewer columns than its format.
    #[error("it does not have {expected} columns")]
    Columns {
        /// Columns of the format.
        expected: usize,
    },
    /// A timestamp that the unit of the format makes implausible.
    #[error(
        "its timestamp is not a time between 1990 and 2100 in {unit}{}. To fix: convert the timestamps",
        other.map(|other| format!(", but in {other}")).unwrap_or_default()
    )]
    Unit {
        /// The unit of the format.
        unit: &'static str,
        /// A unit in which the timestamp is plausible.
        other: Option<&'static str>,
    },
    /// An offset or a length that cannot be in bytes.
    #[error(
        "its offset and length are not multiples of 512 bytes: they may have another unit. To fix: convert them to bytes"
    )]
    NoSectors,
    /// A length that no device accepts.
    #[error(
        "its length of {len} bytes is above {most} bytes: it may have another unit. To fix: convert the lengths"
    )]
    Implausible {
        len: Bytes,
        /// The largest length accepted.
        most: Bytes,
    },
    /// Time passes without events.
    #[error(
        "it comes {} s after the event before it, more than {} s: the timestamps may have another unit. \
         To fix: correct them, or allow longer gaps",
        gap.as_secs(), most.as_secs()
    )]
    Gap {
        /// Time since the event before it.
        gap: Nanos,
        /// Longest gap allowed.
        most: Nanos,
    },
    /// A time that does not fit in 64 bits as nanoseconds.
    #[error("its time is too large")]
    TimeTooLarge,
    /// The record has another version than the first one.
    #[error("its version is not that of the first record")]
    RecordVersion,
    /// The record does not begin with the magic number of its format.
    #[error("it begins with {found:#010x} instead of {expected:#010x}")]
    Magic {
        /// The first four bytes.
        found: u32,
        /// What they must be.
        expected: u32,
    },
}

/// What a reader noticed in a trace that it could read. A report shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceNotes {
    /// Lines that the reader skipped because they are invalid.
    pub skipped: u64,
    /// The first line that the reader skipped.
    pub first_skipped: Option<SkippedLine>,
    /// Events with a timestamp before that of an earlier event. The reader returns them with the time of the
    /// earlier event.
    pub backwards: u64,
    /// The longest step back.
    pub furthest_back: Nanos,
    /// Records of block traces that are neither an I/O with a range nor a merge, a completion or a message; and commands
    /// of vscsi traces that are neither a read, a write nor a flush.
    pub ignored: u64,
}

impl TraceNotes {
    /// Notes an invalid line, or returns the error for it.
    #[cold]
    pub(super) fn tolerate(
        &mut self,
        invalid: InvalidLines,
        line: u64,
        text: &[u8],
        problem: RowProblem,
    ) -> Result<(), TraceError> {
        let text = quoted(text);
        if invalid == InvalidLines::Stop {
            return Err(TraceError::Line { line, text, problem });
        }
        self.skipped += 1;
        self.first_skipped.get_or_insert(SkippedLine { line, text, problem });
        Ok(())
    }
}

/// An invalid line that a reader skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedLine {
    /// Number of the line, from 1.
    pub line: u64,
    /// The line, at most its first 100 characters.
    pub text: String,
    /// What is wrong with it.
    pub problem: RowProblem,
}
