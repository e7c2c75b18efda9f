//! Reading of compact logs.

use std::io::{BufRead, ErrorKind};

use fiord_types::{Bytes, Nanos};

use super::{
    BLOCK_HEADER, BLOCK_MAGIC, COMPACT_MAGIC, LogDefinition, LogIndex, MAX_CONTENTS, MAX_NAME,
    MAX_ROWS, VERSION, column, sum_of,
};
use crate::log::histogram::{Coarseness, HistogramRow};
use crate::log::{LogColumns, LogError, LogKind, LogRow, direction};
use crate::varint;

/// A row of a compact log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactEntry {
    /// A row of a log of values.
    Row(LogIndex, LogRow),
    /// A row of a histogram log.
    Histogram(LogIndex, HistogramRow),
}

/// Reads a compact log. Rows of a log are in the order in which they were written; rows of different logs are not.
#[derive(Debug)]
pub struct CompactReader<R> {
    source: R,
    definitions: Vec<LogDefinition>,
    /// Bytes of the file.
    bytes: Vec<u8>,
    /// Bytes of the file before `bytes`.
    before: u64,
    /// Where in `bytes` the current block begins and ends, and where its next chunk begins.
    start: usize,
    end: usize,
    next: usize,
    /// Rows of the current chunk, reversed.
    rows: Vec<LogRow>,
    /// Histograms that the current chunk still has.
    histograms: u64,
    /// The log of the current chunk.
    log: LogIndex,
    /// The bytes from `end` on do not begin with a block: the next one has to be searched.
    lost: bool,
    rows_read: u64,
}

impl<R: BufRead> CompactReader<R> {
    /// Reads the start of a compact log.
    ///
    /// # Errors
    /// The source cannot be read, is not a compact log, or is one of a later version.
    pub fn new(source: R) -> Result<Self, LogError> {
        let mut reader = CompactReader {
            source,
            definitions: Vec::new(),
            bytes: Vec::new(),
            before: 0,
            start: 0,
            end: 0,
            next: 0,
            rows: Vec::new(),
            histograms: 0,
            log: LogIndex(0),
            lost: false,
            rows_read: 0,
        };
        let start = COMPACT_MAGIC.len() + 1;
        match reader.want(start)?.get(..start) {
            Some([magic @ .., VERSION]) if *magic == COMPACT_MAGIC => {}
            Some([magic @ .., later]) if *magic == COMPACT_MAGIC => {
                return Err(LogError::Version(*later));
            }
            _ => return Err(LogError::NotCompact),
        }
        (reader.end, reader.next) = (start, start);
        Ok(reader)
    }

    /// The logs that were defined so far, each at its index.
    #[must_use]
    pub fn definitions(&self) -> &[LogDefinition] {
        &self.definitions
    }

    /// The next row; `None` at the end. After a damaged block, the next call continues with the next intact one.
    ///
    /// # Errors
    /// The source cannot be read, a block is damaged, or the last one is truncated.
    pub fn next_entry(&mut self) -> Result<Option<CompactEntry>, LogError> {
        loop {
            if let Some(row) = self.rows.pop() {
                self.rows_read += 1;
                return Ok(Some(CompactEntry::Row(self.log, row)));
            }
            if self.histograms > 0 {
                self.histograms -= 1;
                let row = self.next_histogram()?;
                self.rows_read += 1;
                return Ok(Some(CompactEntry::Histogram(self.log, row)));
            }
            if self.next < self.end {
                self.next_chunk()?;
            } else if !self.next_block()? {
                return Ok(None);
            }
        }
    }

    /// Reads the start of a chunk, and all rows unless they are histograms.
    fn next_chunk(&mut self) -> Result<(), LogError> {
        let mut chunk = &self.bytes[self.next..self.end];
        let whole = chunk.len();
        let read = (|| {
            let Some(log) = varint::take(&mut chunk).ok()?.checked_sub(1) else {
                self.definitions.push(take_definition(&mut chunk)?);
                return Some(());
            };
            let definition = self.definitions.get(usize::try_from(log).ok()?)?;
            self.log = LogIndex(log as u32);
            let count = varint::take(&mut chunk).ok()?;
            if definition.kind == LogKind::Histogram {
                // Each row takes at least four bytes.
                self.histograms = Some(count).filter(|count| *count <= chunk.len() as u64 / 4)?;
            } else {
                let count = usize::try_from(count).ok().filter(|count| *count <= MAX_ROWS)?;
                self.rows = take_rows(&mut chunk, definition.columns, count)?;
                self.rows.reverse();
            }
            Some(())
        })();
        let left = chunk.len();
        self.next += whole - left;
        read.ok_or_else(|| self.wrong_contents())
    }

    fn next_histogram(&mut self) -> Result<HistogramRow, LogError> {
        let mut chunk = &self.bytes[self.next..self.end];
        let whole = chunk.len();
        let row = take_histogram(&mut chunk, &self.definitions[self.log.0 as usize]);
        self.next += whole - chunk.len();
        row.ok_or_else(|| self.wrong_contents())
    }

    /// Skips the rest of the block: its checksum is right, but not its contents.
    fn wrong_contents(&mut self) -> LogError {
        self.next = self.end;
        self.histograms = 0;
        LogError::Block { at: self.before + self.start as u64, what: "contents" }
    }

