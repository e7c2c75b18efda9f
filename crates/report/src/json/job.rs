//! The object of a job.

use fiord_stat::block_errors::{BlockErrors, BlockState};
use fiord_stat::report::*;
use fiord_stat::verify::StatedResults;
use fiord_types::Nanos;

use super::document::{Value, integer, number, text};
use crate::names::{BATCHES, DEPTHS, LATENCIES, MSEC};
use crate::number::errno;

/// Stands for an unknown remaining time.
const NO_ETA: u64 = i32::MAX as u64;

type Keys = Vec<(String, Value)>;

pub(super) fn job(job: &JobReport, bins: bool) -> Value {
    let mut keys: Keys = vec![
        ("jobname".into(), text(&job.name)),
        ("groupid".into(), integer(job.group_id)),
        ("job_start".into(), integer(job.start.as_millis())),
        ("error".into(), integer(errno(job.error))),
        ("eta".into(), integer(job.eta.map_or(NO_ETA, Nanos::as_secs))),
        ("elapsed".into(), integer(job.elapsed.as_secs())),
    ];
    if !job.options.is_empty() {
        keys.push(("job options".into(), super::options(&job.options)));
    }
    let rows = |mixed: bool| {
        job.dirs
            .iter()
            .filter(move |d| (d.kind == DirKind::Mixed) == mixed)
            .map(move |d| (row_name(d.kind).to_string(), direction(d, job.issued_in(d.kind), bins)))
    };
    keys.extend(rows(false));
    // If only the sum is reported, fio leaves out syncs as well.
    if job.unified != Unified::Mixed {
        let mut lat = job.sync.lat.clone();
        if job.percentile_list.is_empty() {
            // The text format shows them nevertheless.
            lat.percentiles.clear();
        }
        let sync = vec![
            ("total_ios".into(), integer(job.sync.total_ios)),
            ("lat_ns".into(), latency(&lat, bins)),
        ];
        keys.push(("sync".into(), Value::Object(sync)));
    }
    keys.extend(rows(true));
    costs(job, &mut keys);
    distributions(job, &mut keys);
    target(job, &mut keys);
    ours(job, bins, &mut keys);
    Value::Object(keys)
}

/// The key with everything that fio does not have.
fn ours(job: &JobReport, bins: bool, keys: &mut Keys) {
    let mut ours: Keys = Vec::new();
    if !job.intended.is_empty() {
        let rows = job.intended.iter().map(|(kind, s)| (row_name(*kind).into(), latency(s, bins)));
        ours.push(("intended_lat_ns".into(), Value::Object(rows.collect())));
    }
    ours.extend(job.replay.as_ref().map(|replay| ("replay".into(), Value::of(replay))));
    let blocks = job.block_errors.as_ref().map(|errors| block_errors(job, errors));
    ours.extend(blocks.map(|blocks| ("block_errors".into(), blocks)));
    let verified = job.verify.as_ref().map(|results| Value::of(&StatedResults::from(results)));
    ours.extend(verified.map(|results| ("verify".into(), results)));
    ours.extend(Value::of(&job.engine).into_keys());
    if !job.samples.is_empty() {
        ours.push(("samples".into(), Value::of(&job.samples).with_series()));
    }
    if !ours.is_empty() {
        keys.push(("fiord".into(), Value::Object(ours)));
    }
}

/// How many trims blocks survived.
fn block_errors(job: &JobReport, errors: &BlockErrors) -> Value {
    let states = BlockState::ALL.map(|state| (state.name().into(), integer(errors.count(state))));
    let lifetimes = errors.lifetimes().map(|(trims, blocks)| (trims.to_string(), integer(blocks)));
    let percentiles = errors.percentiles(&job.percentile_list);
    let percentiles = percentiles.iter().map(|(p, trims)| (format!("{p:.6}"), integer(*trims)));
    Value::Object(vec![
        ("states".into(), Value::Object(states.to_vec())),
        ("percentile".into(), Value::Object(percentiles.collect())),
        ("trims_before_error".into(), Value::Object(lifetimes.collect())),
    ])
}

fn row_name(kind: DirKind) -> &'static str {
    match kind {
        DirKind::Read => "read",
        DirKind::Write => "write",
        DirKind::Trim => "trim",
        DirKind::Mixed => "mixed",
    }
}

