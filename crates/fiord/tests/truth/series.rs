//! Compares the rows of `--series` and the samples in JSON with the truth.

use serde_json::Value;

use crate::compared::{Comparisons, Rounding::Digits};
use crate::expected::{Asked, LatencyTruth, Span};
use crate::record::{DIRECTIONS, DoneIo, JobRecord};

const PERCENTILES: [(&str, f64); 6] = [
    ("lat_p50_ns", 50.0),
    ("lat_p90_ns", 90.0),
    ("lat_p95_ns", 95.0),
    ("lat_p99_ns", 99.0),
    ("lat_p99_9_ns", 99.9),
    ("lat_p99_99_ns", 99.99),
];

/// The latencies that samples have: completion latencies, or total ones if only these are measured.
pub(crate) fn latency_of(asked: &Asked) -> Option<fn(&DoneIo) -> u64> {
    match (asked.clat, asked.lat) {
        (true, _) => Some(DoneIo::clat),
        (false, true) => Some(DoneIo::lat),
        _ => None,
    }
}

/// The rows of one job on a virtual clock, as objects. They include the ramp.
pub(crate) fn rows(
    c: &mut Comparisons,
    rows: &[Value],
    record: &JobRecord,
    span: Span,
    asked: &Asked,
) {
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    for (at, dir) in DIRECTIONS.into_iter().enumerate() {
        let ios = record.ios.iter().filter(|io| io.is_done() && io.dir == Some(at));
        let ios: Vec<&DoneIo> = ios.collect();
        let own: Vec<&Value> = rows.iter().filter(|row| row["direction"] == dir).collect();
        let counted: f64 = own.iter().map(|row| number(row, "ios")).sum();
        c.same(&format!("series {dir}: all I/Os"), counted as usize, ios.len());
        let mut from = 0.0;
        let last = own.len().saturating_sub(1);
        for (number_of_row, row) in own.into_iter().enumerate() {
            // Times are printed with three decimals, and windows end at multiples of 31.25 ms, or at the end of the job.
            let to = number(row, "elapsed_s") * 1e9;
            let on_grid = grid(to).filter(|_| number_of_row < last);
            let exact = on_grid.unwrap_or(span.end as f64);
            c.close("series elapsed_s", to, exact, Digits(0.51e6));
            c.close(
                "series interval_s",
                number(row, "interval_s") * 1e9,
                exact - from,
                Digits(0.51e6),
            );
            let inside = |io: &&&DoneIo| (from..exact).contains(&((io.end - 1) as f64));
            let inside: Vec<&DoneIo> = ios.iter().filter(inside).copied().collect();
            one(c, row, &inside, (exact - from) / 1e9, asked);
            from = exact;
        }
    }
}

/// The window end that a printed time in ns stands for; `None`: it is not on the grid.
fn grid(ns: f64) -> Option<f64> {
    let nearest = (ns / 31_250_000.0).round() * 31_250_000.0;
    (nearest > 0.0 && (nearest - ns).abs() <= 0.51e6).then_some(nearest)
}

fn one(c: &mut Comparisons, row: &Value, ios: &[&DoneIo], seconds: f64, asked: &Asked) {
    let number = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
    let bytes: u64 = ios.iter().map(|io| io.bytes).sum();
    c.same("series ios", number("ios") as usize, ios.len());
    c.same("series bytes", number("bytes") as u64, bytes);
    c.close("series iops", number("iops"), ios.len() as f64 / seconds, Digits(0.00051));
    c.close("series bw_bytes", number("bw_bytes"), bytes as f64 / seconds, Digits(0.00051));
    let Some(of) = latency_of(asked) else { return };
    let truth = LatencyTruth::of(ios.iter().map(|io| of(io)));
    if truth.n() == 0 {
        c.holds("a series row without I/O has no latency", row["lat_mean_ns"].is_null());
        return;
    }
    // Printed with three decimals.
    c.close("series lat_mean_ns", number("lat_mean_ns"), truth.mean(), Digits(0.00051));
    let depth = ios.len() as f64 / seconds * truth.mean() / 1e9;
    c.close("series depth", number("depth"), depth, Digits(0.00051));
    // Samples have 16 buckets for each power of two: a latency is within 1/16 of the truth.
    for (key, percent) in PERCENTILES {
        let (low, high) = around(&truth, percent);
        let found = number(key);
        let holds =
            low as f64 * (15.0 / 16.0) - 1.0 <= found && found <= high as f64 * (17.0 / 16.0) + 1.0;
        c.holds(&format!("series {key} {found} between {low} and {high}, within 1/16"), holds);
    }
    let (found, max) = (number("lat_max_ns"), truth.max() as f64);
    c.holds(
        &format!("series lat_max_ns {found} at most 1/16 above {max}"),
        max <= found && found <= max * (17.0 / 16.0) + 1.0,
    );
}

/// The two latencies between which an interpolated percentile lies.
pub(crate) fn around(truth: &LatencyTruth, percent: f64) -> (u64, u64) {
    let sorted = truth.sorted();
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    let at = |rank: usize| sorted[rank.clamp(1, sorted.len()) - 1];
    (at(rank.saturating_sub(1)), at(rank + 1))
}

/// `fiord.samples` of a job.
pub(crate) fn samples(c: &mut Comparisons, samples: &Value, record: &JobRecord, span: Span) {
    let whole = |value: &Value| value.as_u64().unwrap_or(u64::MAX);
    let window = whole(&samples["window_ns"]);
    c.same("samples end_ns", whole(&samples["end_ns"]), span.end);
    for (at, dir) in DIRECTIONS.into_iter().enumerate() {
        let count = span.end.div_ceil(window) as usize;
        let mut expected = vec![(0u64, 0u64); count];
        for io in record.ios.iter().filter(|io| io.is_done() && io.dir == Some(at)) {
            let window = &mut expected[((io.end - 1) / window) as usize];
            *window = (window.0 + 1, window.1 + io.bytes);
        }
        let list = |key: &str| samples[dir][key].as_array().cloned().unwrap_or_default();
        let (ios, bytes) = (list("ios"), list("bytes"));
        for (number, (count, amount)) in expected.into_iter().enumerate() {
            let of = |list: &[Value]| list.get(number).map_or(0, whole);
            c.same(&format!("samples {dir}: I/Os of window {number}"), of(&ios), count);
            c.same(&format!("samples {dir}: bytes of window {number}"), of(&bytes), amount);
        }
    }
}
