//! Results of verification.

use fiord_formats::integrity::diagnosis::FaultClass;
use fiord_stat::verify::{Coverage, FaultCount, Unverified, VerifyResults};
use fiord_types::Bytes;

use super::node::Node;

/// Reads what a report states. An extent that this version does not know is left out.
pub(super) fn results(node: Node<'_>) -> VerifyResults {
    let mut coverage = Coverage {
        written: Bytes(node.whole("written_bytes")),
        verified: Bytes(node.whole("verified_bytes")),
        ..Coverage::default()
    };
    for (word, bytes) in node.entries("unverified_bytes") {
        if let Some(why) = Unverified::from_word(word) {
            coverage.skip(why, Bytes(bytes.integer()));
        }
    }
    let count = |(word, count): (&str, Node<'_>)| {
        let bytes = Bytes(count.whole("bytes"));
        Some((FaultClass::from_word(word)?, FaultCount::new(count.whole("extents"), bytes)))
    };
    let counts = node.entries("faults").filter_map(count).collect();
    let extents =
        node.list("extents").filter_map(|extent| serde_json::from_value(extent.to_json()).ok());
    VerifyResults::stated(coverage, counts, extents.collect())
}
