//! How a job followed the trace that it replayed.

use fiord_stat::replay::{ReplayCount, ReplayCounts, ReplaySummary};
use fiord_types::Nanos;

use super::node::Node;

/// Reads what a report states.
pub(super) fn results(node: Node<'_>) -> ReplaySummary {
    let lateness = node.get("lateness_ns");
    let numbered =
        |(key, value): (&str, Node<'_>)| Some((key.parse().ok()?, Nanos(value.integer())));
    let bin = |(key, count): (&str, Node<'_>)| Some((Nanos(key.parse().ok()?), count.integer()));
    let mut counts = ReplayCounts::default();
    ReplayCount::ALL.into_iter().for_each(|which| counts.add(which, node.whole(which.key())));
    ReplaySummary {
        timed: node.find("lateness_ns").is_some(),
        mean: Nanos(lateness.whole("mean")),
        max: Nanos(lateness.whole("max")),
        percentiles: lateness.entries("percentile").filter_map(numbered).collect(),
        bins: lateness.entries("bins").filter_map(bin).collect(),
        recorded: Nanos(node.whole("recorded_ns")),
        took: Nanos(node.whole("took_ns")),
        trace_depth: node.find("trace_depth").map(|depth| depth.integer() as u32),
        counts,
        first_invalid: node.find("first_invalid_line").map(|_| node.text("first_invalid_line")),
    }
}
