//! How a job followed the trace that it replayed.

use fiord_stat::replay::ReplaySummary;
use fiord_types::Nanos;

use super::node::Node;

/// Reads what a report states.
pub(super) fn results(node: Node<'_>) -> ReplaySummary {
    let lateness = node.get("lateness_ns");
    let numbered =
        |(key, value): (&str, Node<'_>)| Some((key.parse().ok()?, Nanos(value.integer())));
    let bin = |(key, count): (&str, Node<'_>)| Some((Nanos(key.parse().ok()?), count.integer()));
    ReplaySummary {
        timed: node.find("lateness_ns").is_some(),
        issued: node.whole("ios"),
        mean: Nanos(lateness.whole("mean")),
        max: Nanos(lateness.whole("max")),
        percentiles: lateness.entries("percentile").filter_map(numbered).collect(),
        bins: lateness.entries("bins").filter_map(bin).collect(),
        recorded: Nanos(node.whole("recorded_ns")),
        took: Nanos(node.whole("took_ns")),
        trace_depth: node.find("trace_depth").map(|depth| depth.integer() as u32),
        depth: node.whole("depth") as u32,
        blocked: node.whole("blocked"),
        starved: node.whole("starved"),
        skipped: node.whole("skipped_ios"),
        invalid: node.whole("invalid_lines"),
        first_invalid: node.find("first_invalid_line").map(|_| node.text("first_invalid_line")),
        backwards: node.whole("backward_times"),
    }
}
