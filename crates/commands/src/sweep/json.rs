//! Formats results as one JSON document.

use serde_json::{Map, Value, json};

use crate::axis::PointSettings;
use crate::sweep::knee::{CONFIDENCE, KneeBasis};
use crate::sweep::measured::RepeatedOutcome;
use crate::sweep::results::{Knee, LoadPoint, SweepPoint, SweepResults};

/// Formats results as one JSON document.
#[must_use]
pub fn json(results: &SweepResults) -> String {
    let mut document = json!({
        "job": results.job,
        "points": results.points.iter().map(point).collect::<Vec<_>>(),
        "knees": results.knees.iter().map(knee).collect::<Vec<_>>(),
        "complete": results.complete,
    });
    if !results.loads.is_empty() {
        document["loads"] = results.loads.iter().map(load).collect();
        let certain = |knee: &Knee| Some(results.loads[knee.estimate.certain()?].percent);
        document["load_knee_percent"] = json!(results.load_knee.as_ref().and_then(certain));
        document["load_knee"] = results.load_knee.as_ref().map_or(Value::Null, knee);
    }
    format!("{document:#}\n")
}

fn object(settings: &PointSettings) -> Value {
    settings.iter().map(|(n, v)| (n.clone(), Value::from(v.clone()))).collect()
}

fn point(point: &SweepPoint) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("settings".into(), object(&point.settings));
    out.append(&mut measured(&point.results));
    out
}

fn load(load: &LoadPoint) -> Map<String, Value> {
    let mut out = Map::new();
    out.insert("load_percent".into(), json!(load.percent));
    out.insert("rate_iops".into(), json!(load.rate));
    out.append(&mut measured(&load.results));
    out
}

/// The median of the runs, and if there are several, the rate of each.
fn measured(results: &RepeatedOutcome) -> Map<String, Value> {
    let outcome = &results.median;
    let mut out = Map::new();
    out.insert("iops".into(), json!(outcome.iops));
    out.insert("bw_bytes".into(), json!(outcome.bw_bytes));
    out.insert("clat_ns".into(), outcome.latency().into());
    if let Some(due) = &outcome.due {
        out.insert("intended_lat_ns".into(), due.latency().into());
    }
    out.insert("cpu_percent".into(), json!(outcome.cpu_percent));
    out.insert("runtime_ms".into(), json!(outcome.runtime.as_millis()));
    if results.runs.len() > 1 {
        let iops: Vec<f64> = results.runs.iter().map(|run| run.iops).collect();
        out.insert("iops_of_runs".into(), json!(iops));
        let means: Vec<Option<f64>> = results.runs.iter().map(|run| run.mean_ns).collect();
        out.insert("mean_ns_of_runs".into(), json!(means));
    }
    if !outcome.findings.is_empty() {
        out.insert("findings".into(), json!(outcome.findings));
    }
    out
}

fn knee(knee: &Knee) -> Value {
    let estimate = &knee.estimate;
    let value = |i: usize| knee.line.get(i).map(|(value, _)| value.as_str());
    let candidates: Vec<&str> = estimate.candidates.iter().filter_map(|i| value(*i)).collect();
    let runs = match estimate.basis {
        KneeBasis::Runs(runs) => runs,
        KneeBasis::Windows | KneeBasis::SingleValues => 1,
    };
    json!({
        "along": knee.along,
        "with": object(&knee.with),
        "at": estimate.certain().and_then(value),
        "candidates": candidates,
        "none_possible": estimate.none_possible,
        "measured_at": estimate.measured.and_then(value),
        "confidence": (estimate.basis != KneeBasis::SingleValues).then_some(CONFIDENCE),
        "method": estimate.basis.word(),
        "runs": runs,
    })
}
