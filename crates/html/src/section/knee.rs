//! Where is the knee, and how certain is that?

use crate::chart::line::ChartMark;
use crate::result::KneeDocument;

/// Says where the knee is. `name` names a point by its value.
pub(super) fn note(knee: &KneeDocument, name: impl Fn(&str) -> String) -> String {
    let where_it_is = match (&knee.at, knee.candidates.as_slice()) {
        (Some(at), _) => format!(
            "Knee at {}: beyond it, throughput gains too little for more latency.",
            name(at)
        ),
        (None, []) => "No knee: every step pays off.".to_owned(),
        (None, [first, .., last]) if !knee.none_possible => {
            format!("Knee from {} to {}.", name(first), name(last))
        }
        (None, [first, ..]) => {
            let last = knee.candidates.last().unwrap_or(first);
            let range = match first == last {
                true => format!("at {}", name(first)),
                false => format!("from {} to {}", name(first), name(last)),
            };
            format!("No knee is certain: it can be {range}, or there is none.")
        }
    };
    let measured = match (&knee.at, &knee.measured_at) {
        (None, Some(measured)) => format!(" As measured, it is at {}.", name(measured)),
        _ => String::new(),
    };
    format!("{where_it_is}{measured}{}", certainty(knee))
}

fn certainty(knee: &KneeDocument) -> String {
    let percent = knee.confidence.unwrap_or_default() * 100.0;
    match knee.method.as_str() {
        "runs" => format!(
            " Certainty: {percent:.0}\u{202f}%, from {:.0} runs of each point.",
            knee.runs.unwrap_or_default()
        ),
        "block-bootstrap" => format!(
            " Certainty: {percent:.0}\u{202f}% for these runs, from their time windows. How much runs vary is unknown."
        ),
        "single-values" => " Certainty: unknown, because the runs are too short.".to_owned(),
        // An earlier version measured each point once.
        _ => String::new(),
    }
}

/// Marks the knee in a chart, or the points between which it is. `place` returns where the point with a value is, and its
/// name.
pub(super) fn marks(
    knee: &KneeDocument,
    place: impl Fn(&str) -> Option<((f64, f64), String)>,
) -> Vec<ChartMark> {
    let mark = |value: &str, what: &str| {
        let (at, name) = place(value)?;
        Some(ChartMark { at, label: format!("{what}: {name}") })
    };
    let marks = match (&knee.at, knee.candidates.as_slice()) {
        (Some(at), _) => vec![mark(at, "knee")],
        (None, [first, .., last]) if !knee.none_possible => {
            vec![mark(first, "knee from"), mark(last, "knee up to")]
        }
        _ => Vec::new(),
    };
    marks.into_iter().flatten().collect()
}
