//! Writing of compact logs.

use super::{
    BLOCK_HEADER, BLOCK_MAGIC, COMPACT_MAGIC, LogDefinition, LogIndex, MAX_NAME, VERSION, column,
    sum_of,
};
use crate::log::histogram::HistogramRow;
use crate::log::{LogColumns, LogRow};
use crate::varint;

/// Rows of all logs that make a block full.
const FULL_ROWS: usize = 16384;
/// Bytes of histograms that make a block full.
const FULL_BYTES: usize = 1 << 20;

/// Collects rows into blocks. Memory is bounded if the caller takes blocks that are ready after each row, or after each
/// few thousand rows.
///
/// ```
/// use fiord_formats::log::compact::{CompactEntry, CompactReader, CompactWriter, LogDefinition};
/// use fiord_formats::log::histogram::Coarseness;
/// use fiord_formats::log::{LogColumns, LogKind, LogRow};
/// use fiord_types::Dir;
///
/// let mut file = Vec::new();
/// let mut writer = CompactWriter::new(&mut file);
/// let log = writer.define(&LogDefinition {
///     name: "job".to_owned(),
///     thread: 1,
///     kind: LogKind::CompletionLatency,
///     columns: LogColumns::default(),
///     window_ms: 0,
///     coarseness: Coarseness::default(),
/// });
/// let row = LogRow { value: 81_000, ..LogRow::new(Dir::Read) };
/// writer.push(log, &row);
/// writer.flush(&mut file);
///
/// let mut reader = CompactReader::new(&*file)?;
/// assert_eq!(reader.next_entry()?, Some(CompactEntry::Row(log, row)));
/// assert_eq!(reader.definitions()[0].file_name(), "job_clat.1.log");
/// # Ok::<(), fiord_formats::log::LogError>(())
/// ```
#[derive(Debug)]
pub struct CompactWriter {
    logs: Vec<Pending>,
    /// Definitions that no block contains yet.
    definitions: Vec<u8>,
    /// Rows and bytes of histograms that no block contains yet.
    rows: usize,
    histogram_bytes: usize,
    /// How many of them make a block.
    full_rows: usize,
    full_bytes: usize,
    /// Whole blocks that were not taken yet.
    ready: Vec<u8>,
}

/// Rows of a log that no block contains yet.
#[derive(Debug)]
struct Pending {
    columns: LogColumns,
    /// Bins of a histogram.
    bins: usize,
    rows: Vec<LogRow>,
    histograms: Vec<u8>,
    histogram_rows: usize,
}

