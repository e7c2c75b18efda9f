//! Fields of a line: numbers, times and names of actions.

use fiord_types::{Bytes, Nanos};

use crate::trace::error::RowProblem;
use crate::trace::record::{TraceFlags, TraceKind};

const MAX_IO: Bytes = Bytes::from_gib(1);

/// A decimal number with at most 64 bits.
#[inline]
pub(super) fn number(text: &[u8], field: &'static str) -> Result<u64, RowProblem> {
    let text = text.trim_ascii();
    if text.is_empty() {
        return Err(RowProblem::Missing { field });
    }
    let mut value = 0u64;
    for byte in text {
        let digit = byte.wrapping_sub(b'0');
        let next = if digit > 9 { None } else { value.checked_mul(10) };
        let next = next.and_then(|tens| tens.checked_add(u64::from(digit)));
        value = next.ok_or(RowProblem::NotANumber { field })?;
    }
    Ok(value)
}

/// A number with decimals, in units of `unit`. Digits below a nanosecond are dropped.
pub(super) fn decimal_time(
    text: &[u8],
    unit: Nanos,
    field: &'static str,
) -> Result<Nanos, RowProblem> {
    let wrong = RowProblem::NotANumber { field };
    let text = text.trim_ascii();
    let point = text.iter().position(|byte| *byte == b'.').unwrap_or(text.len());
    let whole = number(&text[..point], field)?;
    let mut time = whole.checked_mul(unit.0).ok_or(wrong.clone())?;
    let mut weight = unit.0;
    for byte in text.get(point + 1..).unwrap_or_default() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(wrong);
        }
        weight /= 10;
        time = time.saturating_add(u64::from(digit) * weight);
    }
    Ok(Nanos(time))
}

/// The range of an I/O. `len` is in bytes and a whole number of sectors.
#[inline]
pub(in crate::trace) fn range(
    offset: Option<u64>,
    len: Option<u64>,
) -> Result<(Bytes, Bytes), RowProblem> {
    let (Some(offset), Some(len)) = (offset, len) else { return Err(RowProblem::TooFar) };
    if len > MAX_IO.0 {
        return Err(RowProblem::Implausible { len: Bytes(len), most: MAX_IO });
    }
    if offset % 512 != 0 || len % 512 != 0 {
        return Err(RowProblem::NoSectors);
    }
    match offset.checked_add(len) {
        Some(end) if end <= i64::MAX as u64 => Ok((Bytes(offset), Bytes(len))),
        _ => Err(RowProblem::TooFar),
    }
}

/// A unit of time stamps, and where time 0 is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Epoch {
    name: &'static str,
    unit: Nanos,
    /// The year 1990 and the year 2100, in this unit.
    plausible: (u64, u64),
}

/// The years 1990 and 2100 in seconds since 1970.
const PLAUSIBLE: (u64, u64) = (631_152_000, 4_102_444_800);
/// Seconds from 1601 to 1970.
const WINDOWS: u64 = 11_644_473_600;

impl Epoch {
    const fn new(name: &'static str, unit: Nanos, since_1601: u64) -> Self {
        let units = 1_000_000_000 / unit.0;
        let plausible = ((PLAUSIBLE.0 + since_1601) * units, (PLAUSIBLE.1 + since_1601) * units);
        Epoch { name, unit, plausible }
    }
    pub(super) const SECONDS: Epoch = Epoch::new("seconds since 1970", Nanos::from_secs(1), 0);
    pub(super) const MICROSECONDS: Epoch =
        Epoch::new("microseconds since 1970", Nanos::from_micros(1), 0);
    pub(super) const WINDOWS: Epoch = Epoch::new("units of 100 ns since 1601", Nanos(100), WINDOWS);
    const ALL: [Epoch; 5] = [
        Epoch::SECONDS,
        Epoch::new("milliseconds since 1970", Nanos::from_millis(1), 0),
        Epoch::MICROSECONDS,
        Epoch::new("nanoseconds since 1970", Nanos(1), 0),
        Epoch::WINDOWS,
    ];

    fn contains(self, stamp: u64) -> bool {
        (self.plausible.0..self.plausible.1).contains(&stamp)
    }

    /// The time of a stamp. A stamp outside of 1990 to 2100 has another unit.
    #[inline]
    pub(super) fn time(self, stamp: u64) -> Result<Nanos, RowProblem> {
        if self.contains(stamp) {
            return Ok(Nanos(stamp * self.unit.0));
        }
        let other = Epoch::ALL.into_iter().find(|epoch| epoch.contains(stamp));
        let other = other.map(|epoch| epoch.name);
        Err(RowProblem::Unit { unit: self.name, other })
    }
}

/// The direction in a word such as `Read`, `R` or `w`.
#[inline]
pub(super) fn direction(word: &[u8]) -> Option<TraceKind> {
    let word = word.trim_ascii();
    let is = |name: &[u8]| word.eq_ignore_ascii_case(name);
    match word.first()?.to_ascii_lowercase() {
        b'r' if word.len() == 1 || is(b"read") => Some(TraceKind::Read),
        b'w' if word.len() == 1 || is(b"write") => Some(TraceKind::Write),
        _ => None,
    }
}

/// The letters of the kernel's tracers: an operation (R, W, D, and F alone for a flush), before it F for a preflush,
/// after it F (FUA), A (readahead), S (synchronous), M (metadata).
pub(super) fn letters(word: &[u8], len: Bytes) -> Option<(TraceKind, TraceFlags)> {
    let (preflush, rest) = match word {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (kind, attributes) = match rest {
        [b'R', rest @ ..] => (TraceKind::Read, rest),
        [b'D', rest @ ..] => (TraceKind::Trim, rest),
        [b'W', rest @ ..] if !preflush || len > Bytes::ZERO => (TraceKind::Write, rest),
        [b'W' | b'N', rest @ ..] if preflush => (TraceKind::Sync, rest),
        rest if preflush => (TraceKind::Sync, rest),
        _ => return None,
    };
    let mut flags = TraceFlags::NONE;
    if preflush && kind == TraceKind::Write {
        flags = flags | TraceFlags::PREFLUSH;
    }
    for letter in attributes {
        flags = flags
            | match letter {
                b'F' => TraceFlags::FUA,
                b'A' => TraceFlags::AHEAD,
                b'S' => TraceFlags::SYNC,
                b'M' => TraceFlags::META,
                _ => return None,
            };
    }
    Some((kind, flags))
}
