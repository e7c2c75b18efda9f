//! Lines of a source, with their numbers and in bounded memory.

use std::io::BufRead;

use super::error::shortened;
use super::{LineProblem, LogError};

/// Reads lines.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    source: R,
    /// Lines read so far.
    number: u64,
    line: Vec<u8>,
    /// The longest line in bytes.
    most: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(source: R, most: usize) -> Self {
        Lines { source, number: 0, line: Vec::new(), most }
    }

    /// The next line that is not empty, without its end, and its number from 1.
    ///
    /// # Errors
    /// The source cannot be read, or the line is too long; the next call then continues with the next line.
    pub(crate) fn next_line(&mut self) -> Result<Option<(u64, &[u8])>, LogError> {
        loop {
            self.line.clear();
            let whole = self.read_line()?;
            if self.line.is_empty() && !whole {
                return Ok(None);
            }
            self.number += 1;
            if self.line.len() > self.most {
                let problem = LineProblem::TooLong(self.most);
                return Err(line_error(self.number, &self.line, problem));
            }
            if !self.line.trim_ascii().is_empty() {
                break;
            }
        }
        Ok(Some((self.number, self.line.trim_ascii())))
    }

    /// Reads to the end of the line. It keeps at most one byte more than the longest line has. False at the end of the
    /// source.
    fn read_line(&mut self) -> Result<bool, LogError> {
        loop {
            let bytes = match self.source.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error.into()),
            };
            if bytes.is_empty() {
                return Ok(false);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            let room = (self.most + 1).saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let used = part.len() + usize::from(end.is_some());
            self.source.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }
}

/// The error for a line.
pub(crate) fn line_error(number: u64, line: &[u8], problem: LineProblem) -> LogError {
    LogError::Line { number, text: shortened(line), problem }
}

/// The columns of a line: fio separates them with a comma and a blank.
pub(crate) fn columns(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// The number in a column; `column` counts from 1.
pub(crate) fn number(text: &[u8], column: usize) -> Result<u64, LineProblem> {
    let mut value = 0u64;
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        let next = value.checked_mul(10).and_then(|tens| tens.checked_add(digit.into()));
        match next {
            Some(next) if digit < 10 => value = next,
            _ => return Err(LineProblem::NotANumber { column, text: shortened(text) }),
        }
    }
    match text.is_empty() {
        true => Err(LineProblem::NotANumber { column, text: String::new() }),
        false => Ok(value),
    }
}
