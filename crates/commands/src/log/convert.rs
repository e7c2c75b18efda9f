//! Conversion of logs between formats.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fiord_formats::log::LogRow;
use fiord_formats::log::compact::{CompactWriter, LogDefinition, LogIndex};
use fiord_formats::log::fz::FzEncoder;
use fiord_formats::log::histogram::{self, HistogramRow};
use fiord_formats::log::text::RowWriter;
use fiord_sys::file::{FileGuard, RowFile};

use super::args::{LogArgs, LogTarget};
use super::error::ShowLogError;
use super::source::{self, LogVisitor, ReadLog};
use crate::session::{CannotPrint, Session};

/// Bytes that are collected before they are written.
const BUFFER: usize = 256 << 10;
/// Compressed bytes that end a stream.
const STREAM: usize = 1 << 20;

/// Converts the logs.
pub(super) fn convert(
    args: &LogArgs,
    target: LogTarget,
    session: &mut Session,
) -> Result<Vec<ReadLog>, ShowLogError> {
    match target {
        LogTarget::Compact => {
            let path = args.output.as_ref().ok_or(ShowLogError::NoOutput("FILE"))?;
            let mut compact = Compact::create(path)?;
            let read = read_all(args, &mut compact, |compact| compact.logs.clear())?;
            compact.finish()?;
            Ok(read)
        }
        LogTarget::Text | LogTarget::Fz => {
            let mut files = Files {
                fz: target == LogTarget::Fz,
                directory: args.output.clone(),
                session,
                logs: Vec::new(),
                written: BTreeMap::new(),
            };
            let read = read_all(args, &mut files, |files| files.logs.clear())?;
            files.finish()?;
            Ok(read)
        }
    }
}

fn read_all<V: LogVisitor>(
    args: &LogArgs,
    visitor: &mut V,
    next_file: impl Fn(&mut V),
) -> Result<Vec<ReadLog>, ShowLogError> {
    let mut read = Vec::new();
    for path in &args.files {
        next_file(visitor);
        read.push(source::read(path, args, visitor)?);
    }
    Ok(read)
}

/// Creates or replaces a file that the user named.
fn create(path: &Path) -> Result<File, ShowLogError> {
    let created = FileGuard::typed().replace(path);
    created.map_err(|error| ShowLogError::Write { path: path.to_owned(), source: error.into() })
}

/// Writes a whole file.
pub(super) fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ShowLogError> {
    let written = create(path)?.write_all(bytes);
    written.map_err(|source| ShowLogError::Write { path: path.to_owned(), source })
}

/// A compact file.
struct Compact {
    path: PathBuf,
    file: File,
    writer: CompactWriter,
    /// For each log of the current source, its index in the file.
    logs: Vec<LogIndex>,
    buffer: Vec<u8>,
}

impl Compact {
    fn create(path: &Path) -> Result<Compact, ShowLogError> {
        let mut buffer = Vec::new();
        let writer = CompactWriter::new(&mut buffer);
        Ok(Compact { path: path.to_owned(), file: create(path)?, writer, logs: Vec::new(), buffer })
    }

    fn write_ready(&mut self) -> Result<(), ShowLogError> {
        if self.writer.ready_bytes() > BUFFER {
            self.writer.take_ready(&mut self.buffer);
            return self.write();
        }
        Ok(())
    }

    fn write(&mut self) -> Result<(), ShowLogError> {
        let written = self.file.write_all(&self.buffer);
        self.buffer.clear();
        written.map_err(|source| ShowLogError::Write { path: self.path.clone(), source })
    }

    fn finish(mut self) -> Result<(), ShowLogError> {
        self.writer.flush(&mut self.buffer);
        self.write()
    }
}

impl LogVisitor for Compact {
    fn define(&mut self, _: LogIndex, definition: &LogDefinition) -> Result<(), ShowLogError> {
        self.logs.push(self.writer.define(definition));
        Ok(())
    }
    fn row(&mut self, log: LogIndex, row: &LogRow) -> Result<(), ShowLogError> {
        self.writer.push(self.logs[log.0 as usize], row);
        self.write_ready()
    }
    fn histogram(&mut self, log: LogIndex, row: &HistogramRow) -> Result<(), ShowLogError> {
        self.writer.push_histogram(self.logs[log.0 as usize], row);
        self.write_ready()
    }
}

