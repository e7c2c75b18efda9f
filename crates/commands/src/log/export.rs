//! Logs as CSV and JSON.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use super::collect::{Collected, LogTrack};
use super::source::ReadLog;
use super::table::value_unit;
use super::timeline::LogTimeline;

/// One line for each window. Times are milliseconds, latencies nanoseconds, rates bytes or I/Os per second.
pub(super) fn csv(collected: &Collected) -> String {
    let mut text = String::from("kind,direction,from_ms,to_ms,ios,mean_ns");
    for percentile in &collected.percentiles {
        let _ = write!(text, ",p{percentile}_ns");
    }
    text.push_str(",max_ns,rate\n");
    for timeline in &collected.timelines {
        for (index, window) in timeline.windows.iter().enumerate() {
            let (from, to) = timeline.span(index);
            let (kind, dir) = (timeline.kind.name(), timeline.dir.name());
            let _ = write!(text, "{kind},{dir},{from},{to}");
            if !timeline.kind.is_latency() {
                let empty = ",".repeat(collected.percentiles.len() + 3);
                let _ = writeln!(text, "{empty},{:.3}", timeline.rate(index));
                continue;
            }
            let _ = write!(text, ",{}", window.latencies.count());
            let Some(mean) = window.mean() else {
                let _ = writeln!(text, "{}", ",".repeat(collected.percentiles.len() + 3));
                continue;
            };
            let _ = write!(text, ",{mean:.1}");
            for (_, latency) in window.latencies.percentiles(&collected.percentiles) {
                let _ = write!(text, ",{}", latency.0);
            }
            let _ = writeln!(text, ",{},", window.most.0);
        }
    }
    text
}

/// Everything that is known about the logs.
pub(super) fn json(collected: &Collected, read: &[ReadLog]) -> String {
    let logs: Vec<Value> =
        collected.tracks.iter().map(|track| log(track, &collected.percentiles)).collect();
    let timelines: Vec<Value> =
        collected.timelines.iter().map(|t| over_time(t, &collected.percentiles)).collect();
    let files: Vec<Value> = read
        .iter()
        .map(|read| {
            json!({
                "file": read.name,
                "skipped": read.skipped(),
                "truncated": read.truncated.is_some(),
            })
        })
        .collect();
    let document = json!({
        "files": files,
        "logs": logs,
        "empty": collected.empty,
        "notes": collected.notes(),
        "timelines": timelines,
    });
    format!("{document:#}\n")
}

fn log(track: &LogTrack, percentiles: &[f64]) -> Value {
    let count = track.values.count();
    let scale = value_unit(track.kind);
    let mut values = json!({
        "log": track.name,
        "kind": track.kind.name(),
        "direction": track.dir.name(),
        "rows": track.rows(),
        "windowed": track.is_windowed(),
        "first_ms": track.times().0,
        "last_ms": track.times().1,
    });
    if !track.kind.is_latency() {
        values["rate"] = json!(track.amount * 1000.0 / track.duration() as f64);
    }
    if let Some(coarseness) = track.coarseness {
        values["coarseness"] = json!(coarseness);
        values["ios"] = json!(track.ios());
    }
    if count > 0 {
        let scaled = |value: f64| json!(value * scale);
        values["mean"] = scaled(track.sum / count as f64);
        values["min"] = scaled(track.extremes().0 as f64);
        values["max"] = scaled(track.extremes().1 as f64);
        let found = track.values.percentiles(percentiles).into_iter();
        let found: Map<String, Value> =
            found.map(|(p, v)| (p.to_string(), scaled(v.0 as f64))).collect();
        values["percentiles"] = Value::Object(found);
    }
    values
}

fn over_time(timeline: &LogTimeline, percentiles: &[f64]) -> Value {
    let windows = timeline.windows.iter().enumerate().map(|(index, window)| {
        let (from, to) = timeline.span(index);
        let mut values = json!({ "from_ms": from, "to_ms": to });
        if !timeline.kind.is_latency() {
            values["rate"] = json!(timeline.rate(index));
            return values;
        }
        values["ios"] = json!(window.latencies.count());
        if let Some(mean) = window.mean() {
            values["mean"] = json!(mean);
            let found = window.latencies.percentiles(percentiles).into_iter();
            let found: Map<String, Value> =
                found.map(|(p, v)| (p.to_string(), json!(v.0))).collect();
            values["percentiles"] = Value::Object(found);
            values["max"] = json!(window.most.0);
        }
        values
    });
    json!({
        "kind": timeline.kind.name(),
        "direction": timeline.dir.name(),
        "window_ms": timeline.width_ms(),
        "windows": windows.collect::<Vec<_>>(),
    })
}
