//! Lines of a log and their columns.

use super::error::shortened;
use super::{LineProblem, LogError};
use crate::lines::{MAX_LINE, TextLine};

/// A line without white space around it.
///
/// # Errors
/// It is too long.
pub(crate) fn whole(number: u64, line: TextLine<'_>) -> Result<&[u8], LogError> {
    match line {
        TextLine::Whole(line) => Ok(line.trim_ascii()),
        TextLine::TooLong(start) => Err(line_error(number, start, LineProblem::TooLong(MAX_LINE))),
    }
}

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
