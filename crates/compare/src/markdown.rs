//! A comparison as Markdown, for comments on changes and for issues.

use std::fmt::Write;

use crate::comparison::Comparison;
use crate::text::{cells, headings, reason, values, words_of};
use crate::words;

/// Formats a comparison.
#[must_use]
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for side in &comparison.sides {
        let runs = words::runs(side.runs.len());
        let _ = writeln!(out, "- **{}**: {} ({runs})", side.letter, escaped(&side.name));
    }
    let several = comparison.sides.len() > 2;
    let row = |cells: [String; 9]| {
        let cells: Vec<String> = cells.iter().map(|cell| escaped(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    out.push('\n');
    out += &row(headings(comparison));
    out += "|---|---|---|--:|--:|--:|--:|--:|---|\n";
    for contrast in &comparison.contrasts {
        let mut cells = cells(contrast, several);
        if let Some(reason) = reason(contrast) {
            // The reason begins with the word of the verdict.
            let letter = if several { format!("{} ", contrast.place.side) } else { String::new() };
            cells[8] = letter + &reason;
        }
        out += &row(cells);
    }
    list("Conditions", comparison.conditions.iter(), &mut out, |result| {
        format!("`{}`: {}", result.condition.text, words_of(result))
    });
    list("Differences between the sides", comparison.differences.iter(), &mut out, |difference| {
        format!("{}: {}", escaped(&difference.subject), escaped(&values(&difference.values)))
    });
    list("Findings", comparison.notes.iter(), &mut out, |note| {
        format!("`{}`: {}", note.id, escaped(&note.text))
    });
    out
}

fn list<T>(
    heading: &str,
    items: impl ExactSizeIterator<Item = T>,
    out: &mut String,
    line: impl Fn(T) -> String,
) {
    if items.len() > 0 {
        let _ = writeln!(out, "\n{heading}:\n");
    }
    items.for_each(|item| {
        let _ = writeln!(out, "- {}", line(item));
    });
}

/// Text that Markdown shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '|' | '*' | '_' | '`' | '[' | ']' | '\\' | '#' => out.extend(['\\', c]),
            '<' => out += "&lt;",
            '&' => out += "&amp;",
            '\n' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
