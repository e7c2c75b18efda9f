//! Writing of rows.

use crate::log::{LogColumns, LogRow};

/// Room for a text that is kept between rows.
const PART: usize = 40;
/// Such a text is copied in one step if it is at most this long. Nearly all are.
const SHORT_PART: usize = 16;
/// Room for a number: its digits are written in up to three steps of eight.
const NUMBER: usize = 24;
/// Room for a row with a value between two such texts.
const SHORT: usize = 2 * PART + NUMBER;
/// Bytes that [`RowWriter::push_all`] collects before it appends them to its output.
const CHUNK: usize = 4096;
/// Room for the longest row: three texts, four numbers and their separators.
const LONG: usize = 3 * PART + 4 * (NUMBER + 2);

/// Writes rows as text.
///
/// Most rows differ from the row before them only in the value. So the writer keeps the other texts. It writes a row from
/// its start to its end with stores of fixed lengths: to read back what was just written in smaller pieces would stall
/// the CPU.
#[derive(Debug, Clone)]
pub struct RowWriter {
    columns: LogColumns,
    /// The time and a separator.
    time: Part,
    time_ms: u64,
    /// Direction and block size, in a log with columns that differ from row to row. Otherwise all that follows the value.
    middle: Part,
    /// Priority, in a log with columns that differ from row to row.
    priority: Part,
    /// Direction, block size and priority of these texts; the direction is 3 before the first row.
    last: (u8, u64, u16),
}

/// A text that is kept between rows.
#[derive(Debug, Clone, Copy)]
struct Part {
    text: [u8; PART],
    length: usize,
}

impl Part {
    const EMPTY: Part = Part { text: [0; PART], length: 0 };

    /// Writes the text from `at` on; returns where it ends.
    #[inline]
    fn put(&self, room: &mut [u8], at: usize) -> usize {
        if self.length <= SHORT_PART {
            room[at..at + SHORT_PART].copy_from_slice(&self.text[..SHORT_PART]);
        } else {
            room[at..at + PART].copy_from_slice(&self.text);
        }
        at + self.length
    }
}

impl RowWriter {
    /// A writer of a log with these columns.
    #[must_use]
    pub fn new(columns: LogColumns) -> Self {
        let (time, middle, priority) = (Part::EMPTY, Part::EMPTY, Part::EMPTY);
        RowWriter { columns, time, time_ms: 0, middle, priority, last: (3, 0, 0) }
    }

    /// Appends a row to `out`. Columns that the log does not have are left out; those that the row lacks are 0.
    pub fn push(&mut self, row: &LogRow, out: &mut Vec<u8>) {
        self.push_rows::<SHORT>(std::iter::once(*row), out);
    }

    /// Appends many rows to `out`, as [`RowWriter::push`] does with each of them, but faster.
    #[inline]
    pub fn push_all(&mut self, rows: impl IntoIterator<Item = LogRow>, out: &mut Vec<u8>) {
        self.push_rows::<CHUNK>(rows, out);
    }

    /// Appends rows. `ROOM`: bytes that it collects before it appends them.
    #[inline(always)]
    fn push_rows<const ROOM: usize>(
        &mut self,
        rows: impl IntoIterator<Item = LogRow>,
        out: &mut Vec<u8>,
    ) {
        let varies = self.varies();
        let mut chunk = [0; ROOM];
        let mut end = 0;
        for row in rows {
            let last = (row.dir as u8, row.block.0, row.priority);
            if self.time_ms != row.time_ms || self.last != last {
                self.set_parts(&row);
            }
            if varies {
                self.push_varying(&row, out);
                continue;
            }
            if end > ROOM - SHORT {
                out.extend_from_slice(&chunk[..end]);
                end = 0;
            }
            let room = &mut chunk[end..end + SHORT];
            let at = self.time.put(room, 0);
            let at = put_number(room, at, row.value);
            end += self.middle.put(room, at);
        }
        out.extend_from_slice(&chunk[..end]);
    }

    #[must_use]
    pub fn columns(&self) -> LogColumns {
        self.columns
    }

    /// Whether columns after the value differ from row to row.
    #[inline]
    fn varies(&self) -> bool {
        self.columns.both || self.columns.offset || self.columns.issue_time
    }

    #[inline(never)]
    fn push_varying(&self, row: &LogRow, out: &mut Vec<u8>) {
        let columns = self.columns;
        let start = out.len();
        out.extend_from_slice(&[0; LONG]);
        let room = &mut out[start..start + LONG];
        let mut at = self.time.put(room, 0);
        at = put_number(room, at, row.value);
        if columns.both {
            at = put_column(room, at, row.maximum.unwrap_or_default());
        }
        at = self.middle.put(room, at);
        if columns.offset {
            at = put_column(room, at, row.offset.unwrap_or_default().0);
        }
        at = self.priority.put(room, at);
        if columns.issue_time {
            at = put_column(room, at, row.issue_time.unwrap_or_default().0);
        }
        room[at] = b'\n';
        out.truncate(start + at + 1);
    }

