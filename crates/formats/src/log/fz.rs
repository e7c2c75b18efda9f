//! Compressed logs of fio (`log_store_compressed`, names that end in `.fz`).
//!
//! A file consists of zlib streams, one after another. Their contents, joined, are rows. The integers of a row are in the
//! byte order of the host; this module reads and writes little endian.
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 7 | time in milliseconds |
//! | 8 to 15 | value |
//! | 16 to 23 | maximum of the window |
//! | 24 to 27 | direction; bit 31: an offset follows; 30: the text has the full priority; 29: the text has the maximum; 28: an issue time follows |
//! | 28 to 29 | priority |
//! | 30 to 31 | not used |
//! | 32 to 39 | block size |
//! | 8 more | offset, if bit 31 is set |
//! | 8 more | issue time in nanoseconds, if bit 28 is set |
//!
//! A histogram log of fio in this format contains addresses of fio's memory in place of the histograms, so it is useless.

use std::io::{BufRead, Write};

use fiord_types::{Bytes, Nanos};
use flate2::write::ZlibEncoder;
use flate2::{Compression, Decompress, FlushDecompress, Status};

use super::{LogColumns, LogError, LogRow, direction};

/// Bytes of a row without offset and issue time.
const ROW: usize = 40;
/// Maximum length of a row in bytes.
const MAX_ROW: usize = ROW + 16;
const OFFSET: u32 = 1 << 31;
const PRIORITY: u32 = 1 << 30;
const BOTH: u32 = 1 << 29;
const ISSUE_TIME: u32 = 1 << 28;

/// Compresses rows.
#[derive(Debug)]
pub struct FzEncoder {
    columns: LogColumns,
    stream: ZlibEncoder<Vec<u8>>,
    rows: u64,
}

impl FzEncoder {
    /// An encoder of a log with these columns.
    #[must_use]
    pub fn new(columns: LogColumns) -> Self {
        FzEncoder { columns, stream: stream(), rows: 0 }
    }

    /// Adds a row to the current stream.
    pub fn push(&mut self, row: &LogRow) {
        let columns = self.columns;
        let bit = |has: bool, bit: u32| if has { bit } else { 0 };
        let flags = bit(columns.offset, OFFSET)
            | bit(columns.priority, PRIORITY)
            | bit(columns.both, BOTH)
            | bit(columns.issue_time, ISSUE_TIME);
        let mut bytes = [0; MAX_ROW];
        bytes[0..8].copy_from_slice(&row.time_ms.to_le_bytes());
        bytes[8..16].copy_from_slice(&row.value.to_le_bytes());
        bytes[16..24].copy_from_slice(&row.maximum.unwrap_or_default().to_le_bytes());
        bytes[24..28].copy_from_slice(&(row.dir as u32 | flags).to_le_bytes());
        bytes[28..30].copy_from_slice(&row.priority.to_le_bytes());
        bytes[32..40].copy_from_slice(&row.block.0.to_le_bytes());
        let mut length = ROW;
        if columns.offset {
            let offset = row.offset.unwrap_or_default().0;
            bytes[length..length + 8].copy_from_slice(&offset.to_le_bytes());
            length += 8;
        }
        if columns.issue_time {
            let time = row.issue_time.unwrap_or_default().0;
            bytes[length..length + 8].copy_from_slice(&time.to_le_bytes());
            length += 8;
        }
        // Writing to memory cannot fail.
        let _ = self.stream.write_all(&bytes[..length]);
        self.rows += 1;
    }

    /// Bytes of the current stream that are compressed already.
    #[must_use]
    pub fn compressed(&self) -> usize {
        self.stream.get_ref().len()
    }

    /// Ends the current stream and appends it to `out`. What was written up to here can be read. Without rows, it does
    /// nothing.
    pub fn finish_stream(&mut self, out: &mut Vec<u8>) {
        if self.rows == 0 {
            return;
        }
        self.rows = 0;
        let ended = std::mem::replace(&mut self.stream, stream());
        // Writing to memory cannot fail.
        out.append(&mut ended.finish().unwrap_or_default());
    }
}

fn stream() -> ZlibEncoder<Vec<u8>> {
    ZlibEncoder::new(Vec::new(), Compression::fast())
}

