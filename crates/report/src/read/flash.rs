//! What a job did to raw flash.

use fiord_types::{FlashCount, FlashCounts};

use super::node::Node;

pub(super) fn flash(node: Node<'_>) -> FlashCounts {
    let mut counts = FlashCounts::default();
    FlashCount::ALL.into_iter().for_each(|what| counts.add(what, node.whole(what.name())));
    counts
}
