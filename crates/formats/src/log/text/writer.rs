//! Writing of rows.

use crate::log::{LogColumns, LogRow};

/// The longest number in digits.
const NUMBER: usize = 20;
/// The time and what separates it from the value, padded to a length that is cheap to copy.
const TIME: usize = 24;
/// Room for the longest row: five numbers, the time, the direction, the priority and separators.
const ROW: usize = 192;

/// Writes rows as text.
///
/// Most rows differ from the row before them only in the value. So the writer keeps the text of a row: the time in
/// front, the columns after the value behind, and the value is written backwards between them.
#[derive(Debug, Clone)]
pub struct RowWriter {
    columns: LogColumns,
    /// Some columns after the value differ from row to row.
    varying: bool,
    /// The end of this array is the text after the value of the last row.
    row: [u8; ROW],
    /// Where the text after the value begins.
    tail: usize,
    /// Direction, block size and priority of the last row.
    last: (u8, u64, u16),
    /// The end of this array is the time of the last row, with its separator.
    time: [u8; TIME],
    /// Length of that text; 0 before the first row.
    time_length: usize,
    time_ms: u64,
}

impl RowWriter {
    /// A writer of a log with these columns.
    #[must_use]
    pub fn new(columns: LogColumns) -> Self {
        RowWriter {
            columns,
            varying: columns.both || columns.offset || columns.issue_time,
            row: [0; ROW],
            tail: 0,
            last: (u8::MAX, 0, 0),
            time: [0; TIME],
            time_length: 0,
            time_ms: 0,
        }
    }

    /// Appends a row to `out`. Columns that the log does not have are left out; those that the row lacks are 0.
    #[inline]
    pub fn push(&mut self, row: &LogRow, out: &mut Vec<u8>) {
        if self.time_ms != row.time_ms || self.time_length == 0 {
            self.set_time(row.time_ms);
        }
        if self.varying || self.last != (row.dir as u8, row.block.0, row.priority) {
            self.set_tail(row);
        }
        let value = put_before(&mut self.row, self.tail, row.value);
        self.row[value - TIME..value].copy_from_slice(&self.time);
        out.extend_from_slice(&self.row[value - self.time_length..]);
    }

    #[cold]
    fn set_time(&mut self, time_ms: u64) {
        self.time[TIME - 2..].copy_from_slice(b", ");
        let start = put_before(&mut self.time, TIME - 2, time_ms);
        self.time_ms = time_ms;
        self.time_length = TIME - start;
    }

    fn set_tail(&mut self, row: &LogRow) {
        let columns = self.columns;
        let text = &mut self.row;
        let mut at = ROW - 1;
        text[at] = b'\n';
        if columns.issue_time {
            at = put_column(text, at, row.issue_time.unwrap_or_default().0);
        }
        at = match columns.priority {
            true => put_priority(text, at, row.priority),
            false => put_column(text, at, row.is_real_time().into()),
        };
        if columns.offset {
            at = put_column(text, at, row.offset.unwrap_or_default().0);
        }
        at = put_column(text, at, row.block.0);
        at = put_column(text, at, row.dir as u64);
        if columns.both {
            at = put_column(text, at, row.maximum.unwrap_or_default());
        }
        self.tail = at;
        self.last = (row.dir as u8, row.block.0, row.priority);
    }
}

/// Writes a separator and a number so that they end before `end`; returns where they begin.
fn put_column(text: &mut [u8; ROW], end: usize, value: u64) -> usize {
    let at = put_before(text, end, value);
    put_separator(text, at)
}

fn put_priority(text: &mut [u8; ROW], end: usize, priority: u16) -> usize {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |shift: u32| DIGITS[usize::from(priority >> shift & 0xf)];
    text[end - 6..end].copy_from_slice(&[b'0', b'x', digit(12), digit(8), digit(4), digit(0)]);
    put_separator(text, end - 6)
}

fn put_separator(text: &mut [u8; ROW], end: usize) -> usize {
    text[end - 2..end].copy_from_slice(b", ");
    end - 2
}

/// The numbers from 0 to 99 as two digits.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut i = 0;
    while i < 100 {
        pairs[i] = [b'0' + i as u8 / 10, b'0' + i as u8 % 10];
        i += 1;
    }
    pairs
};

/// Writes a number so that it ends before `end`; returns where it begins.
#[inline]
fn put_before(text: &mut [u8], end: usize, value: u64) -> usize {
    let (mut at, mut rest) = (end, value);
    debug_assert!(at >= NUMBER);
    while rest >= 100 {
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest >= 10 {
        at -= 2;
        text[at..at + 2].copy_from_slice(&PAIRS[rest as usize]);
    } else {
        at -= 1;
        text[at] = b'0' + rest as u8;
    }
    at
}
