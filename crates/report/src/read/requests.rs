//! The requests of a job to servers.

use fiord_types::{AnswerCount, AnswerTimes, RequestCount, RequestSummary};

use super::node::Node;

pub(super) fn requests(node: Node<'_>) -> RequestSummary {
    let mut summary = RequestSummary::default();
    RequestCount::ALL.into_iter().for_each(|what| summary.set(what, node.whole(what.name())));
    summary.lookup = node.nanos("lookup_ns");
    summary.first_byte = node.find("first_byte_ns").map(times);
    summary.parts = node.find("part_ns").map(times);
    summary
}

fn times(node: Node<'_>) -> AnswerTimes {
    AnswerTimes {
        answers: AnswerCount(node.whole("N")),
        min: node.nanos("min"),
        mean: node.nanos("mean"),
        p50: node.nanos("p50"),
        p99: node.nanos("p99"),
        p999: node.nanos("p99.9"),
        max: node.nanos("max"),
    }
}
