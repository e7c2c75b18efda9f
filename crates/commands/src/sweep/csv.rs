//! Formats results as CSV.

use crate::runs::outcome::{PERCENTILES, PointOutcome};
use crate::sweep::results::SweepResults;
use crate::sweep::table::{from_due, values};

/// Formats results as CSV: one line for each point with its settings and numbers in base units. Of several runs, it has the
/// median.
#[must_use]
pub fn csv(results: &SweepResults) -> String {
    if !results.loads.is_empty() {
        return loads_csv(results);
    }
    let heads = ["iops", "bw_bytes", "mean_ns", "p50_ns", "p99_ns", "p99.9_ns", "cpu_percent"];
    let names = results.axes.iter().map(|a| quoted(&a.name));
    let repeated = results.points.iter().any(|point| point.results.runs.len() > 1);
    let mut head: Vec<String> = names.chain(heads.map(String::from)).collect();
    head.extend(repeated.then(|| "runs".to_owned()));
    let mut out = head.join(",") + "\n";
    for point in &results.points {
        let mut row: Vec<String> =
            values(&results.axes, &point.settings).iter().map(|v| quoted(v)).collect();
        row.extend(fields(&point.results.median));
        row.extend(repeated.then(|| point.results.runs.len().to_string()));
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
        row.extend(fields(&from_due(&load.results.median)));
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
