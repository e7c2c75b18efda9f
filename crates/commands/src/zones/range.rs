//! Parses a RANGE of zones.

use std::ops::Range;

use fiord_job::number;
use fiord_job::option::def::Unit;
use fiord_job::option::value::Bases;
use fiord_sys::zone::{Facts, Zone};

use crate::zones::size;

/// Parses `text` into a range of zone numbers.
///
/// # Errors
/// One sentence that says what is wrong with `text`.
pub fn read(text: &str, facts: &Facts, zones: &[Zone]) -> Result<Range<usize>, String> {
    let text = text.trim();
    if text == "all" {
        return Ok(0..zones.len());
    }
    let (first, sign, second) = parts(text);
    let in_bytes = [first, second.unwrap_or("")].iter().any(|part| has_unit(part));
    let number = |part: &str| -> Result<u64, String> {
        let value = number::integer(part, Unit::Bytes, &Bases::default())
            .map_err(|e| format!("invalid range of zones `{text}`: {}", e.what))?;
        u64::try_from(value)
            .map_err(|_| format!("invalid range of zones `{text}`: {value} is out of range"))
    };
    let start = number(first)?;
    let range = match (in_bytes, second.map(number).transpose()?) {
        (false, None) => start..start.saturating_add(1),
        (false, Some(count)) if sign == '+' => start..start.saturating_add(count),
        (false, Some(last)) => start..last.saturating_add(1),
        (true, second) => {
            let end = match second {
                None => return one(start, zones),
                Some(len) if sign == '+' => start.saturating_add(len),
                Some(end) => end,
            };
            border(start, facts, zones)?..border(end, facts, zones)?
        }
    };
    let count = zones.len() as u64;
    if range.is_empty() {
        return Err(format!("the range `{text}` contains no zone"));
    }
    if range.end > count {
        return Err(format!(
            "the range `{text}` ends beyond the device, which has zones 0 to {}",
            count.saturating_sub(1)
        ));
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

/// Finds the zone that starts at byte `start`.
fn one(start: u64, zones: &[Zone]) -> Result<Range<usize>, String> {
    let at = zones.iter().position(|zone| zone.start == start);
    at.map(|at| at..at + 1).ok_or_else(|| format!("no zone starts at byte {start}"))
}

/// Returns the number of the zone that starts at byte `at`, or the number of zones if `at` is the
/// end of the device.
fn border(at: u64, facts: &Facts, zones: &[Zone]) -> Result<u64, String> {
    if zones.last().is_none_or(|last| at == last.end()) {
        return Ok(zones.len() as u64);
    }
    if let Some(index) = zones.iter().position(|zone| zone.start == at) {
        return Ok(index as u64);
    }
    if at >= facts.size {
        return Err(format!(
            "byte {at} is beyond the end of the device, which has {} bytes",
            facts.size
        ));
    }
    let inside = zones.iter().find(|zone| (zone.start..zone.end()).contains(&at));
    let near = inside.map_or(String::new(), |zone| {
        format!(": the zone that contains it is {} to {}", zone.start, zone.end())
    });
    let size = size::exact(facts.zone_size);
    Err(format!("no zone starts or ends at byte {at}{near} (zone size: {size})"))
}
