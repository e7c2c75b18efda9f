//! Reading of a log in any format.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use fiord_formats::log::compact::{
    COMPACT_MAGIC, CompactEntry, CompactReader, LogDefinition, LogIndex,
};
use fiord_formats::log::fz::FzDecoder;
use fiord_formats::log::histogram::{Coarseness, HistogramReader, HistogramRow};
use fiord_formats::log::text::TextReader;
use fiord_formats::log::{LogColumns, LogError, LogKind, LogRow};

use super::args::LogArgs;
use super::error::ShowLogError;

/// Bytes that are read at a time: at least the longest line.
const BUFFER: usize = 256 << 10;
/// Columns of the longest row that is not a histogram.
const ROW_COLUMNS: usize = 8;

/// Receives the contents of a file.
pub(super) trait LogVisitor {
    /// A log of the file. Its rows follow.
    fn define(&mut self, log: LogIndex, definition: &LogDefinition) -> Result<(), ShowLogError>;
    fn row(&mut self, log: LogIndex, row: &LogRow) -> Result<(), ShowLogError>;
    /// A row of a histogram log.
    fn histogram(&mut self, log: LogIndex, row: &HistogramRow) -> Result<(), ShowLogError>;
}

/// What is incomplete in a file that was read.
#[derive(Debug, Default)]
pub(super) struct ReadLog {
    pub(super) name: String,
    skipped: u64,
    /// The first skipped part.
    first: Option<String>,
    /// The message for a file that ends within a row or block.
    pub(super) truncated: Option<String>,
}

impl ReadLog {
    /// Invalid lines or damaged blocks that were skipped.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Messages for the user.
    pub(super) fn notes(&self) -> impl Iterator<Item = String> {
        let skipped = self.first.as_ref().map(|first| {
            format!("{}: invalid parts skipped: {}; the first: {first}", self.name, self.skipped)
        });
        let truncated = self.truncated.as_ref().map(|why| format!("{}: {why}", self.name));
        skipped.into_iter().chain(truncated)
    }

    /// Handles the error of a reader; false if the reader cannot continue.
    fn survives(&mut self, error: LogError, skip: bool) -> Result<bool, LogError> {
        match error {
            LogError::Truncated { .. } => {
                self.truncated = Some(error.to_string());
                Ok(false)
            }
            error if skip && error.can_skip() => {
                self.skipped += 1;
                self.first.get_or_insert_with(|| error.to_string());
                Ok(true)
            }
            error => Err(error),
        }
    }
}

/// Reads a file.
pub(super) fn read(
    path: &Path,
    args: &LogArgs,
    to: &mut dyn LogVisitor,
) -> Result<ReadLog, ShowLogError> {
    let failed = |source| ShowLogError::Open { path: path.to_owned(), source };
    let source: Box<dyn Read> = match path.to_str() {
        Some("-") => Box::new(io::stdin()),
        _ => Box::new(File::open(path).map_err(failed)?),
    };
    let mut source = BufReader::with_capacity(BUFFER, source);
    let start = start_of(&mut source).map_err(failed)?;
    let mut file = OpenLog {
        path,
        args,
        to,
        read: ReadLog { name: path.display().to_string(), ..ReadLog::default() },
    };
    // The start was read already.
    let source = start.chain(source);
    let source = BufReader::with_capacity(BUFFER, source);
    let start = source.get_ref().get_ref().0.get_ref();
    match Format::of(start) {
        Format::Compact => file.compact(source)?,
        Format::Fz => file.fz(source)?,
        Format::Histogram => file.histogram(source)?,
        Format::Text => file.text(source)?,
    }
    Ok(file.read)
}

/// The first bytes of a file: at most a buffer.
fn start_of(source: &mut impl BufRead) -> io::Result<io::Cursor<Vec<u8>>> {
    let mut start = Vec::new();
    // A pipe returns less than a line at a time.
    while start.len() < BUFFER / 2 && !start.contains(&b'\n') {
        let part = source.fill_buf()?;
        if part.is_empty() {
            break;
        }
        start.extend_from_slice(part);
        let used = part.len();
        source.consume(used);
    }
    Ok(io::Cursor::new(start))
}

enum Format {
    Text,
    Histogram,
    Fz,
    Compact,
}

impl Format {
    fn of(start: &[u8]) -> Format {
        if start.starts_with(&COMPACT_MAGIC) {
            return Format::Compact;
        }
        // The header of a zlib stream (RFC 1950): method 8, and a multiple of 31.
        if let [method, flags, ..] = *start
            && method & 15 == 8
            && u16::from_be_bytes([method, flags]).is_multiple_of(31)
        {
            return Format::Fz;
        }
        let lines = start.split(|byte| *byte == b'\n');
        let line = lines.map(<[u8]>::trim_ascii).find(|line| !line.is_empty());
        let columns = line.map_or(0, |line| line.split(|byte| *byte == b',').count());
        if columns > ROW_COLUMNS { Format::Histogram } else { Format::Text }
    }
}

