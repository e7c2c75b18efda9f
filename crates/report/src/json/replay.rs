//! How a job followed the trace that it replayed, under the key `"fiord"` of a job.

use fiord_stat::replay::{ReplayCount, ReplaySummary};

use super::document::{Value, integer, text};

/// Lateness, depths, and what was skipped.
pub(super) fn results(replay: &ReplaySummary) -> Value {
    let mut keys = vec![
        ("timed".to_string(), Value::of(&replay.timed)),
        ("took_ns".into(), integer(replay.took.0)),
        ("recorded_ns".into(), integer(replay.recorded.0)),
    ];
    if replay.timed {
        let percentiles = replay.percentiles.iter();
        let percentiles =
            percentiles.map(|(percent, late)| (format!("{percent:.6}"), integer(late.0)));
        let bins = replay.bins.iter().map(|(late, count)| (late.0.to_string(), integer(*count)));
        let lateness = vec![
            ("mean".to_string(), integer(replay.mean.0)),
            ("max".into(), integer(replay.max.0)),
            ("percentile".into(), Value::Object(percentiles.collect())),
            ("bins".into(), Value::Object(bins.collect())),
        ];
        keys.push(("lateness_ns".into(), Value::Object(lateness)));
    }
    if let Some(depth) = replay.trace_depth {
        keys.push(("trace_depth".into(), integer(depth)));
    }
    for which in ReplayCount::ALL {
        keys.push((which.key().into(), integer(replay.counts.get(which))));
    }
    if let Some(line) = &replay.first_invalid {
        keys.push(("first_invalid_line".into(), text(line)));
    }
    Value::Object(keys)
}
