//! Formats results as a table or JSON.

use std::fmt::Write;

use fiord_stat::finding::Finding;
use fiord_stat::units::BINARY_RATE;
use serde_json::{Map, Value, json};

use crate::amount::{exact, scaled};
use crate::axis::{self, words};
use crate::columns::{Align, aligned};
use crate::runs::findings;
use crate::suite::definition::Definition;
use crate::suite::device::SuiteDevice;
use crate::suite::row::{REACHED, Row};
use crate::sweep::table::{NUMBERS, numbers};

#[derive(Debug)]
pub struct SuiteResults<'a> {
    pub suite: &'a Definition,
    pub device: &'a SuiteDevice,
    /// One row for each measured step.
    pub rows: Vec<Row>,
    /// Points that this device does not support, with the reason.
    pub left_out: &'a [String],
    /// Whether all steps are finished.
    pub complete: bool,
}

/// Formats a table for people.
pub fn text(results: &SuiteResults) -> String {
    let device = results.device;
    let mut out = format!(
        "{} on {}: {} zones of {}, up to {} open\n\n",
        results.suite.name,
        device.path.display(),
        device.zones(),
        exact(device.capacity),
        device.writers()
    );
    let axes: Vec<&str> = results.suite.axes.iter().map(|(name, _)| *name).collect();
    let rated = results.rows.iter().any(|row| row.rate.is_some());
    let mut heading: Vec<String> = axes.iter().map(|name| name.to_string()).collect();
    if rated {
        heading.push("written".into());
    }
    heading.extend(NUMBERS.map(String::from));
    let mut lines = vec![heading];
    let mut void = 0;
    for row in &results.rows {
        let mut line: Vec<String> = axes.iter().map(|name| value(row, name)).collect();
        if rated {
            let bw = |bytes: u64| scaled(bytes as f64, BINARY_RATE);
            line.push(row.rate.map_or("-".into(), |rate| bw(rate.written.0)));
        }
        let mut cells = numbers(&row.outcome);
        if row.is_void() {
            void += 1;
            // Columns of the mean and the percentiles, between throughput and CPU.
            let end = cells.len() - 1;
            cells[2..end].fill("void".into());
        }
        line.extend(cells);
        lines.push(line);
    }
    out += &aligned(&lines, |_| Align::Right);
    if void > 0 {
        let _ = writeln!(
            out,
            "\nvoid: the writes reached less than {REACHED} % of their rate, so the latency does not apply to that \
             rate"
        );
    }
    let rows = results.rows.iter();
    let found: Vec<(String, &[Finding])> =
        rows.map(|row| (words(&row.settings), row.outcome.findings.as_slice())).collect();
    out += &findings::lines(&found);
    for left in results.left_out {
        let _ = writeln!(out, "left out: {left}");
    }
    if !results.complete {
        let _ = writeln!(out, "\nnot all runs are done. To fix: run the same command to resume");
    }
    out
}

fn value(row: &Row, axis: &str) -> String {
    axis::value(&row.settings, axis).unwrap_or_default().to_owned()
}

/// Formats results as JSON.
pub fn json(results: &SuiteResults) -> String {
    let device = results.device;
    let rows: Vec<Value> = results.rows.iter().map(row).collect();
    let document = json!({
        "suite": results.suite.name,
        "device": {
            "path": device.path.display().to_string(),
            "model": device.facts.model.word(),
            "zones": device.zones(),
            "first_zone": device.region.start,
            "zone_size_bytes": device.facts.zone_size,
            "zone_capacity_bytes": device.capacity,
            "max_open_zones": device.facts.max_open,
            "max_active_zones": device.facts.max_active,
        },
        "rows": rows,
        "left_out": results.left_out,
        "complete": results.complete,
    });
    format!("{document:#}\n")
}

/// Formats a row as JSON. A void latency is `null`, so that no program uses it.
fn row(row: &Row) -> Value {
    let settings: Map<String, Value> =
        row.settings.iter().map(|(name, value)| (name.clone(), value.clone().into())).collect();
    let outcome = &row.outcome;
    let mut value = json!({
        "settings": settings,
        "iops": outcome.iops,
        "bw_bytes": outcome.bw_bytes,
        "clat_ns": if row.is_void() { Value::Null } else { outcome.latency().into() },
        "cpu_percent": outcome.cpu_percent,
        "runtime_ms": outcome.runtime.as_millis(),
        "file": row.file,
    });
    if !outcome.findings.is_empty() {
        value["findings"] = json!(outcome.findings);
    }
    if let Some(rate) = row.rate {
        value["write_rate"] = json!({
            "target_bytes": rate.target,
            "written_bytes": rate.written,
            "reached": rate.is_reached(),
        });
    }
    value
}
