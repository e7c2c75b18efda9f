//! Bars: shares of a whole, pairs of values, and small curves for tables.

use std::fmt::Write;

use crate::svg::{Coordinate, Escaped, path};

use super::frame::part_legend;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 150.0;
const ROW: f64 = 24.0;
const GAP: f64 = 8.0;

/// A row of shares of a whole.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareRow {
    /// What the whole is.
    pub name: String,
    /// The share of each part, 0 to 1, in the order of the names of the parts.
    pub shares: Vec<f64>,
}

/// Draws one bar of shares for each row. `parts` are the names of the parts; `label` describes the bars for those who do
/// not see them.
#[must_use]
pub fn share_bars(label: &str, parts: &[&str], rows: &[ShareRow]) -> String {
    let height = rows.len() as f64 * (ROW + GAP);
    let mut out = format!(
        "<svg class=\"chart bars\" viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}\">\n",
        Coordinate(height.max(1.0)),
        Escaped(label)
    );
    for (at, row) in rows.iter().enumerate() {
        let top = at as f64 * (ROW + GAP);
        let name: String = row.name.chars().take(22).collect();
        let _ = writeln!(
            out,
            "<text class=\"end\" x=\"{}\" y=\"{}\">{}</text>",
            LEFT - 8.0,
            Coordinate(top + ROW / 2.0 + 4.0),
            Escaped(&name)
        );
        let mut left = LEFT;
        for (part, share) in row.shares.iter().enumerate() {
            let width = (share.clamp(0.0, 1.0) * (WIDTH - LEFT - 2.0)).max(0.0);
            if width < 0.2 {
                continue;
            }
            let word = parts.get(part).copied().unwrap_or_default();
            let percent = share * 100.0;
            let _ = writeln!(
                out,
                "<rect class=\"part p{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{ROW}\"><title>{}: {percent:.2}\u{202f}%</title></rect>",
                part % 8,
                Coordinate(left),
                Coordinate(top),
                Coordinate(width),
                Escaped(word)
            );
            if width > 44.0 {
                let (x, y) = (Coordinate(left + width / 2.0), Coordinate(top + ROW / 2.0 + 4.0));
                let _ = writeln!(
                    out,
                    "<text class=\"mid inpart q{}\" x=\"{x}\" y=\"{y}\">{percent:.0}\u{202f}%</text>",
                    part % 8
                );
            }
            left += width;
        }
    }
    out.push_str("</svg>\n");
    part_legend(parts, &mut out);
    out
}

/// Draws a bar whose length is a share of the longest, for a cell of a table.
#[must_use]
pub fn cell_bar(share: f64, number: usize) -> String {
    let width = Coordinate(share.clamp(0.0, 1.0) * 98.0 + 2.0);
    format!(
        "<svg class=\"cell\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <path class=\"part p{}\" d=\"M0 0h{width}v10H0z\"/></svg>",
        number % 8
    )
}

/// Draws a small curve without axes for a cell of a table, from 0 to its highest value. Empty without two values.
#[must_use]
pub fn sparkline(values: &[f64]) -> String {
    const POINTS: usize = 60;
    if values.len() < 2 {
        return String::new();
    }
    let join = values.len().div_ceil(POINTS);
    let means: Vec<f64> =
        values.chunks(join).map(|part| part.iter().sum::<f64>() / part.len() as f64).collect();
    let most = means.iter().copied().fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let last = (means.len() - 1).max(1) as f64;
    let points = means.iter().enumerate().map(|(at, value)| {
        // Whole units are exact enough here, and a table may have a thousand of these.
        ((at as f64 / last * 118.0 + 1.0).round(), (21.0 - value / most * 20.0).round())
    });
    let d = path(points);
    format!(
        "<svg class=\"spark\" viewBox=\"0 0 120 22\" aria-hidden=\"true\"><path d=\"{d}\"/></svg>"
    )
}
