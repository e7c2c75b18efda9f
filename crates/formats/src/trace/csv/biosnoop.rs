//! The text of `biosnoop` from BCC and its libbpf tools.

use fiord_types::Nanos;

use super::field::{decimal_time, letters, number, range};
use super::row::CsvRow;
use crate::trace::error::RowProblem;

/// Maximum number of columns of a header.
const MAX_COLUMNS: usize = 16;
/// Added to times, because an I/O can be older than the start of the trace.
const BEFORE: Nanos = Nanos::from_secs(1 << 32);

/// Where the columns are. A name of a process can contain blanks, so columns after it count from the end of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::trace) struct Biosnoop {
    columns: usize,
    time: usize,
    time_unit: Nanos,
    name: usize,
    disk: usize,
    letters: usize,
    sector: usize,
    bytes: usize,
    latency: Option<(usize, Nanos)>,
    queued: Option<(usize, Nanos)>,
}

impl Biosnoop {
    /// The columns that a line names; `None` if it is not the header of biosnoop.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let words: Vec<&[u8]> = words(line).take(MAX_COLUMNS + 1).collect();
        let find = |name: &[u8]| words.iter().position(|word| *word == name);
        // A column with its unit, such as `LAT(ms)`.
        let timed = |name: &[u8]| {
            let unit = |word: &[u8]| match word.strip_prefix(name)? {
                b"(s)" => Some(Nanos::from_secs(1)),
                b"(ms)" => Some(Nanos::from_millis(1)),
                b"(us)" => Some(Nanos::from_micros(1)),
                b"(ns)" => Some(Nanos(1)),
                _ => None,
            };
            words.iter().enumerate().find_map(|(at, word)| Some((at, unit(word)?)))
        };
        let (time, time_unit) = timed(b"TIME")?;
        let name = find(b"COMM")?;
        let columns = Biosnoop {
            columns: words.len(),
            time,
            time_unit,
            name,
            disk: find(b"DISK")?,
            letters: find(b"T")?,
            sector: find(b"SECTOR")?,
            bytes: find(b"BYTES")?,
            latency: timed(b"LAT"),
            queued: timed(b"QUE"),
        };
        (words.len() <= MAX_COLUMNS).then_some(columns)
    }

    pub(super) fn row<'a>(&self, line: &'a [u8]) -> Result<CsvRow<'a>, RowProblem> {
        let (mut found, mut count) = ([&b""[..]; MAX_COLUMNS], 0);
        for word in words(line).take(self.name) {
            found[count] = word;
            count += 1;
        }
        let after = self.columns - self.name - 1;
        let total = words(line).count();
        if total < self.columns {
            return Err(RowProblem::Columns { expected: self.columns });
        }
        for (column, word) in words(line).skip(total - after).enumerate() {
            found[self.name + 1 + column] = word;
        }

        let completed = decimal_time(found[self.time], self.time_unit, "TIME")?;
        let timed = |column: Option<(usize, Nanos)>, field| {
            column.map(|(at, unit)| decimal_time(found[at], unit, field)).transpose()
        };
        let (latency, queued) = (timed(self.latency, "LAT")?, timed(self.queued, "QUE")?);
        let latency = match (latency, queued) {
            (Some(latency), Some(queued)) => Some(latency.saturating_add(queued)),
            (latency, queued) => latency.or(queued),
        };
        let offset = number(found[self.sector], "SECTOR")?.checked_mul(512);
        let (offset, len) = range(offset, Some(number(found[self.bytes], "BYTES")?))?;
        let (kind, flags) = letters(found[self.letters], len).ok_or(RowProblem::Action)?;
        let issued =
            completed.saturating_add(BEFORE).saturating_sub(latency.unwrap_or(Nanos::ZERO));
        let volume = (found[self.disk], &b""[..]);
        Ok(CsvRow { issued, volume, kind, offset, len, flags, latency })
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}
