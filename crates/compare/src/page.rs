//! A comparison as a page for a browser: one file without scripts, which works offline, prints, and supports light and dark.

use std::fmt::Write;

use crate::comparison::Comparison;
use crate::contrast::{CompareVerdict, Contrast};
use crate::text::{cells, headings, reason, values, words_of};
use crate::words;

/// Nothing is loaded and nothing runs.
const HEAD: &str = "<!doctype html>
<html lang=\"en\"><head><meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">
<title>fiord compare</title>
<style>
:root { color-scheme: light dark; --line: #8884; --quiet: #666; --better: #0b6e4f; --worse: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --quiet: #aaa; --better: #5fd3a5; --worse: #ff8a80; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 85rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .45rem; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
td.n, th.n { text-align: right; }
.better { color: var(--better); font-weight: 600; } .worse { color: var(--worse); font-weight: 600; }
.quiet { color: var(--quiet); font-size: .9rem; }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 7rem; } td .quiet { white-space: normal; }
svg { vertical-align: middle; width: 8rem; height: auto; } td:last-child { min-width: 8rem; } li { margin: .3rem 0; overflow-wrap: anywhere; }
@media screen and (max-width: 60rem) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  table, tbody, tr { display: block; } tr { border-bottom: 1px solid var(--line); padding: .4rem 0; }
  td, td.n { display: inline-block; border: 0; padding: .1rem .8rem .1rem 0; text-align: left; white-space: normal; overflow-wrap: anywhere; }
  td[data-label]::before { content: attr(data-label) ': '; color: var(--quiet); font-size: .9rem; }
  td:first-child { font-weight: 600; }
}
@media print { body { margin: 0; max-width: none; font-size: 10pt; } .wide { overflow: visible; } h2 { break-after: avoid; } tr { break-inside: avoid; } table, td .quiet { font-size: 7.5pt; } th, td { padding: .2rem .25rem; } svg { width: 5.5rem; } td:last-child { min-width: 5.5rem; } }
</style></head><body>
";

/// Width and height of the drawing of an interval.
const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 18.0;

/// Formats a comparison.
#[must_use]
pub fn page(comparison: &Comparison) -> String {
    let mut out = HEAD.to_owned();
    out += "<h1>Comparison</h1>\n<ul>\n";
    for side in &comparison.sides {
        let (name, runs) = (escaped(&side.name), words::runs(side.runs.len()));
        let _ = writeln!(out, "<li><b>{}</b>: {name} ({runs})</li>", side.letter);
    }
    out += "</ul>\n<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Results\"><table>\n<thead><tr>";
    let names = headings(comparison);
    for (i, heading) in names.iter().enumerate() {
        let _ = write!(out, "<th{}>{}</th>", class(i), escaped(heading));
    }
    let reach = reach(comparison);
    // The end of the scale has one digit that is not zero.
    let decimals = (-reach.log10().floor()).max(0.0) as usize;
    let _ = write!(out, "<th>change, ±{reach:.decimals$}&thinsp;%</th></tr></thead>\n<tbody>\n");
    for contrast in &comparison.contrasts {
        row(contrast, &names, comparison.sides.len() > 2, reach, &mut out);
    }
    out += "</tbody></table></div>\n";
    let intro = "<p class=\"quiet\">p is corrected for the number of results (Holm). The bar is the 95&thinsp;% \
                 interval of the change, the point is the measured change; green is better.</p>\n";
    out += intro;
    list("Conditions", comparison.conditions.iter(), &mut out, |result| {
        format!("{}: {}", result.condition.text, words_of(result))
    });
    list("Differences between the sides", comparison.differences.iter(), &mut out, |difference| {
        format!("{}: {}", difference.subject, values(&difference.values))
    });
    list("Findings", comparison.notes.iter(), &mut out, |note| {
        format!("{}: {}", note.id, note.text)
    });
    out += "</body></html>\n";
    out
}

fn class(column: usize) -> &'static str {
    if (3..=7).contains(&column) { " class=\"n\"" } else { "" }
}

fn row(contrast: &Contrast, names: &[String; 9], several: bool, reach: f64, out: &mut String) {
    let colour = match contrast.verdict {
        CompareVerdict::Better => "better",
        CompareVerdict::Worse => "worse",
        CompareVerdict::CannotTell => "",
    };
    *out += "<tr>";
    for (i, cell) in cells(contrast, several).iter().enumerate() {
        match i {
            8 => {
                // The condition of the verdict follows in the next line.
                let word = escaped(cell.trim_end_matches(", if"));
                let _ = write!(out, "<td><span class=\"{colour}\">{word}</span>");
                if let Some(reason) = reason(contrast) {
                    // The reason begins with the word of the verdict.
                    let why = reason.strip_prefix(contrast.verdict.word()).unwrap_or(&reason);
                    let why = why.trim_start_matches(':').trim();
                    let _ = write!(out, "<br><span class=\"quiet\">{}</span>", escaped(why));
                }
                *out += "</td>";
            }
            i => {
                // A narrow window shows the heading in front of the value.
                let label = match (3..=7).contains(&i) {
                    true => format!(" data-label=\"{}\"", escaped(&names[i])),
                    false => String::new(),
                };
                let _ = write!(out, "<td{}{label}>{}</td>", class(i), escaped(cell));
            }
        }
    }
    let _ = writeln!(out, "<td>{}</td></tr>", drawing(contrast, reach, colour));
}

/// The largest change or end of an interval, in per cent, at most 100.
fn reach(comparison: &Comparison) -> f64 {
    let ends = comparison.contrasts.iter().flat_map(|contrast| {
        let (low, high) = contrast.interval_percent().unwrap_or((0.0, 0.0));
        [contrast.change_percent(), low, high]
    });
    let largest = ends.map(f64::abs).fold(1.0, f64::max).min(100.0);
    // One digit, rounded up.
    let digit = 10f64.powf(largest.log10().floor());
    (largest / digit).ceil() * digit
}

/// The interval of a change on a scale with 0 % in the middle.
fn drawing(contrast: &Contrast, reach: f64, colour: &str) -> String {
    let x = |percent: f64| WIDTH / 2.0 * (1.0 + (percent / reach).clamp(-1.0, 1.0));
    let middle = HEIGHT / 2.0;
    let mut out = format!(
        "<svg class=\"{colour}\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">\
         <line x1=\"{c:.1}\" x2=\"{c:.1}\" y1=\"0\" y2=\"{HEIGHT}\" stroke=\"currentColor\" stroke-opacity=\"0.4\"/>",
        words::interval(contrast.interval_percent()),
        c = WIDTH / 2.0,
    );
    if let Some((low, high)) = contrast.interval_percent() {
        let _ = write!(
            out,
            "<line x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle}\" y2=\"{middle}\" stroke=\"currentColor\" \
             stroke-width=\"4\" stroke-opacity=\"0.6\"/>",
            x(low),
            x(high)
        );
    }
    let at = x(contrast.change_percent());
    let _ =
        write!(out, "<circle cx=\"{at:.1}\" cy=\"{middle}\" r=\"4\" fill=\"currentColor\"/></svg>");
    out
}

fn list<T>(
    heading: &str,
    items: impl ExactSizeIterator<Item = T>,
    out: &mut String,
    line: impl Fn(T) -> String,
) {
    if items.len() == 0 {
        return;
    }
    let _ = writeln!(out, "<h2>{heading}</h2>\n<ul>");
    items.for_each(|item| {
        let _ = writeln!(out, "<li>{}</li>", escaped(&line(item)));
    });
    *out += "</ul>\n";
}

/// Text that HTML shows as it is.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}
