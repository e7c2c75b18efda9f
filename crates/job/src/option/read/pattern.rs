//! `buffer_pattern` and `verify_pattern`.

use crate::option::value::{Bases, PatternPart, ValueError};

/// Parses a pattern such as `0xdeadface"abcd"-12'file'%o`. Its parts may have any order and white
/// space between them.
///
/// - `0x…`: bytes in the order written. An odd number of digits gets a leading zero.
/// - A decimal number of 32 bits: its little-endian bytes without zero bytes at the end, or four
///   bytes if it is negative.
/// - Digits end where the `0x` of the next part starts: `-120xff` is -12 and 0xff.
/// - `"…"`: the text, without escapes.
/// - `'…'`: the contents of this file.
/// - `%o`: the offset of the block.
///
/// # Errors
/// The pattern is empty, or a part of it is invalid.
pub fn pattern(text: &str, _: &Bases) -> Result<Vec<PatternPart>, ValueError> {
    let mut parts: Vec<PatternPart> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            at += blank;
            continue;
        }
        let (part, used) = part(rest).map_err(|e| e.shifted(at, rest.len()))?;
        match (parts.last_mut(), part) {
            (Some(PatternPart::Bytes(have)), PatternPart::Bytes(more)) => have.extend(more),
            (_, part) => parts.push(part),
        }
        at += used;
    }
    if parts.is_empty() {
        return Err(ValueError::new("the pattern is empty").with_help(HELP));
    }
    Ok(parts)
}

const HELP: &str = "To fix: write hexadecimal `0xdeadbeef`, a number, `\"text\"`, `'file'` or `%o`";

fn part(rest: &str) -> Result<(PatternPart, usize), ValueError> {
    if rest.starts_with("%o") {
        return Ok((PatternPart::Offset, 2));
    }
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let inner = &rest[1..];
        let Some(end) = inner.find(quote) else {
            return Err(ValueError::new(format!("the closing `{quote}` is missing")).at(0, 1));
        };
        if end == 0 {
            return Err(ValueError::new("the text between the quotes is missing").at(0, 2));
        }
        let inner = inner[..end].to_string();
        let part = match quote {
            '"' => PatternPart::Bytes(inner.into_bytes()),
            _ => PatternPart::File(inner),
        };
        return Ok((part, end + 2));
    }
    if rest.get(..2).is_some_and(|p| p.eq_ignore_ascii_case("0x")) {
        return hexadecimal(rest);
    }
    decimal(rest)
}

fn hexadecimal(rest: &str) -> Result<(PatternPart, usize), ValueError> {
    let tail = &rest[2..];
    let end = digits(tail, |c| c.is_ascii_hexdigit());
    if end == 0 {
        return Err(ValueError::new("the digits after `0x` are missing").at(0, 2));
    }
    let mut nibbles: Vec<u8> =
        tail[..end].bytes().map(|b| (b as char).to_digit(16).unwrap_or(0) as u8).collect();
    if nibbles.len() % 2 == 1 {
        nibbles.insert(0, 0);
    }
    let bytes = nibbles.chunks(2).map(|p| p[0] << 4 | p[1]).collect();
    Ok((PatternPart::Bytes(bytes), end + 2))
}

/// The number of digits at the start of a text. A final 0 before an `x` belongs to the next part.
fn digits(text: &str, is_digit: impl Fn(char) -> bool) -> usize {
    let end = text.find(|c: char| !is_digit(c)).unwrap_or(text.len());
    let next = text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']);
    if next && end > 1 { end - 1 } else { end }
}

fn decimal(rest: &str) -> Result<(PatternPart, usize), ValueError> {
    let sign = usize::from(rest.starts_with(['-', '+']));
    let tail = &rest[sign..];
    let end = sign + digits(tail, |c| c.is_ascii_digit());
    let bad =
        |end: usize| ValueError::new("this is not a part of a pattern").at(0, end).with_help(HELP);
    if end == sign {
        let end = rest.chars().next().map_or(0, char::len_utf8);
        return Err(bad(end));
    }
    let value: i32 = rest[..end].parse().map_err(|_| {
        ValueError::new(format!("`{}` does not fit in 32 bits", &rest[..end]))
            .at(0, end)
            .with_help("To fix: write larger patterns in hexadecimal: `0x…`")
    })?;
    let mut bytes = value.to_le_bytes().to_vec();
    while bytes.len() > 1 && bytes.last() == Some(&0) {
        bytes.pop();
    }
    Ok((PatternPart::Bytes(bytes), end))
}
