//! The faults that a simulated device injected.

use fiord_stat::faults::{FaultEntry, FaultReport};

use super::document::{Value, integer, text};

/// Counts by kind, and the list.
pub(super) fn faults(report: &FaultReport) -> Value {
    let counts = report.counts.iter().map(|(kind, count)| (kind.clone(), integer(*count)));
    Value::Object(vec![
        ("total".into(), integer(report.total())),
        ("counts".into(), Value::Object(counts.collect())),
        ("list".into(), Value::Array(report.list.iter().map(entry).collect())),
    ])
}

fn entry(fault: &FaultEntry) -> Value {
    let optional = |name: &str, value: Option<i128>| Some((name.to_owned(), integer(value?)));
    let mut keys = vec![("kind".into(), text(&fault.kind))];
    keys.extend(optional("op", fault.op.map(Into::into)));
    keys.push(("file".into(), text(&fault.file)));
    keys.push(("offset".into(), integer(fault.offset.0)));
    keys.push(("length".into(), integer(fault.len.0)));
    keys.extend(optional("other_offset", fault.other.map(|other| other.0.into())));
    keys.extend(optional("torn_at", fault.torn_at.map(|at| at.0.into())));
    keys.extend(optional("shifted_by", fault.shifted_by.map(Into::into)));
    if !fault.bits.is_empty() {
        let bits = fault.bits.iter().map(|bit| integer(*bit)).collect();
        keys.push(("bits".into(), Value::Array(bits)));
    }
    Value::Object(keys)
}