    /// Moves on to the next block; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, LogError> {
        self.start = self.end;
        loop {
            if self.lost {
                self.find_magic()?;
            }
            let rest = self.want(BLOCK_HEADER)?;
            let empty = rest.is_empty();
            (self.next, self.end) = (self.start, self.start);
            if empty {
                return Ok(false);
            }
            match self.check_block()? {
                Ok(size) => {
                    (self.next, self.end) = (self.start + BLOCK_HEADER, self.start + size);
                    self.lost = false;
                    return Ok(true);
                }
                Err(what) => {
                    let at = self.before + self.start as u64;
                    self.start += 1;
                    (self.next, self.end) = (self.start, self.start);
                    if !std::mem::replace(&mut self.lost, true) {
                        return Err(match what {
                            TRUNCATED => LogError::Truncated { rows: self.rows_read },
                            _ => LogError::Block { at, what },
                        });
                    }
                }
            }
        }
    }

    /// The size of the block at `start`, or what is wrong with it.
    fn check_block(&mut self) -> Result<Result<usize, &'static str>, LogError> {
        let Some(&header) = self.bytes[self.start..].first_chunk::<BLOCK_HEADER>() else {
            return Ok(Err(TRUNCATED));
        };
        let length = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let (checked, sum) = header.split_at(8);
        if header[..4] != BLOCK_MAGIC {
            return Ok(Err("start"));
        }
        if length > MAX_CONTENTS {
            return Ok(Err("length"));
        }
        let size = BLOCK_HEADER + length;
        let Some(contents) = self.want(size)?.get(BLOCK_HEADER..size) else {
            return Ok(Err(TRUNCATED));
        };
        let intact = sum_of(checked, contents).to_le_bytes() == sum;
        Ok(if intact { Ok(size) } else { Err("checksum") })
    }

    /// Moves `start` to the next place that looks like the start of a block.
    fn find_magic(&mut self) -> Result<(), LogError> {
        loop {
            let rest = self.want(BLOCK_HEADER)?;
            let found = rest.windows(BLOCK_MAGIC.len()).position(|at| *at == BLOCK_MAGIC);
            // The last bytes may be the start of the magic.
            let without = (rest.len() + 1).saturating_sub(BLOCK_MAGIC.len());
            let at_end = rest.len() < BLOCK_HEADER;
            let skip = match found {
                Some(at) => at,
                None if at_end => rest.len(),
                None => without,
            };
            self.start += skip;
            self.end = self.start;
            if found.is_some() || at_end {
                return Ok(());
            }
        }
    }

    /// Reads until the bytes from `start` on have this length, or to the end of the source, and returns them.
    fn want(&mut self, length: usize) -> Result<&[u8], LogError> {
        if self.start > self.bytes.len() / 2 {
            self.bytes.drain(..self.start);
            self.before += self.start as u64;
            self.start = 0;
        }
        while self.bytes.len() - self.start < length {
            match self.source.fill_buf() {
                Ok([]) => break,
                Ok(part) => {
                    self.bytes.extend_from_slice(part);
                    let used = part.len();
                    self.source.consume(used);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(&self.bytes[self.start..])
    }
}

const TRUNCATED: &str = "length (the file ends before it)";

fn take_definition(chunk: &mut &[u8]) -> Option<LogDefinition> {
    let kind = usize::try_from(varint::take(chunk).ok()?).ok()?;
    let kind = *LogKind::ALL.get(kind)?;
    let flags = varint::take(chunk).ok().filter(|flags| *flags < 16)?;
    let coarseness = Coarseness::new(varint::take(chunk).ok()?.try_into().ok()?)?;
    let window_ms = varint::take(chunk).ok()?;
    let thread = varint::take(chunk).ok()?.try_into().ok()?;
    let length = usize::try_from(varint::take(chunk).ok()?).ok()?;
    let name = chunk.split_off(..Some(length).filter(|length| *length <= MAX_NAME)?)?;
    Some(LogDefinition {
        name: String::from_utf8(name.to_vec()).ok()?,
        thread,
        kind,
        columns: LogColumns {
            both: flags & 1 != 0,
            offset: flags & 2 != 0,
            priority: flags & 4 != 0,
            issue_time: flags & 8 != 0,
        },
        window_ms,
        coarseness,
    })
}

fn take_rows(chunk: &mut &[u8], columns: LogColumns, count: usize) -> Option<Vec<LogRow>> {
    let mut column = |has: bool| match has {
        true => column::take(chunk, count),
        false => Some(Vec::new()),
    };
    let times = column(true)?;
    let values = column(true)?;
    let above = column(columns.both)?;
    let dirs = column(true)?;
    let blocks = column(true)?;
    let offsets = column(columns.offset)?;
    let priorities = column(true)?;
    let issued = column(columns.issue_time)?;
    let row = |at: usize| {
        let value = values[at];
        Some(LogRow {
            time_ms: times[at],
            value,
            maximum: above.get(at).map(|above| above.wrapping_add(value)),
            dir: direction(dirs[at])?,
            block: Bytes(blocks[at]),
            offset: offsets.get(at).copied().map(Bytes),
            priority: priorities[at].try_into().ok()?,
            issue_time: issued.get(at).copied().map(Nanos),
        })
    };
    (0..count).map(row).collect()
}

fn take_histogram(chunk: &mut &[u8], definition: &LogDefinition) -> Option<HistogramRow> {
    let mut field = || varint::take(chunk).ok();
    let (time_ms, dir, block) = (field()?, direction(field()?)?, Bytes(field()?));
    let mut counts = vec![0; definition.coarseness.bins()];
    let mut next = 0usize;
    for _ in 0..field()? {
        let bin = next.checked_add(usize::try_from(field()?).ok()?)?;
        *counts.get_mut(bin)? = field().filter(|count| *count > 0)?;
        next = bin + 1;
    }
    Some(HistogramRow { time_ms, dir, block, counts })
}