/// One row. `issued` counts the I/Os sent to the device, including those that failed.
fn direction(d: &DirReport, issued: u64, bins: bool) -> Value {
    let (bw, iops) = (&d.bw_samples, &d.iops_samples);
    let mut keys = vec![
        ("io_bytes", integer(d.io_bytes.0)),
        ("io_kbytes", integer(d.io_bytes.0 / 1024)),
        ("bw_bytes", integer(d.bw.0)),
        ("bw", integer(d.bw.0 / 1024)),
        ("iops", number(d.iops)),
        ("runtime", integer(d.runtime.as_millis())),
        ("total_ios", integer(issued)),
        ("short_ios", integer(d.short_ios)),
        ("drop_ios", integer(d.drop_ios)),
        ("slat_ns", latency(&d.slat, bins)),
        ("clat_ns", latency(&d.clat, bins)),
        ("lat_ns", latency(&d.lat, bins)),
    ];
    if !d.priorities.is_empty() {
        let list = d.priorities.iter().map(|p| priority(p, bins));
        keys.push(("prios", Value::Array(list.collect())));
    }
    keys.extend([
        ("bw_min", integer(bw.min)),
        ("bw_max", integer(bw.max)),
        ("bw_agg", number(bw.agg)),
        ("bw_mean", number(bw.mean)),
        ("bw_dev", number(bw.dev)),
        ("bw_samples", integer(bw.samples)),
        ("iops_min", integer(iops.min)),
        ("iops_max", integer(iops.max)),
        ("iops_mean", number(iops.mean)),
        ("iops_stddev", number(iops.dev)),
        ("iops_samples", integer(iops.samples)),
    ]);
    Value::Object(keys.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
}

/// The I/Os of one priority.
fn priority(p: &PriorityReport, bins: bool) -> Value {
    let of = if p.total { "lat_ns" } else { "clat_ns" };
    Value::Object(vec![
        ("prioclass".into(), integer(p.class)),
        ("prio".into(), integer(p.level)),
        ("priohint".into(), integer(p.hint)),
        (of.into(), latency(&p.latency, bins)),
    ])
}

fn latency(s: &LatencySummary, bins: bool) -> Value {
    let mut keys: Keys = vec![
        ("min".into(), integer(s.min.0)),
        ("max".into(), integer(s.max.0)),
        ("mean".into(), number(s.mean)),
        ("stddev".into(), number(s.stddev)),
        ("N".into(), integer(s.n)),
    ];
    if !s.percentiles.is_empty() {
        let list = s.percentiles.iter().map(|(p, ns)| (format!("{p:.6}"), integer(ns.0)));
        keys.push(("percentile".into(), Value::Object(list.collect())));
        if bins {
            let list = s.bins.iter().map(|(ns, n)| (ns.0.to_string(), integer(*n)));
            keys.push(("bins".into(), Value::Object(list.collect())));
        }
    }
    Value::Object(keys)
}

fn costs(job: &JobReport, keys: &mut Keys) {
    keys.push(("job_runtime".into(), integer(job.runtime.as_millis())));
    keys.push(("usr_cpu".into(), number(job.usr_cpu)));
    keys.push(("sys_cpu".into(), number(job.sys_cpu)));
    keys.push(("ctx".into(), integer(job.ctx)));
    keys.push(("majf".into(), integer(job.majf)));
    keys.push(("minf".into(), integer(job.minf)));
}

fn distributions(job: &JobReport, keys: &mut Keys) {
    let mut add = |key: &str, names: &[&str], shares: &[f64]| {
        let list = names.iter().zip(shares).map(|(n, s)| (n.to_string(), number(*s)));
        keys.push((key.into(), Value::Object(list.collect())));
    };
    add("iodepth_level", &DEPTHS, &job.depth_level);
    add("iodepth_submit", &BATCHES, &job.depth_submit);
    add("iodepth_complete", &BATCHES, &job.depth_complete);
    add("latency_ns", &LATENCIES, &job.latency_ns);
    add("latency_us", &LATENCIES, &job.latency_us);
    add("latency_ms", &MSEC, &job.latency_ms);
}

fn target(job: &JobReport, keys: &mut Keys) {
    if let Some(errors) = &job.errors {
        keys.push(("total_err".into(), integer(errors.total)));
        keys.push(("first_error".into(), integer(errno(errors.first))));
    }
    // As in fio, a job that did not run has no depth.
    if job.latency_depth > 0 {
        keys.push(("latency_depth".into(), integer(job.latency_depth)));
        keys.push(("latency_target".into(), integer(job.latency_target.0)));
        keys.push(("latency_target_ns".into(), integer(job.latency_target.0)));
        keys.push(("latency_percentile".into(), number(job.latency_percentile)));
        keys.push(("latency_window".into(), integer(job.latency_window.as_micros())));
        keys.push(("latency_window_us".into(), integer(job.latency_window.as_micros())));
    }
    if let Some(text) = &job.description {
        keys.push(("desc".into(), super::text(text)));
    }
    if let Some(state) = &job.steady_state {
        keys.push(("steadystate".into(), steady_state(state)));
    }
    if let Some(resets) = job.zone_resets {
        keys.push(("zone_resets".into(), integer(resets)));
    }
}

fn steady_state(s: &SteadyState) -> Value {
    // fio's lists are as long as the window, with zeros for intervals that the job did not reach.
    let list = |values: &mut dyn Iterator<Item = u64>| {
        let missing = std::iter::repeat_n(0, s.missing);
        Value::Array(values.chain(missing).map(integer).collect())
    };
    let mut data: Keys =
        vec![("bw_mean".into(), integer(s.bw_mean.0)), ("iops_mean".into(), integer(s.iops_mean))];
    if s.measure == SteadyMeasure::Latency {
        data.push(("lat_mean".into(), integer(s.lat_mean.0)));
        data.push(("lat_ns".into(), list(&mut s.lat_data.iter().map(|time| time.0))));
    }
    data.push(("iops".into(), list(&mut s.iops_data.iter().copied())));
    data.push(("bw".into(), list(&mut s.bw_data.iter().map(|bytes| bytes.0))));
    let percent = if s.percent { "%" } else { "" };
    let mut keys: Keys = vec![
        ("ss".into(), text(&s.spec)),
        ("duration".into(), integer(s.duration.as_secs())),
        ("attained".into(), integer(i128::from(s.attained))),
        ("criterion".into(), text(format!("{:.6}{percent}", s.criterion))),
        ("max_deviation".into(), number(s.max_deviation)),
        ("slope".into(), number(s.slope)),
    ];
    if let SteadyKind::Pts { slope_percent } = s.kind {
        keys.push(("range_percent".into(), number(s.criterion)));
        keys.push(("slope_percent".into(), number(slope_percent)));
    }
    keys.push(("data".into(), Value::Object(data)));
    Value::Object(keys)
}