    /// Writes the texts of a row that differs from the one before it in more than the value.
    #[inline(never)]
    fn set_parts(&mut self, row: &LogRow) {
        let mut room = [0; LONG];
        let at = put_number(&mut room, 0, row.time_ms);
        self.time.length = put_separator(&mut room, at);
        self.time.text.copy_from_slice(&room[..PART]);

        let at = put_column(&mut room, 0, row.dir as u64);
        let middle = put_column(&mut room, at, row.block.0);
        let mut at = match self.columns.priority {
            true => put_priority(&mut room, middle, row.priority),
            false => put_column(&mut room, middle, row.is_real_time().into()),
        };
        self.priority.length = at - middle;
        self.priority.text.copy_from_slice(&room[middle..middle + PART]);
        self.middle.length = middle;
        if !self.varies() {
            room[at] = b'\n';
            at += 1;
            self.middle.length = at;
        }
        self.middle.text.copy_from_slice(&room[..PART]);
        (self.time_ms, self.last) = (row.time_ms, (row.dir as u8, row.block.0, row.priority));
    }
}

/// Writes a separator and a number from `at` on; returns where they end.
#[inline]
fn put_column(room: &mut [u8], at: usize, value: u64) -> usize {
    let at = put_separator(room, at);
    put_number(room, at, value)
}

#[inline]
fn put_separator(room: &mut [u8], at: usize) -> usize {
    room[at..at + 2].copy_from_slice(b", ");
    at + 2
}

fn put_priority(room: &mut [u8], at: usize, priority: u16) -> usize {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let at = put_separator(room, at);
    let digit = |shift: u32| DIGITS[usize::from(priority >> shift & 0xf)];
    room[at..at + 6].copy_from_slice(&[b'0', b'x', digit(12), digit(8), digit(4), digit(0)]);
    at + 6
}

/// Numbers below this one have at most eight digits.
const EIGHT: u64 = 100_000_000;

/// Writes a number from `at` on; returns where it ends. It may overwrite up to `NUMBER` bytes.
#[inline]
fn put_number(room: &mut [u8], at: usize, value: u64) -> usize {
    if value < EIGHT {
        return put_first_digits(room, at, value);
    }
    let rest = value / EIGHT;
    let at = match rest < EIGHT {
        true => put_first_digits(room, at, rest),
        false => {
            let at = put_first_digits(room, at, rest / EIGHT);
            put_eight_digits(room, at, rest % EIGHT)
        }
    };
    put_eight_digits(room, at, value % EIGHT)
}

/// Writes a number below `EIGHT` without zeros in front.
#[inline]
fn put_first_digits(room: &mut [u8], at: usize, value: u64) -> usize {
    let digits = digits_of(value);
    // The last digit is written even if it is 0.
    let zeros = (digits | 1 << 56).trailing_zeros() & !7;
    let text = (digits | ZEROS) >> zeros;
    room[at..at + 8].copy_from_slice(&text.to_le_bytes());
    at + 8 - zeros as usize / 8
}

#[inline]
fn put_eight_digits(room: &mut [u8], at: usize, value: u64) -> usize {
    room[at..at + 8].copy_from_slice(&(digits_of(value) | ZEROS).to_le_bytes());
    at + 8
}

/// The digit 0 in each byte.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// The eight digits of a number below `EIGHT`, one in each byte, the first digit in the lowest byte. It divides all
/// parts of the number at once.
#[inline]
fn digits_of(value: u64) -> u64 {
    // Two numbers of four digits, then four of two, then eight of one.
    let fours = (value / 10_000) | ((value % 10_000) << 32);
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - hundreds * 100) << 16);
    let tens = ((twos * 103) >> 10) & 0x0f_000f_000f_000f;
    tens | ((twos - tens * 10) << 8)
}

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, Dir};
    use proptest::prelude::*;

    use super::*;
    use crate::log::REAL_TIME;

    fn text_of(value: u64) -> String {
        let mut room = [0; NUMBER];
        let end = put_number(&mut room, 0, value);
        String::from_utf8_lossy(&room[..end]).into_owned()
    }

    #[test]
    fn powers_of_ten_and_their_neighbours_have_their_digits() {
        for power in 0..20 {
            let power = 10u64.pow(power);
            for value in [power - 1, power, power + 1, power.wrapping_mul(9)] {
                assert_eq!(text_of(value), value.to_string());
            }
        }
        assert_eq!(text_of(u64::MAX), u64::MAX.to_string());
        (0..20_000).for_each(|value| assert_eq!(text_of(value), value.to_string()));
    }

    #[test]
    fn many_rows_at_once_are_the_rows_one_by_one() {
        let row = |n: u64| LogRow {
            time_ms: (n / 7).pow(6),
            value: n.pow(6),
            block: Bytes(if n.is_multiple_of(900) { u64::MAX } else { 4096 }),
            priority: if n % 400 == 1 { REAL_TIME } else { 0 },
            ..LogRow::new(if n % 50 < 40 { Dir::Read } else { Dir::Write })
        };
        for columns in [LogColumns::default(), LogColumns { offset: true, ..Default::default() }] {
            let (mut one, mut all) = (Vec::new(), Vec::new());
            let mut writer = RowWriter::new(columns);
            (0..1500).for_each(|n| writer.push(&row(n), &mut one));
            RowWriter::new(columns).push_all((0..1500).map(row), &mut all);
            assert_eq!(String::from_utf8(all).unwrap(), String::from_utf8(one).unwrap());
        }
    }

    proptest! {
        #[test]
        fn numbers_have_their_digits(value: u64, shift in 0u32..64) {
            prop_assert_eq!(text_of(value >> shift), (value >> shift).to_string());
        }
    }
}
