//! Why a log cannot be read.

use fiord_types::Errno;

/// What is wrong with a line of a text log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineProblem {
    /// The line has a number of columns that no log has, or not as many as the log.
    #[error("it has {found} columns, expected {expected}")]
    Columns {
        /// Columns of the line.
        found: usize,
        /// What is possible.
        expected: &'static str,
    },
    /// A column is not an unsigned number of 64 bits.
    #[error("column {column} (`{text}`) is not an unsigned integer of 64 bits")]
    NotANumber {
        /// The column, from 1.
        column: usize,
        /// Text of the column, shortened.
        text: String,
    },
    /// The direction is not 0, 1 or 2.
    #[error("the direction is {0}, but must be 0 (read), 1 (write) or 2 (trim)")]
    Direction(u64),
    /// The priority has more than 16 bits.
    #[error("the priority `{0}` is neither 0, 1 nor 0x followed by four digits")]
    Priority(String),
    /// The line is longer than the longest possible row.
    #[error("it has more than {0} bytes")]
    TooLong(usize),
    /// The histogram's coarseness differs from that of the lines before it.
    #[error(
        "its histogram has {found} bins, but the lines before it have {expected}: logs of different \
         `log_hist_coarseness` were joined in one file"
    )]
    Bins {
        /// Bins of the line.
        found: usize,
        /// Bins of the lines before it.
        expected: usize,
    },
}

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The source cannot be read.
    #[error("cannot read the log: {}", Errno::explain(.0))]
    Read(#[from] std::io::Error),
    /// A line is not a row. The reader can continue with the next line.
    #[error("line {number} is not a row of a log: {problem}: `{text}`")]
    Line {
        /// The line, from 1.
        number: u64,
        /// Text of the line, shortened.
        text: String,
        /// What is wrong.
        problem: LineProblem,
    },
    /// Compressed data is damaged. The reader cannot continue.
    #[error("the compressed data is damaged after row {rows}: {reason}")]
    Compressed {
        /// Rows before the damage.
        rows: u64,
        /// What the decoder says.
        reason: String,
    },
    /// The data ends within a compressed stream or a row: the writer was killed, or the copy is incomplete.
    #[error("the log is truncated after row {rows}")]
    Truncated {
        /// Whole rows before the end.
        rows: u64,
    },
    /// A row of a compressed log has an impossible direction.
    #[error("row {row} of the compressed log has direction {direction}, but must have 0, 1 or 2")]
    Direction {
        /// The row, from 1.
        row: u64,
        direction: u32,
    },
    /// The file is not a compact log.
    #[error("it is not a compact log of fiord")]
    NotCompact,
    /// A later version of fiord wrote the file.
    #[error("it is a compact log of version {0}, which this fiord cannot read")]
    Version(u8),
    /// A block of a compact log is damaged. The reader can continue with the next intact block.
    #[error("the block at byte {at} is damaged: its {what} is wrong")]
    Block {
        /// Where the block begins in the file.
        at: u64,
        /// The part that is wrong.
        what: &'static str,
    },
}

impl LogError {
    /// Whether the reader can continue after it.
    #[must_use]
    pub const fn can_skip(&self) -> bool {
        matches!(self, LogError::Line { .. } | LogError::Direction { .. } | LogError::Block { .. })
    }
}

impl PartialEq for LogError {
    /// Compares the messages: errors of the system have no other equality.
    fn eq(&self, other: &LogError) -> bool {
        self.to_string() == other.to_string()
    }
}

/// The first characters of a text, for a message.
pub(crate) fn shortened(text: &[u8]) -> String {
    const MAX_CHARACTERS: usize = 80;
    let text = String::from_utf8_lossy(&text[..text.len().min(4 * MAX_CHARACTERS)]);
    let mut short: String = text.chars().take(MAX_CHARACTERS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
