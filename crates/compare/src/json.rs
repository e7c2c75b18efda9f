//! A comparison as a JSON document.

use serde_json::{Value, json};

use crate::comparison::Comparison;
use crate::contrast::{ALPHA, CompareVerdict, Contrast};
use crate::settings::CONFIDENCE;
use crate::side::ComparedSide;
use crate::words;

/// The version of the document. It increases when a key changes its meaning.
pub const COMPARISON_SCHEMA: u32 = 1;

/// Formats a comparison.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    let settings = &comparison.settings;
    let metrics: Vec<String> = settings.metrics.iter().map(ToString::to_string).collect();
    let document = json!({
        "comparison": COMPARISON_SCHEMA,
        "settings": {
            "noise_percent": settings.noise * 100.0,
            "run_variation_percent": settings.assumed_variation() * 100.0,
            "metrics": metrics,
            "confidence": CONFIDENCE,
            "alpha": ALPHA,
            "correction": "holm",
        },
        "sides": comparison.sides.iter().map(side).collect::<Vec<_>>(),
        "results": comparison.contrasts.iter().map(result).collect::<Vec<_>>(),
        "conditions": comparison.conditions.iter().map(|result| json!({
            "condition": result.condition.text,
            "state": result.state.word(),
            "found": result.found,
        })).collect::<Vec<_>>(),
        "differences": comparison.differences.iter().map(|difference| {
            let values = difference.values.iter();
            let values: serde_json::Map<String, Value> =
                values.map(|(letter, value)| (letter.to_string(), json!(value))).collect();
            json!({ "subject": difference.subject, "values": values })
        }).collect::<Vec<_>>(),
        "findings": comparison.notes.iter().map(|note| {
            json!({ "id": note.id, "what": note.text })
        }).collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

fn side(side: &ComparedSide) -> Value {
    json!({
        "side": side.letter.to_string(),
        "name": side.name,
        "runs": side.runs.len(),
        "files": side.runs.iter().map(|run| &run.file).collect::<Vec<_>>(),
        "program": side.values("program").join(" and "),
    })
}

fn result(contrast: &Contrast) -> Value {
    let place = &contrast.place;
    let verdict = match contrast.verdict {
        CompareVerdict::CannotTell => "cannot-tell",
        verdict => verdict.word(),
    };
    json!({
        "job": place.job,
        "direction": words::direction(place.kind),
        "metric": place.metric.to_string(),
        "unit": place.metric.unit(),
        "side": place.side.to_string(),
        "values_a": contrast.a,
        "values": contrast.b,
        "median_a": contrast.median_a(),
        "median": contrast.median_b(),
        "ratio": contrast.evidence.ratio,
        "interval": contrast.evidence.interval.map(|(low, high)| [low, high]),
        "change_percent": contrast.change_percent(),
        "interval_percent": contrast.interval_percent().map(|(low, high)| [low, high]),
        "method": contrast.evidence.method.word(),
        "p": contrast.p,
        "p_corrected": contrast.p_corrected,
        "verdict": verdict,
        "conditional": contrast.is_conditional(),
        "reason": contrast.reason,
        "runs_needed": contrast.runs_needed,
    })
}
