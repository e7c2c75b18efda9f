//! The requests of a job to servers.

use fiord_types::{AnswerCount, FirstByte, RequestCount, RequestSummary};

use super::node::Node;

pub(super) fn requests(node: Node<'_>) -> RequestSummary {
    let mut summary = RequestSummary::default();
    RequestCount::ALL.into_iter().for_each(|what| summary.set(what, node.whole(what.name())));
    summary.lookup = node.nanos("lookup_ns");
    summary.first_byte = node.find("first_byte_ns").map(|times| FirstByte {
        answers: AnswerCount(times.whole("N")),
        min: times.nanos("min"),
        mean: times.nanos("mean"),
        p50: times.nanos("p50"),
        p99: times.nanos("p99"),
        p999: times.nanos("p99.9"),
        max: times.nanos("max"),
    });
    summary
}
