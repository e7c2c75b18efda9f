//! The requests of a job to servers.

use fiord_types::{AnswerTimes, RequestCount, RequestSummary};

use super::document::{Value, integer};

pub(super) fn requests(summary: &RequestSummary) -> Value {
    let counts = RequestCount::ALL.map(|what| (what.name().into(), integer(summary.get(what))));
    let mut keys = Vec::from(counts);
    keys.push(("lookup_ns".into(), integer(summary.lookup.0)));
    keys.extend(summary.first_byte.map(|found| ("first_byte_ns".into(), times(found))));
    keys.extend(summary.parts.map(|found| ("part_ns".into(), times(found))));
    Value::Object(keys)
}

fn times(AnswerTimes { answers, min, mean, p50, p99, p999, max }: AnswerTimes) -> Value {
    let mut times = vec![("N".into(), integer(answers.0))];
    let named =
        [("min", min), ("mean", mean), ("p50", p50), ("p99", p99), ("p99.9", p999), ("max", max)];
    times.extend(named.map(|(name, time)| (name.into(), integer(time.0))));
    Value::Object(times)
}
