//! Reading of rows.

use std::collections::VecDeque;
use std::io::BufRead;

use super::form::{Form, Inference, Numbers};
use crate::lines::Lines;
use crate::log::lines::{line_error, whole};
use crate::log::{LogColumns, LogError, LogRow};

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
        TextReader { lines: Lines::new(source), form: None, ahead: VecDeque::new(), line: 0 }
    }

    /// The next row; `None` at the end. After an error in a line, the next call continues with the next line.
    ///
    /// # Errors
    /// The source cannot be read, or a line is not a row.
    pub fn next_row(&mut self) -> Result<Option<LogRow>, LogError> {
        let form = self.form()?;
        if let Some(next) = self.ahead.pop_front() {
            let (number, line) = next?;
            self.line = number;
            return row(form, number, &line).map(Some);
        }
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            self.line = number;
            let line = whole(number, line)?;
            if !line.is_empty() {
                return row(form, number, line).map(Some);
            }
        }
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
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { break };
            let line = whole(number, line);
            if let Ok(line) = line {
                if line.is_empty() {
                    continue;
                }
                if Numbers::read(line).is_ok_and(|numbers| inference.consider(&numbers)) {
                    self.form = inference.form();
                }
            }
            self.ahead.push_back(line.map(|line| (number, line.to_vec())));
        }
        if self.form.is_none() {
            self.form = inference.form();
        }
        Ok(self.form)
    }
}

/// Reads a row. `form` is unknown if no line before it was one.
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