impl CompactWriter {
    /// A writer. It appends the start of the file to `out`.
    #[must_use]
    pub fn new(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&COMPACT_MAGIC);
        out.push(VERSION);
        CompactWriter {
            logs: Vec::new(),
            definitions: Vec::new(),
            rows: 0,
            histogram_bytes: 0,
            full_rows: FULL_ROWS,
            full_bytes: FULL_BYTES,
            ready: Vec::new(),
        }
    }

    /// Makes blocks of fewer rows, so that rows without a block take at most about this many bytes of memory, but not
    /// less than 16 rows.
    pub fn limit_memory(&mut self, bytes: usize) {
        self.full_rows = (bytes / size_of::<LogRow>()).clamp(16, FULL_ROWS);
        self.full_bytes = bytes.min(FULL_BYTES);
    }

    /// Adds a log. A name of more than 4096 bytes is shortened.
    pub fn define(&mut self, log: &LogDefinition) -> LogIndex {
        let columns = log.columns;
        let flags = [columns.both, columns.offset, columns.priority, columns.issue_time];
        let flags = flags.into_iter().rev().fold(0, |bits, has| bits << 1 | u64::from(has));
        let fits = |end: &usize| log.name.is_char_boundary(*end);
        let end = (0..=log.name.len().min(MAX_NAME)).rev().find(fits).unwrap_or_default();
        let name = &log.name[..end];
        let out = &mut self.definitions;
        let coarseness = log.coarseness.get().into();
        for field in [0, log.kind as u64, flags, coarseness, log.window_ms, log.thread.into()] {
            varint::put(field, out);
        }
        varint::put(name.len() as u64, out);
        out.extend_from_slice(name.as_bytes());
        self.logs.push(Pending {
            columns,
            bins: log.coarseness.bins(),
            rows: Vec::new(),
            histograms: Vec::new(),
            histogram_rows: 0,
        });
        LogIndex(self.logs.len() as u32 - 1)
    }

    /// Adds a row to a log of this writer.
    #[inline]
    pub fn push(&mut self, log: LogIndex, row: &LogRow) {
        self.logs[log.0 as usize].rows.push(*row);
        self.rows += 1;
        if self.rows >= self.full_rows {
            self.seal();
        }
    }

    /// Adds a histogram to a log of this writer.
    pub fn push_histogram(&mut self, log: LogIndex, row: &HistogramRow) {
        let pending = &mut self.logs[log.0 as usize];
        let out = &mut pending.histograms;
        let before = out.len();
        let counts = &row.counts[..row.counts.len().min(pending.bins)];
        let above_zero = counts.iter().filter(|count| **count > 0).count();
        for field in [row.time_ms, row.dir as u64, row.block.0, above_zero as u64] {
            varint::put(field, out);
        }
        let mut next = 0;
        for (bin, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            varint::put((bin - next) as u64, out);
            varint::put(count, out);
            next = bin + 1;
        }
        self.histogram_bytes += out.len() - before;
        pending.histogram_rows += 1;
        if self.histogram_bytes >= self.full_bytes {
            self.seal();
        }
    }

    /// Bytes of whole blocks that can be taken.
    #[inline]
    #[must_use]
    pub fn ready_bytes(&self) -> usize {
        self.ready.len()
    }

    /// Appends the whole blocks to `out`.
    pub fn take_ready(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.ready);
    }

    /// Appends all rows so far to `out`, as whole blocks. The more rows a block has, the fewer bytes each of them takes.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.seal();
        self.take_ready(out);
    }

    /// Makes a block of all rows so far.
    fn seal(&mut self) {
        if self.definitions.is_empty() && self.rows == 0 && self.histogram_bytes == 0 {
            return;
        }
        let out = &mut self.ready;
        let start = out.len();
        out.extend_from_slice(&BLOCK_MAGIC);
        out.extend_from_slice(&[0; 12]);
        out.append(&mut self.definitions);
        for (index, log) in self.logs.iter_mut().enumerate() {
            log.take(index as u64 + 1, out);
        }
        (self.rows, self.histogram_bytes) = (0, 0);
        complete(&mut out[start..]);
    }
}

impl Pending {
    /// Appends the rows as a chunk.
    fn take(&mut self, tag: u64, out: &mut Vec<u8>) {
        if self.histogram_rows > 0 {
            varint::put(tag, out);
            varint::put(self.histogram_rows as u64, out);
            out.append(&mut self.histograms);
            self.histogram_rows = 0;
        }
        if self.rows.is_empty() {
            return;
        }
        varint::put(tag, out);
        varint::put(self.rows.len() as u64, out);
        let (rows, columns) = (&self.rows, self.columns);
        column::put(rows.iter().map(|row| row.time_ms), out);
        column::put(rows.iter().map(|row| row.value), out);
        if columns.both {
            let above = |row: &LogRow| row.maximum.unwrap_or_default().wrapping_sub(row.value);
            column::put(rows.iter().map(above), out);
        }
        column::put(rows.iter().map(|row| row.dir as u64), out);
        column::put(rows.iter().map(|row| row.block.0), out);
        if columns.offset {
            column::put(rows.iter().map(|row| row.offset.unwrap_or_default().0), out);
        }
        column::put(rows.iter().map(|row| row.priority.into()), out);
        if columns.issue_time {
            column::put(rows.iter().map(|row| row.issue_time.unwrap_or_default().0), out);
        }
        self.rows.clear();
    }
}

/// Writes the length and the checksum of a block.
fn complete(block: &mut [u8]) {
    let (header, contents) = block.split_at_mut(BLOCK_HEADER);
    header[4..8].copy_from_slice(&(contents.len() as u32).to_le_bytes());
    let sum = sum_of(&header[..8], contents);
    header[8..].copy_from_slice(&sum.to_le_bytes());
}

/// Appends a block with these contents to `out`. For tests of readers.
pub fn sealed(contents: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    out.extend_from_slice(&BLOCK_MAGIC);
    out.extend_from_slice(&[0; 12]);
    out.extend_from_slice(contents);
    complete(&mut out[start..]);
}
