//! The output formats.

use crate::option::value::ValueError;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Text for people.
    Normal,
    /// One line per job, with fields separated by semicolons.
    Terse,
    Json,
    /// JSON with all latency buckets.
    JsonPlus,
}

/// Parses the value of `--output-format`.
pub(super) fn formats(text: &str) -> Result<Vec<Format>, ValueError> {
    const NAMES: [(&str, Format); 5] = [
        ("normal", Format::Normal),
        ("terse", Format::Terse),
        ("minimal", Format::Terse),
        ("json", Format::Json),
        ("json+", Format::JsonPlus),
    ];
    let mut list = Vec::new();
    let mut at = 0;
    for part in text.split(',') {
        let Some((_, format)) = NAMES.iter().find(|(n, _)| *n == part) else {
            return Err(ValueError::new(format!("invalid output format `{part}`"))
                .at(at, at + part.len())
                .with_help("formats are normal, terse, json and json+"));
        };
        if !list.contains(format) {
            list.push(*format);
        }
        at += part.len() + 1;
    }
    Ok(list)
}
