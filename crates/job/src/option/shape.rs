//! Describes the values of an option in words, for the reference and the man page.

use super::def::{Kind, Suffix, Unit};

/// A noun phrase for the values of a kind: "a size in bytes", "a whole number from 0 to 7".
#[must_use]
pub fn shape(kind: &Kind) -> String {
    match *kind {
        Kind::Switch => "a switch: the name alone turns it on, `=0` turns it off".into(),
        Kind::Bool => "0 or 1".into(),
        Kind::Text => "text".into(),
        Kind::Int { min, max, unit } => format!("{}{}", number(unit), bounds(min, max)),
        Kind::Ints { min, max, unit } => {
            format!(
                "one to three values separated by commas, each {}{}",
                number(unit),
                bounds(min, max)
            )
        }
        Kind::Amount { .. } => "a size in bytes, a percentage or a number of zones (`8z`)".into(),
        Kind::Time { unit } => format!("a time, {}", bare(unit)),
        Kind::Floats { min, max, max_len: 1 } if max <= 100.0 => {
            format!("a number from {min} to {max}")
        }
        Kind::Floats { min, max, max_len } if max <= 100.0 => {
            format!("up to {max_len} numbers from {min} to {max}, separated by colons")
        }
        Kind::Floats { max_len, .. } => format!("up to {max_len} numbers, separated by colons"),
        Kind::Ranges { .. } => "one to three ranges of sizes, separated by commas".into(),
        Kind::Words { suffix, .. } => format!("one of the words below{}", tail(suffix)),
        Kind::WordList { suffix, .. } => {
            format!("one or more of the words below, separated by commas{}", tail(suffix))
        }
        Kind::Custom { name, .. } => name.into(),
    }
}

fn number(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "a whole number",
        Unit::Bytes => "a size in bytes",
        Unit::BytesPerSecond => "a rate in bytes per second",
        Unit::Percent => "a percentage",
        Unit::Micros => "a time in microseconds",
        Unit::Millis => "a time in milliseconds",
        Unit::Seconds => "a time in seconds",
    }
}

fn bare(unit: Unit) -> &'static str {
    match unit {
        Unit::Micros => "in microseconds if it has no unit",
        Unit::Millis => "in milliseconds if it has no unit",
        _ => "in seconds if it has no unit",
    }
}

/// The bounds of a number, without bounds that only follow from the number's type.
fn bounds(min: i64, max: u64) -> String {
    match (min, max) {
        (0, max) if max >= u64::from(u32::MAX) => String::new(),
        (min, max) if max >= u64::from(u32::MAX) => format!(", {min} or more"),
        (min, max) => format!(" from {min} to {max}"),
    }
}

fn tail(suffix: Suffix) -> &'static str {
    match suffix {
        Suffix::None => "",
        Suffix::Int | Suffix::Step => ", optionally with a number after a colon",
        Suffix::Text => ", with parameters after a colon for words that have parameters",
    }
}
