//! Compares a job's object in JSON with the truth.

use serde_json::Value;

use crate::compared::{Comparisons, Rounding::SixDecimals};
use crate::expected::{Asked, EntryTruth, LatencyTruth, RateTruth, RowTruth, coarse, share};
use crate::record::{DIRECTIONS, DoneIo, LatencyOf};

const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
const LATENCIES: [&str; 10] = ["2", "4", "10", "20", "50", "100", "250", "500", "750", "1000"];

fn whole(value: &Value) -> i128 {
    value.as_i64().map(i128::from).or(value.as_u64().map(i128::from)).unwrap_or(i128::MIN)
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

/// `group_bw`: bytes per second of the group, for each row and for all together.
pub(crate) fn entry(
    c: &mut Comparisons,
    job: &Value,
    truth: &EntryTruth,
    asked: &Asked,
    group_bw: [u64; 4],
) {
    results(c, job, truth, asked, group_bw);
    let issued = truth.rows.iter().map(|row| row.issued).sum();
    list(c, "iodepth_level", &job["iodepth_level"], &DEPTHS, &truth.depth, (issued, 0.1));
    for (key, counts) in [("iodepth_submit", truth.submit), ("iodepth_complete", truth.complete)] {
        list(c, key, &job[key], &BATCHES, &counts, (counts.iter().sum(), 0.1));
    }
}

/// What does not depend on how I/Os were submitted together.
pub(crate) fn results(
    c: &mut Comparisons,
    job: &Value,
    truth: &EntryTruth,
    asked: &Asked,
    group_bw: [u64; 4],
) {
    if asked.unified != "mixed" {
        for (at, name) in DIRECTIONS.into_iter().enumerate() {
            row(c, name, &job[name], &truth.rows[at], asked, group_bw[at]);
        }
        let sync = &job["sync"];
        c.same("sync total_ios", whole(&sync["total_ios"]), truth.syncs_issued.into());
        let percentiles =
            asked.clat_percentiles && asked.clat || asked.lat_percentiles && asked.lat;
        let measured = if asked.clat { truth.syncs.clone() } else { Vec::new() };
        let latencies = LatencyTruth::of(measured.into_iter());
        latency(c, "sync", &sync["lat_ns"], &latencies, percentiles.then_some(asked));
    }
    if asked.unified != "none" {
        row(c, "mixed", &job["mixed"], &truth.mixed(), asked, group_bw[3]);
    }
    c.same("job_runtime", whole(&job["job_runtime"]), truth.runtime_ms.into());
    buckets(c, job, truth, asked);
    if asked.survives {
        c.same("total_err", whole(&job["total_err"]), truth.survived.len() as i128);
        let first = truth.survived.first().copied().unwrap_or(0);
        c.same("first_error", whole(&job["first_error"]), first.into());
    }
    let error = truth.errors.first().copied().unwrap_or(0);
    c.same("error", whole(&job["error"]), error.into());
}

fn buckets(c: &mut Comparisons, job: &Value, truth: &EntryTruth, asked: &Asked) {
    let counts = if asked.clat { coarse(truth) } else { [0; 32] };
    let ios = truth.ios();
    list(c, "latency_ns", &job["latency_ns"], &LATENCIES, &counts[..10], (ios, 0.01));
    list(c, "latency_us", &job["latency_us"], &LATENCIES, &counts[10..20], (ios, 0.01));
    let mut names = LATENCIES.to_vec();
    names.extend(["2000", ">=2000"]);
    list(c, "latency_ms", &job["latency_ms"], &names, &counts[20..], (ios, 0.01));
}

fn list(
    c: &mut Comparisons,
    what: &str,
    object: &Value,
    names: &[&str],
    counts: &[u64],
    (of, least): (u64, f64),
) {
    for (name, count) in names.iter().zip(counts) {
        let expected = share(*count, of, least);
        c.close(&format!("{what} {name}"), float(&object[name]), expected, SixDecimals);
    }
}

fn row(
    c: &mut Comparisons,
    name: &str,
    row: &Value,
    truth: &RowTruth,
    asked: &Asked,
    group_bw: u64,
) {
    let ints = [
        ("io_bytes", truth.bytes),
        ("io_kbytes", truth.bytes / 1024),
        ("bw_bytes", truth.bandwidth()),
        ("bw", truth.bandwidth() / 1024),
        ("runtime", truth.runtime_ms),
        ("total_ios", truth.issued),
        ("short_ios", truth.short),
        ("drop_ios", 0),
    ];
    for (key, expected) in ints {
        c.same(&format!("{name} {key}"), whole(&row[key]), expected.into());
    }
    c.close(&format!("{name} iops"), float(&row["iops"]), truth.rate(), SixDecimals);
    let kinds: [(&str, bool, bool, LatencyOf); 3] = [
        ("slat_ns", asked.slat, asked.slat_percentiles, DoneIo::slat),
        ("clat_ns", asked.clat, asked.clat_percentiles, DoneIo::clat),
        ("lat_ns", asked.lat, asked.lat_percentiles, DoneIo::lat),
    ];
    for (key, measured, percentiles, of) in kinds {
        let latencies = if measured { truth.latencies(of) } else { LatencyTruth::default() };
        let percentiles = (measured && percentiles).then_some(asked);
        latency(c, &format!("{name} {key}"), &row[key], &latencies, percentiles);
    }
    rates(c, name, row, ("bw", "bw_dev"), &truth.bw);
    rates(c, name, row, ("iops", "iops_stddev"), &truth.iops);
    let share = match group_bw {
        0 => 0.0,
        bw => (truth.bw.mean * 100.0 / (bw as f64 / 1024.0)).min(100.0),
    };
    c.close(&format!("{name} bw_agg"), float(&row["bw_agg"]), share, SixDecimals);
}

fn rates(
    c: &mut Comparisons,
    name: &str,
    row: &Value,
    (key, dev): (&str, &str),
    truth: &RateTruth,
) {
    let of = |part: &str| format!("{key}_{part}");
    for (part, expected) in [("min", truth.min), ("max", truth.max), ("samples", truth.samples)] {
        c.same(&format!("{name} {}", of(part)), whole(&row[of(part)]), expected.into());
    }
    c.close(&format!("{name} {}", of("mean")), float(&row[of("mean")]), truth.mean, SixDecimals);
    c.close(&format!("{name} {dev}"), float(&row[dev]), truth.deviation(), SixDecimals);
}

/// `percentiles`: what the job asks for, if the object has percentiles.
fn latency(
    c: &mut Comparisons,
    what: &str,
    object: &Value,
    truth: &LatencyTruth,
    percentiles: Option<&Asked>,
) {
    for (key, expected) in [("N", truth.n()), ("min", truth.min()), ("max", truth.max())] {
        c.same(&format!("{what} {key}"), whole(&object[key]), expected.into());
    }
    c.close(&format!("{what} mean"), float(&object["mean"]), truth.mean(), SixDecimals);
    c.close(&format!("{what} stddev"), float(&object["stddev"]), truth.deviation(), SixDecimals);
    let list = percentiles.filter(|_| truth.n() > 0).map_or(&[][..], |asked| &asked.percentiles);
    let found = object["percentile"].as_object();
    c.same(&format!("{what} percentiles"), found.map_or(0, |found| found.len()), list.len());
    for percent in list {
        let exact = truth.percentile(*percent).unwrap_or(0);
        let shown = crate::expected::middle(exact);
        let found = whole(&object["percentile"][format!("{percent:.6}")]);
        c.same(&format!("{what} p{percent}"), found, shown.into());
    }
    if list.is_empty() {
        return;
    }
    let bins = truth.bins();
    let found = object["bins"].as_object();
    c.same(&format!("{what} bins"), found.map_or(0, |found| found.len()), bins.len());
    for (value, count) in bins {
        let found = whole(&object["bins"][value.to_string()]);
        c.same(&format!("{what} bin {value}"), found, count.into());
    }
}
