//! Rows as lines of text. A line has no line ends within it, whatever the names of jobs contain.

use std::borrow::Cow;
use std::fmt::Write;

use fiord_job::command::SeriesFormat;

use super::date::iso;
use super::{COLUMNS, Cell, ColumnRole, SeriesRow};

/// The name of the measurement in the line protocol of InfluxDB.
const MEASUREMENT: &str = "fiord";

/// The line that names the columns, with its line end. Empty for formats without one.
#[must_use]
pub fn header(format: SeriesFormat) -> String {
    match format {
        SeriesFormat::Csv => COLUMNS.map(|(name, _)| name).join(",") + "\n",
        SeriesFormat::JsonLines | SeriesFormat::Influx => String::new(),
    }
}

/// A row as a line, with its line end.
#[must_use]
pub fn line(format: SeriesFormat, row: &SeriesRow<'_>) -> String {
    let mut line = String::with_capacity(256);
    // Writing to a string cannot fail.
    let _ = match format {
        SeriesFormat::Csv => csv(row, &mut line),
        SeriesFormat::JsonLines => json(row, &mut line),
        SeriesFormat::Influx => influx(row, &mut line),
    };
    line.push('\n');
    line
}

/// RFC 4180. Control characters in names become spaces, so that each line is a row.
fn csv(row: &SeriesRow<'_>, line: &mut String) -> std::fmt::Result {
    for (at, cell) in row.cells().into_iter().enumerate() {
        if at > 0 {
            line.push(',');
        }
        match cell {
            Cell::Moment(time) => line.push_str(&iso(time)),
            Cell::Text(text) => {
                let text = without_controls(&text);
                match text.contains(['"', ',']) {
                    true => write!(line, "\"{}\"", text.replace('"', "\"\""))?,
                    false => line.push_str(&text),
                }
            }
            Cell::Whole(number) => write!(line, "{number}")?,
            Cell::Decimal(number) => line.push_str(&decimal(number)),
            Cell::Missing => {}
        }
    }
    Ok(())
}

fn json(row: &SeriesRow<'_>, line: &mut String) -> std::fmt::Result {
    for (at, ((name, _), cell)) in COLUMNS.iter().zip(row.cells()).enumerate() {
        write!(line, "{}\"{name}\":", if at == 0 { '{' } else { ',' })?;
        match cell {
            Cell::Moment(time) => write!(line, "\"{}\"", iso(time))?,
            // The index is a number here: only tags of InfluxDB must be text.
            Cell::Text(text) if *name == "job_index" => line.push_str(&text),
            Cell::Text(text) => write!(line, "{}", serde_json::Value::from(text.as_ref()))?,
            Cell::Whole(number) => write!(line, "{number}")?,
            Cell::Decimal(number) => line.push_str(&decimal(number)),
            Cell::Missing => write!(line, "{}", serde_json::Value::Null)?,
        }
    }
    line.push('}');
    Ok(())
}

/// The line protocol of InfluxDB 1.x: measurement and tags, fields, time in nanoseconds.
fn influx(row: &SeriesRow<'_>, line: &mut String) -> std::fmt::Result {
    let cells = row.cells();
    let of = |wanted: ColumnRole| {
        COLUMNS.iter().zip(&cells).filter(move |((_, role), _)| *role == wanted)
    };
    line.push_str(MEASUREMENT);
    for ((name, _), cell) in of(ColumnRole::Tag) {
        if let Cell::Text(text) = cell
            && !text.is_empty()
        {
            write!(line, ",{name}={}", tag(text))?;
        }
    }
    let mut separator = ' ';
    for ((name, _), cell) in of(ColumnRole::Field) {
        let value = match cell {
            Cell::Text(text) => format!("\"{text}\""),
            Cell::Whole(number) => format!("{number}i"),
            Cell::Decimal(number) => decimal(*number),
            Cell::Moment(_) | Cell::Missing => continue,
        };
        write!(line, "{separator}{name}={value}")?;
        separator = ',';
    }
    for (_, cell) in of(ColumnRole::Time) {
        if let Cell::Moment(time) = cell {
            write!(line, " {}", time.0)?;
        }
    }
    Ok(())
}

/// The value of a tag. A backslash at the end would escape what follows the tag, and cannot be escaped itself.
fn tag(text: &str) -> String {
    let text = without_controls(text);
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ',' | '=' | ' ') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    if escaped.ends_with('\\') {
        escaped.push('_');
    }
    escaped
}

fn without_controls(text: &str) -> Cow<'_, str> {
    match text.contains(char::is_control) {
        true => text.replace(char::is_control, " ").into(),
        false => text.into(),
    }
}

/// A number with at most three decimals.
fn decimal(number: f64) -> String {
    let text = format!("{number:.3}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short == "-0" { "0".into() } else { short.into() }
}