struct OpenLog<'a> {
    path: &'a Path,
    args: &'a LogArgs,
    to: &'a mut dyn LogVisitor,
    read: ReadLog,
}

const ONLY: LogIndex = LogIndex(0);

impl OpenLog<'_> {
    fn text(&mut self, source: impl BufRead) -> Result<(), ShowLogError> {
        let mut reader = TextReader::new(source);
        let columns = reader.columns().map_err(|error| self.failed(error))?;
        let definition = self.definition(columns, None)?;
        self.to.define(ONLY, &definition)?;
        loop {
            match reader.next_row() {
                Ok(Some(row)) => self.to.row(ONLY, &row)?,
                Ok(None) => return Ok(()),
                Err(error) => match self.survives(error)? {
                    true => {}
                    false => return Ok(()),
                },
            }
        }
    }

    fn histogram(&mut self, source: impl BufRead) -> Result<(), ShowLogError> {
        let mut reader = HistogramReader::new(source);
        let mut defined = false;
        loop {
            match reader.next_row() {
                Ok(Some(row)) => {
                    if !std::mem::replace(&mut defined, true) {
                        let definition =
                            self.definition(LogColumns::default(), row.coarseness())?;
                        self.to.define(ONLY, &definition)?;
                    }
                    self.to.histogram(ONLY, &row)?;
                }
                Ok(None) => return Ok(()),
                Err(error) => match self.survives(error)? {
                    true => {}
                    false => return Ok(()),
                },
            }
        }
    }

    fn fz(&mut self, source: impl BufRead) -> Result<(), ShowLogError> {
        let mut decoder = FzDecoder::new(source);
        let mut defined = false;
        loop {
            match decoder.next_row() {
                Ok(Some((row, columns))) => {
                    if !std::mem::replace(&mut defined, true) {
                        let definition = self.definition(columns, None)?;
                        if definition.kind == LogKind::Histogram {
                            return Err(ShowLogError::EmptyHistogram {
                                path: self.path.to_owned(),
                            });
                        }
                        self.to.define(ONLY, &definition)?;
                    }
                    self.to.row(ONLY, &row)?;
                }
                Ok(None) => return Ok(()),
                Err(error) => match self.survives(error)? {
                    true => {}
                    false => return Ok(()),
                },
            }
        }
    }

    fn compact(&mut self, source: impl BufRead) -> Result<(), ShowLogError> {
        let mut reader = CompactReader::new(source).map_err(|error| self.failed(error))?;
        let mut defined = 0;
        loop {
            let entry = reader.next_entry();
            while let Some(definition) = reader.definitions().get(defined) {
                self.to.define(LogIndex(defined as u32), definition)?;
                defined += 1;
            }
            match entry {
                Ok(Some(CompactEntry::Row(log, row))) => self.to.row(log, &row)?,
                Ok(Some(CompactEntry::Histogram(log, row))) => self.to.histogram(log, &row)?,
                Ok(None) => return Ok(()),
                Err(error) => match self.survives(error)? {
                    true => {}
                    false => return Ok(()),
                },
            }
        }
    }

    fn failed(&self, source: LogError) -> ShowLogError {
        ShowLogError::Read { path: self.path.to_owned(), source }
    }

    fn survives(&mut self, error: LogError) -> Result<bool, ShowLogError> {
        let skip = self.args.skip_invalid;
        self.read.survives(error, skip).map_err(|error| self.failed(error))
    }

    /// The definition of the only log of a file.
    fn definition(
        &self,
        columns: LogColumns,
        coarseness: Option<Coarseness>,
    ) -> Result<LogDefinition, ShowLogError> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let (prefix, named, thread) = parts_of(&name);
        let kind = match coarseness {
            Some(_) => Some(LogKind::Histogram),
            None => self.args.kind.or(named),
        };
        let unknown = || ShowLogError::UnknownKind { path: self.path.to_owned() };
        Ok(LogDefinition {
            name: prefix.to_owned(),
            thread,
            kind: kind.ok_or_else(unknown)?,
            columns,
            window_ms: 0,
            coarseness: coarseness.unwrap_or_default(),
        })
    }
}

/// The parts of a log's file name: `job_clat.2.log` is the completion latency log of `job`, thread 2.
pub(super) fn parts_of(name: &str) -> (&str, Option<LogKind>, u32) {
    let stem = name.strip_suffix(".fz").unwrap_or(name);
    let stem = stem.strip_suffix(".log").unwrap_or(stem);
    let (stem, thread) = match stem.rsplit_once('.') {
        Some((before, number)) => match number.parse() {
            Ok(thread) => (before, thread),
            Err(_) => (stem, 0),
        },
        None => (stem, 0),
    };
    let found = LogKind::ALL
        .into_iter()
        .find_map(|kind| Some((stem.strip_suffix(kind.name())?.strip_suffix('_')?, kind)));
    match found {
        Some((prefix, kind)) => (prefix, Some(kind), thread),
        None => (stem, None, thread),
    }
}
