//! The heat strip: which latencies how often, over time.

use fiord_types::Nanos;
use ratatui_core::style::Style;

use super::numbers;
use super::pen::Pen;
use crate::history::{BANDS, LEVELS, LiveHistory, band_start};

/// Columns of the labels at the left.
const LABELS: u16 = 8;

/// The shares that the levels stand for.
const LEGEND: [&str; LEVELS] = ["", "<0.1%", "<1%", "<10%", "<40%", "more"];

/// The rows that the strip and its title use if they can have `height` rows.
pub(super) fn rows(history: &LiveHistory, width: u16, height: u16) -> u16 {
    let ticks = history.last(width.saturating_sub(LABELS).into()).map(|tick| &tick.heat);
    let used = |band: &usize| ticks.clone().any(|heat| heat[*band] > 0);
    let (low, high) = ((0..BANDS).find(used), (0..BANDS).rev().find(used));
    let bands = low.zip(high).map_or(1, |(low, high)| high - low + 1);
    let (_, rows) = merged(bands, height.saturating_sub(1));
    u16::try_from(rows + 1).unwrap_or(u16::MAX).min(height)
}

/// How many bands are one row, and how many rows that makes, if there can be `rows`.
fn merged(bands: usize, rows: u16) -> (usize, usize) {
    let each = bands.div_ceil(usize::from(rows.max(1)));
    (each, bands.div_ceil(each.max(1)))
}

/// Draws the strip with a title. The newest interval is at the right.
pub(super) fn heat(pen: &mut Pen<'_>, history: &LiveHistory, interval: Nanos) {
    let (width, height) = (pen.width().saturating_sub(LABELS), pen.height());
    if width == 0 || height < 2 {
        return;
    }
    let ticks: Vec<&[u8; BANDS]> = history.last(width.into()).map(|tick| &tick.heat).collect();
    let used = |band: &usize| ticks.iter().any(|heat| heat[*band] > 0);
    let span = Nanos(interval.0.saturating_mul(ticks.len() as u64));
    title(pen, span);
    let (Some(low), Some(high)) = ((0..BANDS).find(used), (0..BANDS).rev().find(used)) else {
        pen.text(LABELS, 1, "no latencies yet", pen.look.label());
        return;
    };
    let (bands, rows) = merged(high - low + 1, height - 1);
    let start = LABELS + width - u16::try_from(ticks.len()).unwrap_or(width);
    for (row, y) in (0..rows).rev().zip(1..) {
        let first = low + row * bands;
        let label = if first == 0 { "0".to_owned() } else { numbers::latency(band_start(first)) };
        pen.right(0, y, LABELS - 1, &label, pen.look.label());
        for (x, heat) in (start..).zip(&ticks) {
            let last = (first + bands).min(BANDS);
            let level = heat[first..last].iter().copied().max().unwrap_or(0);
            let (symbol, style) = pen.look.heat(level.into());
            pen.put(x, y, symbol, style);
        }
    }
}

/// The title, with the time that the strip covers and the meaning of its levels.
fn title(pen: &mut Pen<'_>, span: Nanos) {
    let title = match span.as_secs() {
        0 => "Latency".to_owned(),
        seconds => format!("Latency, last {seconds} s"),
    };
    pen.rule(0, &title);
    let mut x = u16::try_from(title.len()).unwrap_or(0) + 3;
    let legend = "share of I/Os:";
    if pen.width() < x + 60 {
        return;
    }
    x = pen.text(x, 0, legend, pen.look.label()) + 1;
    for (level, words) in LEGEND.iter().enumerate().skip(1) {
        let (symbol, style) = pen.look.heat(level);
        pen.put(x, 0, symbol, style);
        x = pen.text(x + 1, 0, words, Style::new()) + 1;
    }
    pen.put(x - 1, 0, ' ', Style::new());
}
