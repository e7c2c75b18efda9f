//! Parses a RANGE of zones.

use std::ops::Range;

use fiord_job::option::value::ValueError;
use fiord_sys::zone::{Zone, ZonedFacts};
use fiord_types::Bytes;

use crate::amount;

/// Why a RANGE names no zones.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RangeError {
    /// A part is not a number.
    #[error("invalid range of zones `{text}`: {}", .cause.what)]
    Invalid {
        text: String,
        /// What is wrong with the number.
        cause: ValueError,
    },
    /// The end is not after the start.
    #[error("the range `{text}` contains no zone")]
    Empty { text: String },
    /// The range ends beyond the last zone.
    #[error("the range `{text}` ends beyond the device, which has zones 0 to {last}")]
    Beyond {
        text: String,
        /// Number of the last zone.
        last: u64,
    },
    /// A byte is beyond the end of the device.
    #[error("byte {} is beyond the end of the device, which has {} bytes", .at.0, .size.0)]
    ByteBeyond {
        /// Offset of the byte.
        at: Bytes,
        /// Size of the device.
        size: Bytes,
    },
    /// A single byte is not the start of a zone.
    #[error("no zone starts at byte {}", .at.0)]
    NoStart {
        /// Offset of the byte.
        at: Bytes,
    },
    /// A byte is neither the start nor the end of a zone.
    #[error(
        "no zone starts or ends at byte {}{} (zone size: {})",
        .at.0,
        .inside.as_ref().map_or(String::new(), near),
        amount::exact(*.zone_size)
    )]
    NoBorder {
        /// Offset of the byte.
        at: Bytes,
        /// Range of the zone that contains it.
        inside: Option<Range<Bytes>>,
        zone_size: Bytes,
    },
}

fn near(zone: &Range<Bytes>) -> String {
    format!(": the zone that contains it is {} to {}", zone.start.0, zone.end.0)
}

/// Parses `text` into a range of zone numbers.
///
/// # Errors
/// The text is not a range, or not one of this device.
pub fn read(text: &str, facts: &ZonedFacts, zones: &[Zone]) -> Result<Range<usize>, RangeError> {
    let text = text.trim();
    if text == "all" {
        return Ok(0..zones.len());
    }
    let (first, sign, second) = parts(text);
    let in_bytes = [first, second.unwrap_or("")].iter().any(|part| has_unit(part));
    let number = |part: &str| {
        amount::parse(part).map_err(|cause| RangeError::Invalid { text: text.into(), cause })
    };
    let start = number(first)?;
    let range = match (in_bytes, second.map(number).transpose()?) {
        (false, None) => start..start.saturating_add(1),
        (false, Some(count)) if sign == '+' => start..start.saturating_add(count),
        (false, Some(last)) => start..last.saturating_add(1),
        (true, second) => {
            let end = match second {
                None => return one(Bytes(start), zones),
                Some(len) if sign == '+' => start.saturating_add(len),
                Some(end) => end,
            };
            border(Bytes(start), facts, zones)?..border(Bytes(end), facts, zones)?
        }
    };
    let count = zones.len() as u64;
    if range.is_empty() {
        return Err(RangeError::Empty { text: text.into() });
    }
    if range.end > count {
        return Err(RangeError::Beyond { text: text.into(), last: count.saturating_sub(1) });
    }
    Ok(range.start as usize..range.end as usize)
}

/// Splits `A`, `A-B` or `A+N`.
fn parts(text: &str) -> (&str, char, Option<&str>) {
    match text.char_indices().skip(1).find(|(_, c)| matches!(c, '-' | '+')) {
        Some((at, sign)) => (text[..at].trim_end(), sign, Some(text[at + 1..].trim_start())),
        None => (text, '-', None),
    }
}

/// Whether a number has a unit of bytes: `1g`, `4096b`.
fn has_unit(part: &str) -> bool {
    !part.starts_with("0x") && part.ends_with(|c: char| c.is_ascii_alphabetic())
}

/// Finds the zone that starts at byte `at`.
fn one(at: Bytes, zones: &[Zone]) -> Result<Range<usize>, RangeError> {
    let index = zones.iter().position(|zone| zone.start == at);
    index.map(|index| index..index + 1).ok_or(RangeError::NoStart { at })
}

/// Returns the number of the zone that starts at byte `at`, or the number of zones if `at` is the
/// end of the device.
fn border(at: Bytes, facts: &ZonedFacts, zones: &[Zone]) -> Result<u64, RangeError> {
    if zones.last().is_none_or(|last| at == last.end()) {
        return Ok(zones.len() as u64);
    }
    if let Some(index) = zones.iter().position(|zone| zone.start == at) {
        return Ok(index as u64);
    }
    if at >= facts.size {
        return Err(RangeError::ByteBeyond { at, size: facts.size });
    }
    let bounds = |zone: &Zone| zone.start..zone.end();
    let inside = zones.iter().map(bounds).find(|bounds| bounds.contains(&at));
    Err(RangeError::NoBorder { at, inside, zone_size: facts.zone_size })
}