/// One file for each log, in fio's formats. Without a directory, rows go to standard output.
struct Files<'a, 'b> {
    fz: bool,
    directory: Option<PathBuf>,
    session: &'a mut Session<'b>,
    /// The logs of the current source.
    logs: Vec<PathBuf>,
    written: BTreeMap<PathBuf, Written>,
}

struct Written {
    /// `None`: standard output.
    file: Option<RowFile>,
    rows: Rows,
    buffer: Vec<u8>,
}

enum Rows {
    Text(RowWriter),
    Fz(FzEncoder),
}

impl Files<'_, '_> {
    fn put(&mut self, log: LogIndex, put: impl FnOnce(&mut Written)) -> Result<(), ShowLogError> {
        let path = &self.logs[log.0 as usize];
        let Some(written) = self.written.get_mut(path) else { return Ok(()) };
        put(written);
        if let Rows::Fz(encoder) = &mut written.rows
            && encoder.compressed() > STREAM
        {
            encoder.finish_stream(&mut written.buffer);
        }
        match written.buffer.len() > BUFFER {
            true => write_out(path, written, self.session),
            false => Ok(()),
        }
    }

    fn finish(mut self) -> Result<(), ShowLogError> {
        for (path, written) in &mut self.written {
            if let Rows::Fz(encoder) = &mut written.rows {
                encoder.finish_stream(&mut written.buffer);
            }
            write_out(path, written, self.session)?;
        }
        Ok(())
    }
}

fn write_out(
    path: &Path,
    written: &mut Written,
    session: &mut Session,
) -> Result<(), ShowLogError> {
    let buffer = std::mem::take(&mut written.buffer);
    match &mut written.file {
        Some(file) => match written.rows {
            Rows::Text(_) => file.write_lines(&buffer),
            Rows::Fz(_) => file.write_part(&buffer),
        }
        .map_err(|source| ShowLogError::Write { path: path.to_owned(), source }),
        None => match session.out.write_all(&buffer) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(CannotPrint(error).into())
            }
            _ => Ok(()),
        },
    }
}

impl LogVisitor for Files<'_, '_> {
    fn define(&mut self, _: LogIndex, definition: &LogDefinition) -> Result<(), ShowLogError> {
        // A name in a compact file must not lead out of the directory.
        let mut name = definition.file_name().replace('/', ".");
        if self.fz {
            name.push_str(".fz");
        }
        let path = match &self.directory {
            Some(directory) => directory.join(&name),
            None if self.fz => return Err(ShowLogError::NoOutput("DIRECTORY")),
            None => PathBuf::from(&name),
        };
        if self.written.contains_key(&path) {
            return Err(ShowLogError::Twice { path });
        }
        if self.directory.is_none() && !self.written.is_empty() {
            return Err(ShowLogError::NoOutput("DIRECTORY"));
        }
        let failed = |error: fiord_sys::Error| ShowLogError::Write {
            path: path.clone(),
            source: error.into(),
        };
        let rows = |file| RowFile::new(file).map_err(failed);
        let file = self.directory.is_some().then(|| create(&path).and_then(rows)).transpose()?;
        let rows = match self.fz {
            true => Rows::Fz(FzEncoder::new(definition.columns)),
            false => Rows::Text(RowWriter::new(definition.columns)),
        };
        self.written.insert(path.clone(), Written { file, rows, buffer: Vec::new() });
        self.logs.push(path);
        Ok(())
    }

    fn row(&mut self, log: LogIndex, row: &LogRow) -> Result<(), ShowLogError> {
        self.put(log, |written| match &mut written.rows {
            Rows::Text(writer) => writer.push(row, &mut written.buffer),
            Rows::Fz(encoder) => encoder.push(row),
        })
    }

    fn histogram(&mut self, log: LogIndex, row: &HistogramRow) -> Result<(), ShowLogError> {
        if self.fz {
            let name = self.logs[log.0 as usize].display().to_string();
            return Err(ShowLogError::HistogramInFz { name });
        }
        self.put(log, |written| histogram::write_row(row, &mut written.buffer))
    }
}
