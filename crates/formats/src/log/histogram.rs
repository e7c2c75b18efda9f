//! Rows of a histogram log (`write_hist_log`): how many I/Os of a direction had which completion latency in a window.
//!
//! A row is `time, direction, block size, bin 0, bin 1, …`, with a comma and a blank between columns. Without
//! coarseness there are 1856 bins: 29 groups of 64. Bin `i` below 128 has the latencies of `i` nanoseconds. In group
//! `g = i / 64` from 2 on, each bin is `2^(g - 1)` nanoseconds wide, and the group begins at `2^(g + 5)`. A coarseness of
//! `c` merges `2^c` neighbouring bins.

use std::io::BufRead;

use fiord_types::{Bytes, Dir, Nanos};

use super::lines::{columns, line_error, number, whole};
use super::{LineProblem, LogError, direction};
use crate::lines::Lines;

/// Bins of a histogram without coarseness.
pub const BINS: usize = 1856;
const BINS_OF_A_GROUP: usize = 64;
/// Columns before the first bin.
const BEFORE: usize = 3;
const EXPECTED: &str = "3 and 1856, 928, 464, 232, 116, 58 or 29 bins";

/// How many neighbouring bins are merged: `2^c`, where `c` is `log_hist_coarseness`, 0 to 6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Coarseness(u8);

impl Coarseness {
    /// The coarsest log, with 29 bins.
    pub const MAX: Coarseness = Coarseness(6);

    /// The coarseness with this number; `None` above 6.
    #[must_use]
    pub const fn new(coarseness: u8) -> Option<Coarseness> {
        if coarseness <= 6 { Some(Coarseness(coarseness)) } else { None }
    }

    /// The coarseness of a log with this number of bins.
    #[must_use]
    pub fn of_bins(bins: usize) -> Option<Coarseness> {
        (0..=6).map(Coarseness).find(|coarseness| coarseness.bins() == bins)
    }

    /// The number, 0 to 6.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// Bins of a row.
    #[must_use]
    pub const fn bins(self) -> usize {
        BINS >> self.0
    }

    /// The latencies of a bin: the first one, and the first one after it.
    #[must_use]
    pub fn bounds(self, bin: usize) -> (Nanos, Nanos) {
        (start_of(bin << self.0), start_of((bin + 1) << self.0))
    }
}

/// The smallest latency of a bin without coarseness.
fn start_of(bin: usize) -> Nanos {
    let lost = (bin / BINS_OF_A_GROUP).saturating_sub(1);
    Nanos(((bin - lost * BINS_OF_A_GROUP) as u64) << lost)
}

/// A row of a histogram log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramRow {
    /// Milliseconds since the start of the job, or since the epoch of another clock: the end of the window.
    pub time_ms: u64,
    /// Direction of the I/Os.
    pub dir: Dir,
    /// Block size of the job in this direction.
    pub block: Bytes,
    /// I/Os in each bin: as many as the coarseness states.
    pub counts: Vec<u64>,
}

impl HistogramRow {
    /// The coarseness; `None` if no coarseness has this number of bins.
    #[must_use]
    pub fn coarseness(&self) -> Option<Coarseness> {
        Coarseness::of_bins(self.counts.len())
    }

    /// I/Os of the row.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Merges bins, so that the row has this coarseness; `None` if it is coarser already.
    #[must_use]
    pub fn coarser(mut self, wanted: Coarseness) -> Option<HistogramRow> {
        let merged = 1 << wanted.0.checked_sub(self.coarseness()?.0)?;
        if merged > 1 {
            let sum = |bins: &[u64]| bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(*bin));
            self.counts = self.counts.chunks(merged).map(sum).collect();
        }
        Some(self)
    }
}

/// Appends a row as text. `counts` are the bins of a histogram without coarseness, at most [`BINS`]: bins that are
/// missing are 0. `coarseness` merges them.
pub fn write(
    time_ms: u64,
    dir: Dir,
    block: Bytes,
    counts: &[u64],
    coarseness: Coarseness,
    out: &mut Vec<u8>,
) {
    let merged = 1 << coarseness.0;
    let counts = &counts[..counts.len().min(BINS)];
    let sum = |bins: &[u64]| bins.iter().fold(0, |sum: u64, bin| sum.saturating_add(*bin));
    let bins: Vec<u64> = counts.chunks(merged).map(sum).collect();
    write_bins(time_ms, dir, block, &bins, coarseness.bins(), out);
}

/// Appends a row as text, with the bins that it has.
pub fn write_row(row: &HistogramRow, out: &mut Vec<u8>) {
    write_bins(row.time_ms, row.dir, row.block, &row.counts, row.counts.len(), out);
}

fn write_bins(
    time_ms: u64,
    dir: Dir,
    block: Bytes,
    bins: &[u64],
    wanted: usize,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(format!("{time_ms}, {}, {block}", dir as u8).as_bytes());
    for &count in bins {
        match count {
            // Most bins are empty.
            0 => out.extend_from_slice(b", 0"),
            _ => out.extend_from_slice(format!(", {count}").as_bytes()),
        }
    }
    for _ in bins.len()..wanted {
        out.extend_from_slice(b", 0");
    }
    out.push(b'\n');
}

/// Reads a row.
///
/// # Errors
/// The number of bins, a number or the direction is wrong.
pub fn parse(line: &[u8]) -> Result<HistogramRow, LineProblem> {
    let found = columns(line).count();
    if found.checked_sub(BEFORE).and_then(Coarseness::of_bins).is_none() {
        return Err(LineProblem::Columns { found, expected: EXPECTED });
    }
    let mut numbers = columns(line).enumerate().map(|(at, text)| number(text, at + 1));
    let mut next = || numbers.next().unwrap_or(Ok(0));
    let (time_ms, dir, block) = (next()?, next()?, next()?);
    Ok(HistogramRow {
        time_ms,
        dir: direction(dir).ok_or(LineProblem::Direction(dir))?,
        block: Bytes(block),
        counts: numbers.collect::<Result<_, _>>()?,
    })
}

/// Reads the rows of a histogram log.
#[derive(Debug)]
pub struct HistogramReader<R> {
    lines: Lines<R>,
    bins: Option<usize>,
}

impl<R: BufRead> HistogramReader<R> {
    /// A reader of a log. It reads nothing yet.
    pub fn new(source: R) -> Self {
        HistogramReader { lines: Lines::new(source), bins: None }
    }

    /// The next row; `None` at the end. After an error in a line, the next call continues with the next line.
    ///
    /// # Errors
    /// The source cannot be read, a line is not a row, or its coarseness differs from that of the lines before it.
    pub fn next_row(&mut self) -> Result<Option<HistogramRow>, LogError> {
        loop {
            let number = self.lines.number() + 1;
            let Some(line) = self.lines.next()? else { return Ok(None) };
            let line = whole(number, line)?;
            if line.is_empty() {
                continue;
            }
            let row = parse(line).map_err(|problem| line_error(number, line, problem))?;
            let found = row.counts.len();
            return match *self.bins.get_or_insert(found) {
                expected if expected != found => {
                    Err(line_error(number, line, LineProblem::Bins { found, expected }))
                }
                _ => Ok(Some(row)),
            };
        }
    }
}
