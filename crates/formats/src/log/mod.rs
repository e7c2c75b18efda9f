//! Logs of a run: bandwidth, IOPS and latencies of single I/Os or of windows, and histograms of completion latencies.
//!
//! | question | module |
//! |---|---|
//! | how is a row of fio's text format written and read | [`text`] |
//! | how is a row of a histogram log written and read | [`histogram`] |
//! | what does a compressed log of fio (`.fz`) contain | [`fz`] |
//! | what does fiord's own binary format contain | [`compact`] |
//!
//! ```
//! use fiord_formats::log::text::{RowWriter, TextReader};
//! use fiord_formats::log::{LogColumns, LogRow};
//! use fiord_types::{Bytes, Dir};
//!
//! let mut text = Vec::new();
//! let row = LogRow { time_ms: 7, value: 81_234, block: Bytes(4096), ..LogRow::new(Dir::Write) };
//! RowWriter::new(LogColumns::default()).push(&row, &mut text);
//! assert_eq!(text, b"7, 81234, 1, 4096, 0\n");
//!
//! let mut reader = TextReader::new(&*text);
//! assert_eq!(reader.next_row()?, Some(row));
//! # Ok::<(), fiord_formats::log::LogError>(())
//! ```

pub mod compact;
mod error;
pub mod fz;
pub mod histogram;
mod lines;
pub mod text;

#[cfg(test)]
mod tests;

use fiord_types::{Bytes, Dir, Nanos};

pub use error::{LineProblem, LogError};

/// What the values of a log are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum LogKind {
    /// Bandwidth in KiB/s; for single I/Os in units of 1000 bytes per second.
    Bandwidth = 0,
    /// IOPS of a window; 1 for a single I/O.
    Iops = 1,
    /// Latency from submission to completion, in nanoseconds.
    TotalLatency = 2,
    /// Submission latency in nanoseconds.
    SubmissionLatency = 3,
    /// Completion latency in nanoseconds.
    CompletionLatency = 4,
    /// Histograms of completion latencies.
    Histogram = 5,
}

impl LogKind {
    pub const ALL: [LogKind; 6] = [
        LogKind::Bandwidth,
        LogKind::Iops,
        LogKind::TotalLatency,
        LogKind::SubmissionLatency,
        LogKind::CompletionLatency,
        LogKind::Histogram,
    ];

    /// The part of a file's name that states the kind: `bw` in `job_bw.1.log`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LogKind::Bandwidth => "bw",
            LogKind::Iops => "iops",
            LogKind::TotalLatency => "lat",
            LogKind::SubmissionLatency => "slat",
            LogKind::CompletionLatency => "clat",
            LogKind::Histogram => "clat_hist",
        }
    }

    #[must_use]
    pub fn from_name(name: &str) -> Option<LogKind> {
        LogKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether the values are times in nanoseconds.
    #[must_use]
    pub const fn is_latency(self) -> bool {
        !matches!(self, LogKind::Bandwidth | LogKind::Iops)
    }
}

/// Which columns a log has besides time, value, direction, block size and priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LogColumns {
    /// The maximum of the window follows the mean (`log_window_value=both`).
    pub both: bool,
    /// The offset of the I/O (`log_offset`).
    pub offset: bool,
    /// The priority has all its digits (`log_prio`). Otherwise it is 1 for the real-time class and 0 for others.
    pub priority: bool,
    /// The time when the I/O was issued (`log_issue_time`).
    pub issue_time: bool,
}

/// A row of a log: a single I/O, or one direction in a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRow {
    /// Milliseconds since the start of the job, or since the epoch of another clock: the completion of the I/O, or the
    /// end of the window.
    pub time_ms: u64,
    /// The value, in the unit of the [`LogKind`].
    pub value: u64,
    /// The maximum of the window. In a log with maxima, fio writes 0 for a single I/O.
    pub maximum: Option<u64>,
    /// Direction of the I/O.
    pub dir: Dir,
    /// Length of the I/O; 0 for a window.
    pub block: Bytes,
    /// Offset of the I/O; 0 for a window.
    pub offset: Option<Bytes>,
    /// Priority of the I/O as the kernel encodes it: the class in the upper 3 bits, then the level. A log without
    /// full priorities keeps only whether the class is real-time.
    pub priority: u16,
    /// Time when the I/O was issued, since the start of the job; 0 in logs that have no such time.
    pub issue_time: Option<Nanos>,
}

/// The real-time class, without a level.
pub const REAL_TIME: u16 = 1 << CLASS_SHIFT;
const CLASS_SHIFT: u32 = 13;

impl LogRow {
    /// A row of zeros.
    #[must_use]
    pub const fn new(dir: Dir) -> LogRow {
        LogRow {
            time_ms: 0,
            value: 0,
            maximum: None,
            dir,
            block: Bytes(0),
            offset: None,
            priority: 0,
            issue_time: None,
        }
    }

    /// Whether the I/O has the real-time class.
    #[inline]
    #[must_use]
    pub const fn is_real_time(&self) -> bool {
        self.priority >> CLASS_SHIFT == 1
    }

    /// What a reader gets from a log with these columns.
    #[must_use]
    pub fn with_columns(self, columns: LogColumns) -> LogRow {
        LogRow {
            maximum: columns.both.then(|| self.maximum.unwrap_or_default()),
            offset: columns.offset.then(|| self.offset.unwrap_or_default()),
            priority: match columns.priority {
                true => self.priority,
                false => u16::from(self.is_real_time()) << CLASS_SHIFT,
            },
            issue_time: columns.issue_time.then(|| self.issue_time.unwrap_or_default()),
            ..self
        }
    }
}

/// The direction with this number in fio's logs.
pub(crate) const fn direction(number: u64) -> Option<Dir> {
    match number {
        0 => Some(Dir::Read),
        1 => Some(Dir::Write),
        2 => Some(Dir::Trim),
        _ => None,
    }
}
