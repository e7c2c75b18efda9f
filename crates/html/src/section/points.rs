//! Points of a sweep and rows of a suite: their table, and how points become curves.

use std::fmt::Write;

use serde_json::{Map, Value};

use crate::quantity::Quantity;
use crate::result::PointDocument;

use super::element::{HtmlCell, HtmlTable, head, html};

/// A line of points that differ only in one option: the values of the other options, and the points.
pub(crate) type PointLine<'a> = (String, Vec<&'a PointDocument>);

/// The options of the points, in order.
pub(crate) fn names(points: &[PointDocument]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for name in points.iter().flat_map(|point| point.settings.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    names
}

pub(crate) fn text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Settings on one line: `bs=4k iodepth=8`.
pub(crate) fn words<'a>(settings: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let mut words = String::new();
    for (name, value) in settings {
        let gap = if words.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(words, "{gap}{name}={}", text(Some(value)));
    }
    words
}

/// A latency of a point, ns: `mean`, `p50` … `None` if it was not measured or does not count.
pub(crate) fn latency(latencies: Option<&Map<String, Value>>, key: &str) -> Option<f64> {
    latencies?.get(key)?.as_f64()
}

/// The points as lines along an option, in their order.
pub(crate) fn lines<'a>(points: &'a [PointDocument], along: &str) -> Vec<PointLine<'a>> {
    let mut lines: Vec<PointLine<'a>> = Vec::new();
    for point in points {
        let rest = words(point.settings.iter().filter(|(name, _)| *name != along));
        match lines.iter_mut().find(|(with, _)| *with == rest) {
            Some((_, line)) => line.push(point),
            None => lines.push((rest, vec![point])),
        }
    }
    lines
}

/// The table of points. `intended`: with the latencies from the intended start instead of the actual ones.
pub(crate) fn table(caption: &str, points: &[PointDocument], intended: bool) -> String {
    let options = names(points);
    let loads = points.iter().any(|point| point.load_percent.is_some());
    let mut heading: Vec<&str> = if loads { vec!["load"] } else { Vec::new() };
    heading.extend(&options);
    let texts = heading.len();
    heading.extend(["IOPS", "bandwidth", "mean", "p50", "p99", "p99.9", "CPU", "findings"]);
    let row = |point: &PointDocument| {
        let mut row = Vec::new();
        if loads {
            row.push(HtmlCell::text(
                &point.load_percent.map_or(String::new(), |p| Quantity::Percent.text(p)),
            ));
        }
        row.extend(options.iter().map(|name| HtmlCell::text(&text(point.settings.get(*name)))));
        let number = |quantity: Quantity, value: Option<f64>| {
            HtmlCell::number(&value.map_or("–".into(), |value| quantity.text(value)))
        };
        row.push(number(Quantity::OpRate, Some(point.iops)));
        row.push(number(Quantity::ByteRate, Some(point.bw_bytes)));
        let times = if intended { &point.intended_lat_ns } else { &point.clat_ns };
        let keys = ["mean", "p50", "p99", "p99.9"];
        row.extend(keys.map(|key| number(Quantity::Latency, latency(times.as_ref(), key))));
        row.push(number(Quantity::Percent, point.cpu_percent));
        row.push(HtmlCell::number(&match point.findings.len() {
            0 => "–".to_owned(),
            n => n.to_string(),
        }));
        row
    };
    let rows = points.iter().map(row).collect();
    html(&HtmlTable { caption: caption.into(), head: head(&heading, texts.max(1)), rows })
}
