//! Formats results as a table, JSON or CSV.

use std::fmt::Write;

use fiord_stat::finding::Finding;
use fiord_stat::units;
use serde_json::{Value, json};

use crate::amount::{latency, scaled};
use crate::axis::{self, Axis, PointSettings};
use crate::columns::{Align, aligned};
use crate::runs::findings;
use crate::runs::outcome::{PERCENTILES, PointOutcome};
use crate::sweep::results::{Knee, LoadPoint, SweepResults};

/// The columns of [`numbers`].
pub const NUMBERS: [&str; 7] = ["IOPS", "BW", "mean", "p50", "p99", "p99.9", "CPU"];

/// Formats a table for people: one line for each point, followed by the knees.
#[must_use]
pub fn table(results: &SweepResults) -> String {
    let names = results.axes.iter().map(|a| a.name.clone());
    let mut rows: Vec<Vec<String>> =
        vec![names.chain(NUMBERS.iter().map(|n| n.to_string())).collect()];
    for (settings, outcome) in &results.points {
        let mut row = values(&results.axes, settings);
        row.extend(numbers(outcome));
        rows.push(row);
    }
    let mut out = aligned(&rows, |_| Align::Right);
    for knee in &results.knees {
        let _ = writeln!(out, "\n{}", sentence(knee));
    }
    if !results.loads.is_empty() {
        out += &loads(results);
    }
    out += &findings::lines(&found(results));
    if !results.complete {
        let _ = writeln!(out, "\nnot all points are done. To fix: run the same command to resume");
    }
    out
}

/// Returns the findings of all runs with a label for each run.
fn found(results: &SweepResults) -> Vec<(String, &[Finding])> {
    let points = results.points.iter();
    let points = points.map(|(settings, outcome)| (axis::words(settings), outcome));
    let loads = results.loads.iter();
    let loads = loads.map(|load| (format!("{}% load", load.percent), &load.outcome));
    points.chain(loads).map(|(run, outcome)| (run, outcome.findings.as_slice())).collect()
}

/// Formats the table of latency against load.
fn loads(results: &SweepResults) -> String {
    let mut rows: Vec<Vec<String>> =
        vec![["load", "rate_iops"].iter().chain(&NUMBERS).map(|n| n.to_string()).collect()];
    for load in &results.loads {
        let mut row = vec![format!("{}%", load.percent), load.rate.clone()];
        row.extend(numbers(&from_due(&load.outcome)));
        rows.push(row);
    }
    let knee = match results.load_knee {
        Some(percent) => {
            format!("knee at {percent}% load: above it, latency grows but throughput does not")
        }
        None => "no knee: throughput grows with latency over all these loads".into(),
    };
    format!(
        "\nlatency from the intended start of each I/O:\n{}\n{knee}\n",
        aligned(&rows, |_| Align::Right)
    )
}

/// Returns the outcome with its latencies replaced by those from the intended start.
fn from_due(outcome: &PointOutcome) -> PointOutcome {
    let due = outcome.due.clone();
    PointOutcome {
        mean_ns: due.as_ref().map(|d| d.mean_ns),
        percentiles: due.map(|d| d.percentiles).unwrap_or_default(),
        ..outcome.clone()
    }
}

fn values(axes: &[Axis], settings: &PointSettings) -> Vec<String> {
    axes.iter().map(|a| axis::value(settings, &a.name).unwrap_or_default().to_owned()).collect()
}

/// Formats results, one cell for each column of [`NUMBERS`].
pub fn numbers(outcome: &PointOutcome) -> Vec<String> {
    let mut row = vec![
        scaled(outcome.iops, units::COUNT),
        scaled(outcome.bw_bytes.0 as f64, units::BINARY_RATE),
        outcome.mean_ns.map_or("-".into(), latency),
    ];
    for i in 0..PERCENTILES.len() {
        row.push(outcome.percentiles.get(i).map_or("-".into(), |time| latency(time.as_f64())));
    }
    row.push(format!("{:.0}%", outcome.cpu_percent));
    row
}

/// Describes a knee in one sentence.
fn sentence(knee: &Knee) -> String {
    let with = match knee.with.is_empty() {
        true => String::new(),
        false => format!("{}: ", axis::words(&knee.with)),
    };
    match &knee.at {
        Some((value, outcome)) => format!(
            "{with}knee at {}={value}: {} IOPS, {}; the next step gains less than 5 % throughput \
             for more latency",
            knee.along,
            scaled(outcome.iops, units::COUNT),
            outcome
                .mean_ns
                .map_or("latency not measured".into(), |ns| format!("{} mean", latency(ns))),
        ),
        None => format!("{with}no knee along {}: every step pays off", knee.along),
    }
}

