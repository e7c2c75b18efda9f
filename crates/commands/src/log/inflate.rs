//! `--inflate-log`: prints a compressed log as text.

use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::Path;

use fiord_formats::log::fz::FzDecoder;
use fiord_formats::log::text::RowWriter;
use fiord_formats::log::{LogColumns, LogError};

use super::ShowLogError;
use crate::session::CannotPrint;

/// Bytes that are collected before they are written.
const BUFFER: usize = 64 << 10;

/// Prints the rows of a log, each with the columns that it has. After a damaged or truncated part it has printed the
/// rows before it.
///
/// # Errors
/// The file cannot be opened or read, or is damaged or truncated; the rows cannot be written.
pub fn inflate(path: &Path, out: &mut dyn Write) -> Result<(), ShowLogError> {
    let file =
        File::open(path).map_err(|source| ShowLogError::Open { path: path.to_owned(), source })?;
    let mut decoder = FzDecoder::new(BufReader::with_capacity(BUFFER, file));
    let mut text = Vec::with_capacity(BUFFER);
    let mut writer = (LogColumns::default(), RowWriter::new(LogColumns::default()));
    loop {
        let row = match decoder.next_row() {
            Ok(Some((row, columns))) => {
                if columns != writer.0 {
                    writer = (columns, RowWriter::new(columns));
                }
                writer.1.push(&row, &mut text);
                if text.len() < BUFFER {
                    continue;
                }
                Ok(true)
            }
            Ok(None) => Ok(false),
            Err(error) => Err(error),
        };
        match out.write_all(&text) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
            other => other.map_err(CannotPrint)?,
        }
        text.clear();
        if !row.map_err(|source: LogError| ShowLogError::Read { path: path.to_owned(), source })? {
            return Ok(());
        }
    }
}
