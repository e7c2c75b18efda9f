//! Logs as tables.

use std::fmt::Write as _;

use fiord_formats::log::LogKind;

use super::collect::{Collected, LogTrack};
use super::timeline::LogTimeline;
use crate::amount;
use crate::columns::{self, Align};

/// Rows of the table over time.
const ROWS: usize = 40;
const NONE: &str = "-";

/// One line for each log and direction.
pub(super) fn summary(collected: &Collected) -> String {
    let mut head: Vec<String> = ["log", "kind", "direction", "rows", "from", "to", "rate", "mean"]
        .map(str::to_owned)
        .into();
    head.extend(collected.percentiles.iter().map(|p| format!("{p} %")));
    head.push("max".to_owned());
    let mut rows = vec![head];
    rows.extend(collected.tracks.iter().map(|track| line(track, &collected.percentiles)));
    let mut text = columns::aligned(&rows, |column| match column {
        0..=2 => Align::Left,
        _ => Align::Right,
    });
    for name in &collected.empty {
        let _ = writeln!(text, "{name}: no rows");
    }
    with_notes(text, collected)
}

fn with_notes(mut text: String, collected: &Collected) -> String {
    for note in collected.notes() {
        let _ = writeln!(text, "\nnote: {note}");
    }
    text
}

fn line(track: &LogTrack, percentiles: &[f64]) -> Vec<String> {
    let (first, last) = track.times();
    let mut line = vec![
        track.name.clone(),
        track.kind.name().to_owned(),
        track.dir.name().to_owned(),
        track.rows().to_string(),
        milliseconds(first),
        milliseconds(last),
    ];
    let rate = track.amount * 1000.0 / track.duration() as f64;
    line.push(if track.kind.is_latency() { NONE.to_owned() } else { value(track.kind, rate) });
    let count = track.values.count();
    if count == 0 {
        line.extend(std::iter::repeat_n(NONE.to_owned(), percentiles.len() + 2));
        return line;
    }
    let scale = value_unit(track.kind);
    line.push(value(track.kind, track.sum / count as f64 * scale));
    let found = track.values.percentiles(percentiles);
    line.extend(found.iter().map(|(_, v)| value(track.kind, v.0 as f64 * scale)));
    line.push(value(track.kind, track.extremes().1 as f64 * scale));
    line
}

/// Values of a bandwidth log are in KiB/s; everything here is in bytes per second, I/Os per second or nanoseconds.
pub(super) fn value_unit(kind: LogKind) -> f64 {
    if kind == LogKind::Bandwidth { 1024.0 } else { 1.0 }
}

/// Formats bytes per second, I/Os per second or nanoseconds.
pub(super) fn value(kind: LogKind, value: f64) -> String {
    match kind {
        LogKind::Bandwidth => amount::scaled(value, fiord_stat::units::BINARY_RATE),
        LogKind::Iops => amount::scaled(value, fiord_stat::units::COUNT),
        _ => amount::latency(value),
    }
}

/// Formats a time in milliseconds as seconds.
pub(super) fn milliseconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}

/// Percentiles or rates of windows.
pub(super) fn over_time(collected: &Collected) -> String {
    let tables: Vec<String> = collected
        .timelines
        .iter()
        .map(|timeline| {
            let fits = timeline.given().then(|| timeline.clone());
            over_time_of(&fits.unwrap_or_else(|| timeline.coarser(ROWS)), &collected.percentiles)
        })
        .collect();
    with_notes(tables.join("\n"), collected)
}

fn over_time_of(timeline: &LogTimeline, percentiles: &[f64]) -> String {
    let kind = timeline.kind;
    let mut head = vec!["from".to_owned(), "to".to_owned()];
    match kind.is_latency() {
        true => {
            head.extend(["I/Os".to_owned(), "mean".to_owned()]);
            head.extend(percentiles.iter().map(|p| format!("{p} %")));
            head.push("max".to_owned());
        }
        false => head.push("rate".to_owned()),
    }
    let mut rows = vec![head];
    for (index, window) in timeline.windows.iter().enumerate() {
        let (from, to) = timeline.span(index);
        let mut row = vec![milliseconds(from), milliseconds(to)];
        match window.mean() {
            _ if !kind.is_latency() => row.push(value(kind, timeline.rate(index))),
            None => {
                row.push("0".to_owned());
                row.extend(std::iter::repeat_n(NONE.to_owned(), percentiles.len() + 2));
            }
            Some(mean) => {
                row.extend([window.latencies.count().to_string(), value(kind, mean)]);
                let found = window.latencies.percentiles(percentiles);
                row.extend(found.iter().map(|(_, v)| value(kind, v.0 as f64)));
                row.push(value(kind, window.most.0 as f64));
            }
        }
        rows.push(row);
    }
    let title = format!("{} {}", kind.name(), timeline.dir.name());
    format!("{title}\n{}", columns::aligned(&rows, |_| Align::Right))
}
