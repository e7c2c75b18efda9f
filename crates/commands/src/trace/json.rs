//! The summary of a trace as JSON.

use std::path::Path;

use fiord_formats::trace::TraceKind;
use fiord_types::{Bytes, Dir};
use serde_json::{Map, Value, json};

use super::approximate::Approximation;
use super::profile::{BLOCK, FLAGS, TraceProfile};
use super::summary::{CACHES, HOTTEST, TargetSummary, TraceSummary, sample_error};

/// Sizes of each direction.
const SIZES: usize = 64;
const TARGETS: usize = 1000;

pub(super) fn text(path: &Path, summary: &TraceSummary, jobs: &[Approximation]) -> String {
    let profile = &summary.profile;
    let seconds = profile.length().as_secs_f64();
    let kinds: Map<String, Value> = TraceKind::ALL
        .into_iter()
        .map(|kind| (kind.name().to_string(), kind_of(profile, kind, seconds)))
        .collect();
    let flags: Map<String, Value> = profile
        .flags()
        .into_iter()
        .zip(FLAGS)
        .map(|(n, (_, name))| (name.into(), n.into()))
        .collect();
    let notes = &summary.notes;
    let first = notes.first_skipped.as_ref().map(
        |skipped| json!({ "line": skipped.line, "text": skipped.text, "problem": skipped.problem.to_string() }),
    );
    let (low, high) = profile.range().unwrap_or_default();
    let targets: Vec<Value> = summary.targets.iter().take(TARGETS).map(target).collect();
    let mut document = json!({
        "trace": path.to_string_lossy(),
        "format": summary.format.name(),
        "timestamp_resolution_ns": summary.format.resolution(),
        "length_ns": profile.length(),
        "ios": profile.all_ios(),
        "kinds": kinds,
        "flags": flags,
        "alignment_bytes": profile.alignment(),
        "lowest_offset": low,
        "highest_end": high,
        "working_set": working_set(profile),
        "skew": skew(profile),
        "reuse": reuse(profile),
        "rate": rate(profile),
        "depth": depth(profile),
        "target_count": summary.targets.len(),
        "targets": targets,
        "notes": {
            "skipped_lines": notes.skipped,
            "first_skipped": first,
            "backwards": notes.backwards,
            "furthest_back_ns": notes.furthest_back,
            "ignored_records": notes.ignored,
        },
    });
    if !jobs.is_empty() {
        document["jobs"] = jobs.iter().map(job).collect();
    }
    format!("{document:#}\n")
}

fn kind_of(profile: &TraceProfile, kind: TraceKind, seconds: f64) -> Value {
    let count = profile.kind(kind);
    let iops = (seconds > 0.0).then(|| count.ios() as f64 / seconds);
    let Some(dir) = kind.dir() else { return json!({ "ios": count.ios(), "iops": iops }) };
    let (sequential, in_streams) = profile.sequential(dir);
    let sizes: Vec<Value> = profile
        .sizes(dir)
        .by_count()
        .into_iter()
        .take(SIZES)
        .map(|(size, ios)| json!({ "bytes": size, "ios": ios }))
        .collect();
    let latency: Map<String, Value> = profile.depth().latency()[dir]
        .percentiles(&[50.0, 90.0, 99.0, 99.9])
        .into_iter()
        .map(|(percent, time)| (percent.to_string(), json!(time)))
        .collect();
    json!({
        "ios": count.ios(),
        "bytes": count.bytes(),
        "iops": iops,
        "sequential_percent": sequential * 100.0,
        "in_16_streams_percent": in_streams * 100.0,
        "sizes": sizes,
        "latency_ns": latency,
    })
}

fn working_set(profile: &TraceProfile) -> Value {
    json!({
        "bytes": profile.working_set(),
        "read_bytes": profile.working_set_of(Dir::Read),
        "written_bytes": profile.working_set_of(Dir::Write),
        "error_percent": profile.working_set_error(),
    })
}

fn skew(profile: &TraceProfile) -> Value {
    let curve = profile.skew();
    let points: Vec<Value> = HOTTEST
        .into_iter()
        .chain([0.3, 0.5, 0.7, 0.9])
        .map(
            |data| json!({ "data_percent": data * 100.0, "io_percent": curve.io_of(data) * 100.0 }),
        )
        .collect();
    json!({ "blocks": curve.blocks().round(), "hottest": points, "error_percent": sample_error(profile) })
}

fn reuse(profile: &TraceProfile) -> Value {
    let sample = profile.sample();
    let set = profile.working_set().0 as f64;
    let caches: Vec<Value> = CACHES
        .into_iter()
        .chain([1.0])
        .map(|share| {
            let cache = (set * share).round();
            let hits = sample.hits(cache / BLOCK.0 as f64);
            json!({ "cache_bytes": Bytes(cache as u64), "hit_percent": hits * 100.0 })
        })
        .collect();
    json!({
        "accessed_before_percent": sample.reused() * 100.0,
        "lru": caches,
        "sampled_blocks": sample.blocks(),
        "error_percent": sample_error(profile),
    })
}

fn rate(profile: &TraceProfile) -> Value {
    let (width, slices) = profile.rates().slices();
    let slices: Vec<Value> = slices
        .iter()
        .map(|slice| json!({ "ios": slice.ios.as_array(), "bytes": slice.bytes.as_array() }))
        .collect();
    json!({
        "slice_ns": width,
        "slices": slices,
        "peak_to_mean": profile.rates().peak_to_mean(),
        "gap_variation": profile.rates().gap_variation(),
    })
}

fn depth(profile: &TraceProfile) -> Value {
    let depth = profile.depth();
    json!({
        "mean": depth.mean(),
        "p50": depth.percentile(50.0),
        "p99": depth.percentile(99.0),
        "most": depth.most(),
    })
}

fn target(target: &TargetSummary) -> Value {
    json!({
        "name": target.name.to_string(),
        "ios": target.count.ios(),
        "bytes": target.count.bytes(),
        "highest_end": target.end,
    })
}

fn job(approximation: &Approximation) -> Value {
    let differences: Vec<Value> = approximation
        .differences
        .iter()
        .map(|d| json!({ "what": d.what, "trace": d.trace, "job": d.job, "percent": d.percent }))
        .collect();
    json!({ "name": approximation.job.name, "options": approximation.job.pattern(), "differences": differences })
}
