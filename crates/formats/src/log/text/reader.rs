//! Reading of rows.

use std::collections::VecDeque;
use std::io::BufRead;

use super::form::{Form, Inference, Numbers};
use crate::log::lines::{Lines, line_error};
use crate::log::{LogColumns, LogError, LogRow};

/// The longest line in bytes.
const LINE: usize = 4096;
/// Rows that the reader looks at to infer the columns.
const AHEAD: usize = 4096;

/// Reads the rows of a text log.
#[derive(Debug)]
pub struct TextReader<R> {
    lines: Lines<R>,
    /// Known after the first rows.
    form: Option<Form>,
    /// Rows that were read to infer the columns, with the number and the text of their lines.
    ahead: VecDeque<Result<(u64, Vec<u8>), LogError>>,
    line: u64,
}

impl<R: BufRead> TextReader<R> {
    /// A reader of a log. It reads nothing yet.
    pub fn new(source: R) -> Self {
        TextReader { lines: Lines::new(source, LINE), form: None, ahead: VecDeque::new(), line: 0 }
    }

    /// The next row; `None` at the end. After an error in a line, the next call continues with the next line.
    ///
    /// # Errors
    /// The source cannot be read, or a line is not a row.
    pub fn next_row(&mut self) -> Result<Option<LogRow>, LogError> {
        let form = self.form()?;
        let (number, line) = match self.ahead.pop_front() {
            Some(next) => {
                let (number, line) = next?;
                self.line = number;
                return Self::row(form, number, &line).map(Some);
            }
            None => match self.lines.next_line()? {
                Some(next) => next,
                None => return Ok(None),
            },
        };
        self.line = number;
        Self::row(form, number, line).map(Some)
    }

    /// The columns of the log.
    ///
    /// # Errors
    /// The source cannot be read.
    pub fn columns(&mut self) -> Result<LogColumns, LogError> {
        Ok(self.form()?.map(|form| form.columns).unwrap_or_default())
    }

    /// Number of the line of the last row, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The form of the log; `None` if it has no row.
    fn form(&mut self) -> Result<Option<Form>, LogError> {
        let mut inference = Inference::default();
        while self.form.is_none() && self.ahead.len() < AHEAD {
            let line = match self.lines.next_line() {
                Ok(Some((number, line))) => {
                    if Numbers::read(line).is_ok_and(|numbers| inference.consider(&numbers)) {
                        self.form = inference.form();
                    }
                    Ok((number, line.to_vec()))
                }
                Ok(None) => break,
                Err(error @ LogError::Read(_)) => return Err(error),
                Err(error) => Err(error),
            };
            self.ahead.push_back(line);
        }
        if self.form.is_none() {
            self.form = inference.form();
        }
        Ok(self.form)
    }

    fn row(form: Option<Form>, number: u64, line: &[u8]) -> Result<LogRow, LogError> {
        let row = Numbers::read(line).and_then(|numbers| {
            let form = form.or_else(|| {
                let mut inference = Inference::default();
                inference.consider(&numbers);
                inference.form()
            });
            form.unwrap_or_default().row(&numbers)
        });
        row.map_err(|problem| line_error(number, line, problem))
    }
}
