//! A value or a range of two values, for `startdelay` and `filesize`.

use crate::number;
use crate::option::def::Unit;
use crate::option::value::{Bases, SizeRange, TimeRange, ValueError};

/// Parses `startdelay`: `5`, `5-10`, `500ms-2s`. Returns nanoseconds, with the smaller value first.
/// Bare numbers are in seconds.
///
/// # Errors
/// A value is not a time.
pub fn time_range(text: &str, _: &Bases) -> Result<TimeRange, ValueError> {
    let (low, high) = pair(text, |t| number::nanos(t, Unit::Seconds))?;
    Ok(TimeRange::between(low, high))
}

/// Parses `filesize`: `1m`, `1k-4m`. Returns bytes, with the smaller value first.
///
/// # Errors
/// A value is not a size, or is 0.
pub fn size_range(text: &str, bases: &Bases) -> Result<SizeRange, ValueError> {
    let (low, high) = pair(text, |t| number::bytes(t, bases))?;
    if low.min(high) == 0 {
        return Err(ValueError::new("a size of 0 is too small")
            .with_help("To fix: write a size of 1 byte or more"));
    }
    Ok(SizeRange::between(low, high))
}

fn pair(
    text: &str,
    read: impl Fn(&str) -> Result<u64, ValueError>,
) -> Result<(u64, u64), ValueError> {
    match split_range(text) {
        None => read(text).map(|v| (v, v)),
        Some((a, b)) => {
            let low = read(a).map_err(|e| e.shifted(0, a.len()))?;
            let high = read(b).map_err(|e| e.shifted(a.len() + 1, b.len()))?;
            Ok((low, high))
        }
    }
}

/// Splits `a-b` or `a:b` at the separator, which is the first one outside parentheses that is not a
/// sign. `None` if the text is not a range.
pub(crate) fn split_range(text: &str) -> Option<(&str, &str)> {
    let mut depth = 0usize;
    let mut seen = false;
    for (i, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            '-' | ':' if depth == 0 && seen => return Some((&text[..i], &text[i + 1..])),
            _ => {}
        }
        seen |= !c.is_whitespace();
    }
    None
}
