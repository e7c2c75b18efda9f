//! What fiord adds, under one key.

use fiord_stat::report::Extras;

use super::document::{Value, integer, number, text};

/// The object, or nothing when there is nothing to say.
pub(super) fn extras(extras: &Extras, bins: bool) -> Option<Value> {
    let mut keys: Vec<(String, Value)> = Vec::new();
    if let Some(clock) = &extras.clock {
        let object = vec![
            ("source".into(), text(&clock.source)),
            ("cost_ns".into(), number(clock.cost_ns)),
            ("resolution_ns".into(), number(clock.resolution_ns)),
        ];
        keys.push(("clock".into(), Value::Object(object)));
    }
    if !extras.per_core.is_empty() {
        keys.push(("per_core".into(), Value::Array(per_core(extras))));
    }
    if !extras.findings.is_empty() {
        keys.push(("findings".into(), Value::Array(findings(extras))));
    }
    if !extras.unchecked.is_empty() {
        keys.push(("not_checked".into(), Value::Array(unchecked(extras))));
    }
    if !extras.intervals.is_empty() {
        let list = extras.intervals.iter().map(|r| Value::Object(super::plain(r, bins)));
        keys.push(("intervals".into(), Value::Array(list.collect())));
    }
    if keys.is_empty() {
        return None;
    }
    keys.insert(0, ("schema".into(), integer(fiord_stat::report::SCHEMA)));
    Some(Value::Object(keys))
}

fn per_core(extras: &Extras) -> Vec<Value> {
    let one = |group: &fiord_stat::report::CoreBandwidth| {
        Value::Object(vec![
            ("groupid".into(), integer(group.group_id)),
            ("cores".into(), integer(group.cores)),
            ("bw_bytes".into(), integer(group.bw)),
            ("bw_bytes_per_core".into(), number(group.bw_per_core)),
        ])
    };
    extras.per_core.iter().map(one).collect()
}

fn findings(extras: &Extras) -> Vec<Value> {
    let one = |f: &fiord_stat::finding::Finding| {
        let severity = text(f.severity.word());
        let mut keys = vec![("id".into(), text(&f.id)), ("severity".into(), severity)];
        if let Some(job) = &f.job {
            keys.push(("job".into(), text(job)));
        }
        keys.push(("what".into(), text(&f.what)));
        keys.push(("evidence".into(), text(&f.evidence)));
        keys.push(("mend".into(), text(&f.mend)));
        Value::Object(keys)
    };
    extras.findings.iter().map(one).collect()
}

fn unchecked(extras: &Extras) -> Vec<Value> {
    let one = |gap: &fiord_stat::finding::Unchecked| {
        Value::Object(vec![("id".into(), text(&gap.id)), ("why".into(), text(&gap.why))])
    };
    extras.unchecked.iter().map(one).collect()
}
