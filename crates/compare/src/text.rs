//! A comparison as text for a terminal.

use std::fmt::Write;

use crate::comparison::Comparison;
use crate::contrast::{CompareVerdict, Contrast};
use crate::words;
use fiord_stat::wrap::wrapped;

/// Columns with numbers are aligned at their right end.
const NUMBERS: std::ops::RangeInclusive<usize> = 3..=7;

/// Formats a comparison for a file or a pipe.
#[must_use]
pub fn text(comparison: &Comparison) -> String {
    text_within(comparison, None)
}

/// Formats a comparison. Sentences are wrapped so that they fit a terminal with `columns` columns.
#[must_use]
pub fn text_within(comparison: &Comparison, columns: Option<usize>) -> String {
    let mut out = String::new();
    for side in &comparison.sides {
        let program = side.values("program").join(" and ");
        let runs = words::runs(side.runs.len());
        let _ = writeln!(out, "{}  {}  ({runs}, {program})", side.letter, side.name);
    }
    out.push('\n');
    out += &table(comparison);
    reasons(comparison, columns, &mut out);
    if !comparison.conditions.is_empty() {
        out += "\nConditions:\n";
        for result in &comparison.conditions {
            let line = format!("  {}: {}", result.condition.text, words_of(result));
            let _ = writeln!(out, "{}", wrapped(&line, columns, 4));
        }
    }
    if !comparison.differences.is_empty() {
        out += "\nDifferences between the sides:\n";
        for difference in &comparison.differences {
            let line = format!("  {}: {}", difference.subject, values(&difference.values));
            let _ = writeln!(out, "{}", wrapped(&line, columns, 4));
        }
    }
    if !comparison.notes.is_empty() {
        out += "\nFindings:\n";
        for note in &comparison.notes {
            let line = format!("  {}: {}", note.id, note.text);
            let _ = writeln!(out, "{}", wrapped(&line, columns, 4));
        }
    }
    out
}

/// The state of a condition, in words.
pub(crate) fn words_of(result: &crate::condition::ConditionResult) -> String {
    let found = &result.found;
    match result.state {
        crate::condition::ConditionState::Holds => format!("FAILED: {found}"),
        crate::condition::ConditionState::Unproven => {
            format!("not certain: {found}, which can be chance")
        }
        crate::condition::ConditionState::No => format!("passed: {found}"),
    }
}

/// The values of the sides, in words.
pub(crate) fn values(values: &[(char, String)]) -> String {
    let one = |(letter, value): &(char, String)| format!("{letter} {value}");
    values.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The headings of the table.
pub(crate) const HEADINGS: [&str; 9] =
    ["job", "", "metric", "before", "after", "change", "95 % interval", "p", "verdict"];

/// The cells of a row of the table.
pub(crate) fn cells(contrast: &Contrast, several_sides: bool) -> [String; 9] {
    let place = &contrast.place;
    // The condition is in the reason.
    let condition = if contrast.is_conditional() { ", if" } else { "" };
    let verdict = match several_sides {
        true => format!("{} {}{condition}", place.side, contrast.verdict.word()),
        false => format!("{}{condition}", contrast.verdict.word()),
    };
    [
        place.job.clone(),
        words::direction(place.kind).into(),
        words::metric(place.metric),
        words::value(place.metric, contrast.median_a()),
        words::value(place.metric, contrast.median_b()),
        words::percent(contrast.change_percent()),
        words::interval(contrast.interval_percent()),
        words::probability(contrast.p_corrected),
        verdict,
    ]
}

/// The headings with the letters of the sides.
pub(crate) fn headings(comparison: &Comparison) -> [String; 9] {
    let mut headings = HEADINGS.map(String::from);
    headings[3] = "A".into();
    headings[4] = if comparison.sides.len() > 2 { "other".into() } else { "B".into() };
    headings
}

fn table(comparison: &Comparison) -> String {
    let several = comparison.sides.len() > 2;
    let mut rows = vec![headings(comparison)];
    rows.extend(comparison.contrasts.iter().map(|contrast| cells(contrast, several)));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..9).map(|column| width(column).unwrap_or(0)).collect();
    let mut out = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let space = " ".repeat(widths[column] - cell.chars().count());
            let (before, after) = match NUMBERS.contains(&column) {
                true => (space.as_str(), ""),
                false => ("", space.as_str()),
            };
            let gap = if column > 0 { "  " } else { "" };
            line.extend([gap, before, cell, after]);
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

/// Why some results are open, and what verdicts assume. Equal reasons are given once.
fn reasons(comparison: &Comparison, columns: Option<usize>, out: &mut String) {
    let mut list: Vec<(String, Vec<String>)> = Vec::new();
    for contrast in &comparison.contrasts {
        let Some(reason) = reason(contrast) else { continue };
        let place = &contrast.place;
        let several = comparison.sides.len() > 2;
        let side = if several { format!(" of {}", place.side) } else { String::new() };
        let direction = words::direction(place.kind);
        let what = format!("{} {direction} {}{side}", place.job, words::metric(place.metric));
        match list.iter_mut().find(|(have, _)| *have == reason) {
            Some((_, places)) => places.push(what),
            None => list.push((reason, vec![what])),
        }
    }
    if !list.is_empty() {
        out.push('\n');
    }
    for (reason, places) in list {
        let line = format!("{}: {reason}", places.join(", "));
        let _ = writeln!(out, "{}", wrapped(&line, columns, 2));
    }
}

/// Why a result is open, or what its verdict assumes.
pub(crate) fn reason(contrast: &Contrast) -> Option<String> {
    if contrast.reason.is_empty() {
        return None;
    }
    let word = contrast.verdict.word();
    let least = if contrast.evidence.method.is_single() { "at least" } else { "about" };
    let needed = contrast
        .runs_needed
        .map(|runs| format!("; {least} {} per side are needed", words::runs(runs)));
    Some(match contrast.verdict {
        CompareVerdict::CannotTell => {
            format!("{word}: {}{}", contrast.reason, needed.unwrap_or_default())
        }
        _ => format!("{word} {}", contrast.reason),
    })
}
