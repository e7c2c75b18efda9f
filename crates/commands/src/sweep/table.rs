//! Formats results as a table for people.

use std::fmt::Write;

use fiord_stat::finding::Finding;
use fiord_stat::units;

use crate::amount::{latency, scaled};
use crate::axis::{self, Axis, PointSettings};
use crate::columns::{Align, aligned};
use crate::runs::findings;
use crate::runs::outcome::{PERCENTILES, PointOutcome};
use crate::sweep::measured::RepeatedOutcome;
use crate::sweep::results::SweepResults;
use crate::sweep::words;

/// The columns of [`numbers`].
pub const NUMBERS: [&str; 7] = ["IOPS", "BW", "mean", "p50", "p99", "p99.9", "CPU"];

/// Formats a table for people: one line for each point, followed by the knees.
#[must_use]
pub fn table(results: &SweepResults) -> String {
    let repeated = results.points.iter().any(|point| point.results.runs.len() > 1);
    let names = results.axes.iter().map(|a| a.name.clone());
    let mut rows: Vec<Vec<String>> = vec![names.chain(heads(repeated)).collect()];
    for point in &results.points {
        let mut row = values(&results.axes, &point.settings);
        row.extend(cells(&point.results, &point.results.median, repeated));
        rows.push(row);
    }
    let mut out = aligned(&rows, |_| Align::Right);
    for knee in &results.knees {
        let _ = writeln!(out, "\n{}", words::knee(knee));
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
    let points = points.map(|point| (axis::words(&point.settings), &point.results.median));
    let loads = results.loads.iter();
    let loads = loads.map(|load| (format!("{}% load", load.percent), &load.results.median));
    points.chain(loads).map(|(run, outcome)| (run, outcome.findings.as_slice())).collect()
}

/// Formats the table of latency against load.
fn loads(results: &SweepResults) -> String {
    let repeated = results.loads.iter().any(|load| load.results.runs.len() > 1);
    let names = ["load", "rate_iops"].map(String::from).into_iter();
    let mut rows: Vec<Vec<String>> = vec![names.chain(heads(repeated)).collect()];
    for load in &results.loads {
        let mut row = vec![format!("{}%", load.percent), load.rate.clone()];
        row.extend(cells(&load.results, &from_due(&load.results.median), repeated));
        rows.push(row);
    }
    let rows = aligned(&rows, |_| Align::Right);
    let knee = results.load_knee.as_ref().map(|knee| format!("\n{}\n", words::knee(knee)));
    let knee = knee.unwrap_or_default();
    format!("\nlatency from the intended start of each I/O:\n{rows}{knee}")
}

/// The columns of numbers. Repeated runs have one more: how far the true rate can be from the measured one.
fn heads(repeated: bool) -> Vec<String> {
    let mut heads: Vec<String> = NUMBERS.iter().map(|n| n.to_string()).collect();
    if repeated {
        heads.insert(1, "±".into());
    }
    heads
}

/// The cells of these columns.
fn cells(results: &RepeatedOutcome, shown: &PointOutcome, repeated: bool) -> Vec<String> {
    let mut cells = numbers(shown);
    if repeated {
        let half = results.iops_half_width().map(|half| format!("{:.1}%", half * 100.0));
        cells.insert(1, half.unwrap_or("-".into()));
    }
    cells
}

/// Returns the outcome with its latencies replaced by those from the intended start.
pub(super) fn from_due(outcome: &PointOutcome) -> PointOutcome {
    let due = outcome.due.clone();
    PointOutcome {
        mean_ns: due.as_ref().map(|d| d.mean_ns),
        percentiles: due.map(|d| d.percentiles).unwrap_or_default(),
        ..outcome.clone()
    }
}

/// The values of the axes at a point.
pub(super) fn values(axes: &[Axis], settings: &PointSettings) -> Vec<String> {
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

#[cfg(test)]
mod tests {
    use fiord_types::{Bytes, Nanos};
    use serde_json::Value;

    use super::*;
    use crate::sweep::csv::csv;
    use crate::sweep::json::json;
    use crate::sweep::knee::{KneeBasis, KneeEstimate};
    use crate::sweep::results::{Knee, SweepPoint};

    fn outcome_of(iops: f64) -> PointOutcome {
        PointOutcome {
            iops,
            bw_bytes: Bytes(iops as u64 * 4096),
            mean_ns: Some(101_500.0),
            percentiles: [99_328, 120_000, 1_200_000].map(Nanos).to_vec(),
            cpu_percent: 12.4,
            runtime: Nanos::from_secs(1),
            ..PointOutcome::default()
        }
    }

    fn results() -> SweepResults {
        let axis = |name: &str, values: &[&str]| Axis {
            name: name.into(),
            values: values.iter().map(|v| v.to_string()).collect(),
        };
        let outcome = outcome_of;
        let at =
            |depth: &str| vec![("bs".into(), "4k,8k".into()), ("iodepth".into(), depth.into())];
        let first = RepeatedOutcome::of(vec![outcome(9852.0)]);
        let second = RepeatedOutcome::of(vec![PointOutcome {
            mean_ns: None,
            percentiles: vec![],
            ..outcome(1e6)
        }]);
        let point = |depth: &str, results| SweepPoint { settings: at(depth), results };
        SweepResults {
            job: "job".into(),
            axes: vec![axis("bs", &["4k,8k"]), axis("iodepth", &["1", "2"])],
            points: vec![point("1", first.clone()), point("2", second.clone())],
            knees: vec![Knee {
                along: "iodepth".into(),
                with: vec![("bs".into(), "4k,8k".into())],
                line: vec![("1".into(), first), ("2".into(), second)],
                estimate: KneeEstimate {
                    candidates: vec![0],
                    none_possible: false,
                    measured: Some(0),
                    basis: KneeBasis::Windows,
                },
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
        assert_eq!(document["knees"][0]["method"], "block-bootstrap");
    }

    #[test]
    fn repeated_points_show_their_medians_and_how_certain_they_are() {
        let mut results = results();
        let runs: Vec<PointOutcome> = [9800.0, 9900.0, 9852.0].map(outcome_of).to_vec();
        results.points[0].results = RepeatedOutcome::of(runs);
        let text = table(&results);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains("IOPS     ±          BW"), "{text}");
        assert!(lines[1].contains("9.85k  1.3%") && lines[2].contains("1.00M     -"), "{text}");
        let document: Value = serde_json::from_str(&json(&results)).unwrap();
        assert_eq!(document["points"][0]["iops_of_runs"][1], 9900.0);
        assert!(csv(&results).lines().next().unwrap().ends_with(",cpu_percent,runs"));
    }
}
