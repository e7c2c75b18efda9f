//! Numbers in job files: `4k`, `0x1000`, `1.5m`, `30s`, `(4k*8)`.
//!
//! The rules are those of the chapter "Parameter types" in fio's documentation. Where this chapter
//! leaves the meaning of a text open (`4q`, `12 apples`), fiord reports an error.

pub(crate) mod literal;

use self::literal::{literal, suffix_help, too_large};
use crate::expression;
use crate::option::def::Unit;
use crate::option::value::{Bases, ValueError};
use crate::rational::Rational;

pub use self::literal::Suffixes;

/// The length of a time unit in nanoseconds. `None` for units that are not times.
#[must_use]
pub fn nanos_of(unit: Unit) -> Option<u64> {
    match unit {
        Unit::Micros => Some(1_000),
        Unit::Millis => Some(1_000_000),
        Unit::Seconds => Some(1_000_000_000),
        Unit::Count | Unit::Bytes | Unit::BytesPerSecond | Unit::Percent => None,
    }
}

/// Parses a whole number: decimal, hexadecimal, or an expression in parentheses. A fraction needs a
/// suffix (`1.5m`); the result is rounded down.
///
/// `unit` selects the suffixes. A time is returned in this unit: `5ms` with `Micros` is 5000.
///
/// # Errors
/// The text is not a number, has an unknown suffix, or does not fit.
pub fn integer(text: &str, unit: Unit, bases: &Bases) -> Result<i128, ValueError> {
    let suffixes = match nanos_of(unit) {
        Some(bare_ns) => Suffixes::Time { bare_ns },
        None => Suffixes::Size(*bases),
    };
    let (body, lead) = trimmed(text);
    let body = match unit {
        Unit::Percent => body.trim_end_matches('%'),
        _ => body,
    };
    let (value, plain) = rational(body, suffixes).map_err(|e| e.shifted(lead, body.len()))?;
    if plain && !value.is_whole() {
        return Err(ValueError::new(format!("`{body}` is not a whole number")));
    }
    let value = match suffixes {
        Suffixes::Size(_) => value,
        Suffixes::Time { bare_ns } => value
            .checked_div(Rational::whole(i128::from(bare_ns)))
            .ok_or_else(|| too_large(body))?,
    };
    Ok(value.floor())
}

/// Parses a size in bytes.
///
/// # Errors
/// The text is not a size, is negative, or does not fit.
pub fn bytes(text: &str, bases: &Bases) -> Result<u64, ValueError> {
    let value = integer(text, Unit::Bytes, bases)?;
    u64::try_from(value).map_err(|_| {
        if value < 0 {
            ValueError::out_of_range(text.trim(), "a size cannot be negative")
        } else {
            too_large(text.trim())
        }
    })
}

/// Parses a duration and returns nanoseconds. `unit` is the unit of a bare number outside
/// parentheses. Inside parentheses, a bare number is in microseconds, as fio documents.
///
/// # Errors
/// The text is not a duration, is negative, or does not fit.
pub fn nanos(text: &str, unit: Unit) -> Result<u64, ValueError> {
    let bare_ns = nanos_of(unit).unwrap_or(1_000_000_000);
    let (body, lead) = trimmed(text);
    let (value, _) =
        rational(body, Suffixes::Time { bare_ns }).map_err(|e| e.shifted(lead, body.len()))?;
    let value = value.floor();
    u64::try_from(value).map_err(|_| {
        if value < 0 {
            ValueError::out_of_range(body, "a time cannot be negative")
        } else {
            too_large(body)
        }
    })
}

/// Parses a floating point number, without suffixes.
///
/// # Errors
/// The text is not a finite number.
pub fn float(text: &str) -> Result<f64, ValueError> {
    let (body, _) = trimmed(text);
    if body.starts_with('(') {
        let none = Suffixes::Size(Bases::default());
        return Ok(expression::evaluate(body, none)?.to_f64());
    }
    let looks_right =
        body.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E'));
    match body.parse::<f64>() {
        Ok(v) if looks_right && v.is_finite() => Ok(v),
        _ => Err(ValueError::new(format!("`{body}` is not a number"))
            .with_help("To fix: write a decimal number such as `99.9`")),
    }
}

/// The text without surrounding white space, and the number of bytes of leading white space.
pub(crate) fn trimmed(text: &str) -> (&str, usize) {
    let body = text.trim_start();
    (body.trim_end(), text.len() - body.len())
}

/// Parses a signed number with its suffix, or an expression in parentheses. The flag is true for a
/// bare number, where a fraction is a mistake and not a multiple of a unit.
fn rational(body: &str, suffixes: Suffixes) -> Result<(Rational, bool), ValueError> {
    if body.is_empty() {
        return Err(ValueError::new("the number is missing"));
    }
    if body.starts_with('(') {
        return Ok((expression::evaluate(body, suffixes)?, false));
    }
    let (negative, rest) = match body.as_bytes()[0] {
        b'-' => (true, &body[1..]),
        b'+' => (false, &body[1..]),
        _ => (false, body),
    };
    let sign = body.len() - rest.len();
    let (value, used, suffix) = literal(rest, suffixes).map_err(|e| e.shifted(sign, rest.len()))?;
    if used < rest.len() {
        let start = sign + used;
        return Err(ValueError::new(format!("unexpected `{}` after the number", &rest[used..]))
            .at(start, body.len())
            .with_help(suffix_help(suffixes)));
    }
    let value = if negative { value.negated() } else { value };
    let plain = !suffix && matches!(suffixes, Suffixes::Size(_));
    Ok((value, plain))
}

#[cfg(test)]
mod tests;
