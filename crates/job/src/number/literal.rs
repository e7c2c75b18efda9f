//! A number with its suffix: `4k`, `0x1000`, `1.5m`, `30s`.

use crate::option::value::{Bases, ValueError};
use crate::rational::Rational;

/// The meaning of suffixes after a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffixes {
    /// Multipliers: `k`, `mi`, `gb`…
    Size(Bases),
    /// Durations: `us`, `ms`, `s`, `m`, `h`, `d`.
    Time {
        /// The unit of a number without a suffix, in nanoseconds.
        bare_ns: u64,
    },
}

/// Creates the error for a number that does not fit.
pub(crate) fn too_large(body: &str) -> ValueError {
    ValueError::out_of_range(body, "too large")
        .with_help("the largest possible number is 18446744073709551615 (2^64 - 1)")
}

/// The suffixes that a number may have, for a message.
pub(super) fn suffix_help(suffixes: Suffixes) -> &'static str {
    match suffixes {
        Suffixes::Size(_) => "known suffixes are k, m, g, t, p, each also with `i`, `b` or `ib`",
        Suffixes::Time { .. } => "known time units are us, ms, s, m, h, d",
    }
}

/// Parses an unsigned number and its suffix at the start of `text`. Returns the value (bytes, a
/// count or nanoseconds), the number of bytes parsed, and whether there was a suffix.
pub(crate) fn literal(
    text: &str,
    suffixes: Suffixes,
) -> Result<(Rational, usize, bool), ValueError> {
    let (number, digits) = digits(text)?;
    let rest = &text[digits..];
    // A space is allowed between number and unit, as in `4 KiB` in fio's documentation.
    let gap = rest.len() - rest.trim_start_matches(' ').len();
    let letters: &str = {
        let tail = &rest[gap..];
        let end = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        &tail[..end]
    };
    let bare = match suffixes {
        Suffixes::Size(_) => 1,
        Suffixes::Time { bare_ns } => i128::from(bare_ns),
    };
    let factor = if letters.is_empty() { None } else { Some(factor(letters, suffixes)) };
    let (factor, used, had) = match factor {
        None => (bare, digits, false),
        Some(Some(f)) => (f, digits + gap + letters.len(), true),
        Some(None) => {
            let start = digits + gap;
            return Err(ValueError::new(format!("unknown unit `{letters}`"))
                .at(start, start + letters.len())
                .with_help(suffix_help(suffixes)));
        }
    };
    let value = number.checked_mul(Rational::whole(factor)).ok_or_else(|| too_large(text))?;
    Ok((value, used, had))
}

/// Parses the digits at the start of `text`: `12`, `1.5`, `.5`, `0x1f`. Returns the value and the
/// number of bytes parsed.
fn digits(text: &str) -> Result<(Rational, usize), ValueError> {
    let bytes = text.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'0' && (bytes[1] | 0x20) == b'x' {
        let end =
            bytes[2..].iter().position(|b| !b.is_ascii_hexdigit()).map_or(bytes.len(), |p| p + 2);
        if end > 2 {
            let value = i128::from_str_radix(&text[2..end], 16).map_err(|_| too_large(text))?;
            return Ok((Rational::whole(value), end));
        }
    }
    let whole = bytes.iter().position(|b| !b.is_ascii_digit()).unwrap_or(bytes.len());
    let mut end = whole;
    if bytes.get(whole) == Some(&b'.') {
        let tail = &bytes[whole + 1..];
        end = whole + 1 + tail.iter().position(|b| !b.is_ascii_digit()).unwrap_or(tail.len());
    }
    let fraction = text.get(whole + 1..end).unwrap_or("");
    if whole == 0 && fraction.is_empty() {
        return Err(ValueError::new(format!("`{text}` is not a number")));
    }
    let all: String = [&text[..whole], fraction].concat();
    let value: i128 = all.parse().map_err(|_| too_large(text))?;
    let scale = u32::try_from(fraction.len()).ok().and_then(|n| 10i128.checked_pow(n));
    let value = scale.and_then(|s| Rational::new(value, s)).ok_or_else(|| too_large(text))?;
    Ok((value, end))
}

/// The factor for a suffix. `None` for an unknown suffix.
fn factor(letters: &str, suffixes: Suffixes) -> Option<i128> {
    let lower = letters.to_ascii_lowercase();
    match suffixes {
        Suffixes::Time { .. } => Some(match lower.as_str() {
            "ns" | "nsec" => 1,
            "us" | "usec" => 1_000,
            "ms" | "msec" => 1_000_000,
            "s" | "sec" => 1_000_000_000,
            "m" | "min" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            "d" => 86_400_000_000_000,
            _ => return None,
        }),
        Suffixes::Size(bases) => {
            let (unit, byte) = match lower.strip_suffix('b') {
                Some(unit) => (unit, true),
                None => (lower.as_str(), false),
            };
            let (prefix, i) = match unit.strip_suffix('i') {
                Some(p) => (p, true),
                None => (unit, false),
            };
            if prefix.is_empty() {
                return (!i).then_some(1);
            }
            // In fio's documentation, `ki` means the same as `kib`; the program treats it as `k`.
            let binary = i && byte;
            let power = match prefix {
                "k" => 1,
                "m" => 2,
                "g" => 3,
                "t" => 4,
                "p" => 5,
                _ => return None,
            };
            // With kb_base=1024, the meanings are swapped: `k` is 1024 and `kib` is 1000.
            let base: i128 = if binary == (bases.kb == 1000) { 1024 } else { 1000 };
            base.checked_pow(power)
        }
    }
}