/// Reads the rows of a compressed log.
#[derive(Debug)]
pub struct FzDecoder<R> {
    source: R,
    stream: Decompress,
    /// Decompressed bytes, from `next` on.
    bytes: Vec<u8>,
    next: usize,
    rows: u64,
}

/// Decompressed bytes that are held at a time.
const CHUNK: usize = 1 << 16;

impl<R: BufRead> FzDecoder<R> {
    /// A decoder. It reads nothing yet.
    pub fn new(source: R) -> Self {
        FzDecoder {
            source,
            stream: Decompress::new(true),
            bytes: Vec::with_capacity(CHUNK),
            next: 0,
            rows: 0,
        }
    }

    /// The next row and the columns that its text has; `None` at the end.
    ///
    /// # Errors
    /// The source cannot be read, or the data is damaged or truncated. After a wrong direction, the next call continues
    /// with the next row.
    pub fn next_row(&mut self) -> Result<Option<(LogRow, LogColumns)>, LogError> {
        if self.bytes.len() - self.next < MAX_ROW {
            self.fill()?;
        }
        let bytes = &self.bytes[self.next..];
        if bytes.is_empty() {
            return Ok(None);
        }
        let truncated = LogError::Truncated { rows: self.rows };
        let number = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let (Some(time_ms), Some(value), Some(maximum), Some(middle), Some(block)) =
            (number(0), number(8), number(16), number(24), number(32))
        else {
            return Err(self.stop(truncated));
        };
        let flags = middle as u32;
        let has = |bit: u32| flags & bit != 0;
        let columns = LogColumns {
            both: has(BOTH),
            offset: has(OFFSET),
            priority: has(PRIORITY),
            issue_time: has(ISSUE_TIME),
        };
        let mut length = ROW;
        let mut optional = |has: bool| {
            let value = if has { number(length)? } else { 0 };
            length += if has { 8 } else { 0 };
            Some(value)
        };
        let (Some(offset), Some(issued)) = (optional(columns.offset), optional(columns.issue_time))
        else {
            return Err(self.stop(truncated));
        };
        self.next += length;
        self.rows += 1;
        let wrong = flags & !(OFFSET | PRIORITY | BOTH | ISSUE_TIME);
        let dir = direction(wrong.into())
            .ok_or(LogError::Direction { row: self.rows, direction: wrong })?;
        let row = LogRow {
            time_ms,
            value,
            maximum: columns.both.then_some(maximum),
            dir,
            block: Bytes(block),
            offset: columns.offset.then_some(Bytes(offset)),
            priority: (middle >> 32) as u16,
            issue_time: columns.issue_time.then_some(Nanos(issued)),
        };
        Ok(Some((row, columns)))
    }

    /// The next call finds the end.
    fn stop(&mut self, error: LogError) -> LogError {
        self.next = self.bytes.len();
        error
    }

    /// Decompresses until a row is complete, or to the end of the source.
    fn fill(&mut self) -> Result<(), LogError> {
        self.bytes.drain(..self.next);
        self.next = 0;
        while self.bytes.len() < MAX_ROW {
            let input = match self.source.fill_buf() {
                Ok(input) => input,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            let (before_in, before_out) = (self.stream.total_in(), self.stream.total_out());
            if input.is_empty() && before_in == 0 {
                // After a stream, or an empty file.
                break;
            }
            self.bytes.reserve(CHUNK);
            let end = input.is_empty();
            let status = self.stream.decompress_vec(input, &mut self.bytes, FlushDecompress::None);
            let used = (self.stream.total_in() - before_in) as usize;
            self.source.consume(used);
            let stuck = used == 0 && self.stream.total_out() == before_out;
            let error = match status {
                Ok(Status::StreamEnd) => {
                    self.stream.reset(true);
                    continue;
                }
                Ok(_) if !stuck => continue,
                Ok(_) if end => LogError::Truncated { rows: self.rows },
                Ok(_) => LogError::Compressed {
                    rows: self.rows,
                    reason: "the decoder does not advance".to_owned(),
                },
                Err(error) => LogError::Compressed { rows: self.rows, reason: error.to_string() },
            };
            // The caller gets whole rows first; then the decoder reports the error again.
            if self.bytes.len() >= ROW {
                break;
            }
            self.bytes.clear();
            if end {
                self.stream.reset(true);
            }
            return Err(error);
        }
        Ok(())
    }
}
