//! Says in words where a knee is, and how certain that is.

use fiord_compare::bootstrap::MIN_WINDOWS;
use fiord_stat::units;

use crate::amount::{latency, scaled};
use crate::axis;
use crate::sweep::knee::KneeBasis;
use crate::sweep::results::Knee;

/// Describes a knee in a sentence, and in a second line how certain it is.
#[must_use]
pub fn knee(knee: &Knee) -> String {
    let with = match knee.with.is_empty() {
        true => String::new(),
        false => format!("{}: ", axis::words(&knee.with)),
    };
    format!("{with}{}\n  {}", sentence(knee), certainty(knee))
}

fn sentence(knee: &Knee) -> String {
    let estimate = &knee.estimate;
    let along = if knee.along == "load" { "the loads" } else { &knee.along };
    if let Some(at) = estimate.certain() {
        return format!(
            "knee at {}: {}; the next step gains too little throughput for more latency",
            place(knee, at),
            results(knee, at)
        );
    }
    if estimate.is_absent() {
        return format!("no knee along {along}: every step pays off");
    }
    let measured = match estimate.measured {
        Some(at) => format!("as measured, it is at {}: {}", place(knee, at), results(knee, at)),
        None => "as measured, every step pays off".into(),
    };
    match (estimate.candidates.as_slice(), estimate.none_possible) {
        ([.., last], true) if knee.line.len() > 2 || estimate.candidates.len() > 1 => format!(
            "no knee along {along} is certain: it can be from {} to {}, or there is none; {measured}",
            place(knee, estimate.candidates[0]),
            place(knee, *last)
        ),
        ([first, .., last], false) => {
            format!("knee from {} to {}; {measured}", place(knee, *first), place(knee, *last))
        }
        _ => format!("no knee along {along} is certain; {measured}"),
    }
}

/// Names a point of the line.
fn place(knee: &Knee, at: usize) -> String {
    let value = knee.line.get(at).map_or("", |(value, _)| value.as_str());
    if knee.along == "load" { format!("{value} load") } else { format!("{}={value}", knee.along) }
}

fn results(knee: &Knee, at: usize) -> String {
    let Some((_, results)) = knee.line.get(at) else { return String::new() };
    let outcome = &results.median;
    let due = outcome.due.as_ref().filter(|_| knee.along == "load").map(|due| due.mean_ns);
    let mean = due.or(outcome.mean_ns);
    let mean = mean.map_or("latency not measured".into(), |ns| format!("{} mean", latency(ns)));
    format!("{} IOPS, {mean}", scaled(outcome.iops, units::COUNT))
}

/// How certain the sentence is, and what makes it more certain.
fn certainty(knee: &Knee) -> String {
    let open = knee.estimate.certain().is_none() && !knee.estimate.is_absent();
    match knee.estimate.basis {
        KneeBasis::Runs(runs) => {
            let fix = if open {
                format!(". To fix: --repeat={}", 2 * runs.max(3))
            } else {
                String::new()
            };
            format!("certainty: 95 %, from {runs} runs of each point{fix}")
        }
        KneeBasis::Windows => {
            let fix = if open { "To fix" } else { "To see that" };
            format!(
                "certainty: 95 % for these runs, from their time windows; how much runs vary is unknown. \
                 {fix}: --repeat=5"
            )
        }
        KneeBasis::SingleValues => format!(
            "certainty: unknown, because a run has fewer than {MIN_WINDOWS} time windows of 31.25 ms. To fix: \
             --repeat=5"
        ),
    }
}
