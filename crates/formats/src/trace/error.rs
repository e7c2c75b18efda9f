//! Why a trace cannot be read, and what a reader noticed in a trace that it could read.

use std::io;

use fiord_types::Nanos;

/// Characters of an invalid line in a message.
const QUOTED: usize = 100;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The source failed.
    #[error("cannot read the trace")]
    Read(#[source] io::Error),
    /// The first bytes are those of no known format.
    #[error(
        "unknown trace format: the trace begins with {start:?}. To fix: use an I/O log of fio (version 2 or 3)"
    )]
    Unknown {
        /// The first characters.
        start: String,
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
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A field is not a decimal number, or too large for one.
    #[error("its {field} is not a number below 2^64")]
    NotANumber {
        /// The field.
        field: &'static str,
    },
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
