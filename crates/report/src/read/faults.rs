//! The faults that a simulated device injected.

use fiord_stat::faults::{FaultEntry, FaultReport};
use fiord_types::Bytes;

use super::node::Node;

pub(super) fn faults(node: Node<'_>) -> FaultReport {
    FaultReport {
        counts: node
            .entries("counts")
            .map(|(kind, count)| (kind.to_owned(), count.integer()))
            .collect(),
        list: node.list("list").map(entry).collect(),
    }
}

fn entry(node: Node<'_>) -> FaultEntry {
    let bytes = |key| node.find(key).map(|value| Bytes(value.integer()));
    FaultEntry {
        kind: node.text("kind"),
        op: node.find("op").map(Node::integer),
        file: node.text("file"),
        offset: Bytes(node.whole("offset")),
        len: Bytes(node.whole("length")),
        other: bytes("other_offset"),
        torn_at: bytes("torn_at"),
        shifted_by: node.find("shifted_by").map(|by| by.number() as i64),
        bits: node.list("bits").map(Node::integer).collect(),
    }
}