/// Formats results as one JSON document.
#[must_use]
pub fn json(results: &SweepResults) -> String {
    let object = |settings: &PointSettings| -> Value {
        settings.iter().map(|(n, v)| (n.clone(), Value::from(v.clone()))).collect()
    };
    let measured = |outcome: &PointOutcome| {
        let mut point = serde_json::Map::new();
        point.insert("iops".into(), json!(outcome.iops));
        point.insert("bw_bytes".into(), json!(outcome.bw_bytes));
        point.insert("clat_ns".into(), outcome.latency().into());
        if let Some(due) = &outcome.due {
            point.insert("intended_lat_ns".into(), due.latency().into());
        }
        point.insert("cpu_percent".into(), json!(outcome.cpu_percent));
        point.insert("runtime_ms".into(), json!(outcome.runtime.as_millis()));
        if !outcome.findings.is_empty() {
            point.insert("findings".into(), json!(outcome.findings));
        }
        point
    };
    let point = |(settings, outcome): &(PointSettings, PointOutcome)| {
        let mut point = serde_json::Map::new();
        point.insert("settings".into(), object(settings));
        point.append(&mut measured(outcome));
        point
    };
    let load = |load: &LoadPoint| {
        let mut point = serde_json::Map::new();
        point.insert("load_percent".into(), json!(load.percent));
        point.insert("rate_iops".into(), json!(load.rate));
        point.append(&mut measured(&load.outcome));
        point
    };
    let knee = |knee: &Knee| {
        json!({
            "along": knee.along,
            "with": object(&knee.with),
            "at": knee.at.as_ref().map(|(value, _)| value),
        })
    };
    let mut document = json!({
        "job": results.job,
        "points": results.points.iter().map(point).collect::<Vec<_>>(),
        "knees": results.knees.iter().map(knee).collect::<Vec<_>>(),
        "complete": results.complete,
    });
    if !results.loads.is_empty() {
        document["loads"] = results.loads.iter().map(load).collect();
        document["load_knee_percent"] = json!(results.load_knee);
    }
    format!("{document:#}\n")
}

/// Formats results as CSV: one line for each point with its settings and numbers in base units.
pub fn csv(results: &SweepResults) -> String {
    if !results.loads.is_empty() {
        return loads_csv(results);
    }
    let heads = ["iops", "bw_bytes", "mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "cpu_percent"];
    let names = results.axes.iter().map(|a| quoted(&a.name));
    let mut out = names.chain(heads.map(String::from)).collect::<Vec<_>>().join(",") + "\n";
    for (settings, outcome) in &results.points {
        let mut row: Vec<String> =
            values(&results.axes, settings).iter().map(|v| quoted(v)).collect();
        row.extend(fields(outcome));
        out += &(row.join(",") + "\n");
    }
    out
}

/// Formats the runs of `--rate` as CSV, with the latencies from the intended start.
fn loads_csv(results: &SweepResults) -> String {
    let mut out = String::from(
        "load_percent,rate_iops,iops,bw_bytes,due_mean_ns,due_p50_ns,due_p99_ns,due_p99.9_ns,\
         cpu_percent\n",
    );
    for load in &results.loads {
        let mut row = vec![load.percent.to_string(), quoted(&load.rate)];
        row.extend(fields(&from_due(&load.outcome)));
        out += &(row.join(",") + "\n");
    }
    out
}

fn fields(outcome: &PointOutcome) -> Vec<String> {
    let mut row = vec![format!("{:.3}", outcome.iops), outcome.bw_bytes.to_string()];
    row.push(outcome.mean_ns.map_or(String::new(), |ns| format!("{ns:.3}")));
    for i in 0..PERCENTILES.len() {
        row.push(outcome.percentiles.get(i).map_or(String::new(), |time| time.0.to_string()));
    }
    row.push(format!("{:.2}", outcome.cpu_percent));
    row
}

/// Quotes a CSV field if necessary (RFC 4180).
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, Nanos};

    use super::*;

    fn results() -> SweepResults {
        let axis = |name: &str, values: &[&str]| Axis {
            name: name.into(),
            values: values.iter().map(|v| v.to_string()).collect(),
        };
        let outcome = |iops: f64| PointOutcome {
            iops,
            bw_bytes: Bytes(iops as u64 * 4096),
            mean_ns: Some(101_500.0),
            percentiles: [99_328, 120_000, 1_200_000].map(Nanos).to_vec(),
            cpu_percent: 12.4,
            runtime: Nanos::from_secs(1),
            ..PointOutcome::default()
        };
        let at =
            |depth: &str| vec![("bs".into(), "4k,8k".into()), ("iodepth".into(), depth.into())];
        SweepResults {
            job: "job".into(),
            axes: vec![axis("bs", &["4k,8k"]), axis("iodepth", &["1", "2"])],
            points: vec![
                (at("1"), outcome(9852.0)),
                (at("2"), PointOutcome { mean_ns: None, percentiles: vec![], ..outcome(1e6) }),
            ],
            knees: vec![Knee {
                along: "iodepth".into(),
                with: vec![("bs".into(), "4k,8k".into())],
                at: Some(("1".into(), outcome(9852.0))),
            }],
            loads: Vec::new(),
            load_knee: None,
            complete: true,
        }
    }

    #[test]
    fn a_table() {
        let text = table(&results());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "   bs  iodepth   IOPS          BW     mean      p50      p99   p99.9  CPU"
        );
        assert_eq!(
            lines[1],
            "4k,8k        1  9.85k  38.48MiB/s  101.5us  99.33us  120.0us  1.20ms  12%"
        );
        assert!(
            lines[2].ends_with("1.00M   3.81GiB/s        -        -        -       -  12%"),
            "{text}"
        );
        assert!(lines[4].starts_with("bs=4k,8k: knee at iodepth=1: 9.85k IOPS, 101.5us mean;"));
    }

    #[test]
    fn csv_and_json_are_well_formed() {
        let text = csv(&results());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1], "\"4k,8k\",1,9852.000,40353792,101500.000,99328,120000,1200000,12.40");
        assert_eq!(lines[2], "\"4k,8k\",2,1000000.000,4096000000,,,,,12.40");
        let document: Value = serde_json::from_str(&json(&results())).unwrap();
        assert_eq!(document["points"][0]["settings"]["iodepth"], "1");
        assert_eq!(document["points"][0]["clat_ns"]["p99.9"], 1_200_000);
        assert_eq!(document["knees"][0]["at"], "1");
    }
}
