//! What a job did to raw flash.

use fiord_types::{FlashCount, FlashCounts};

use super::document::{Value, integer};

pub(super) fn flash(counts: &FlashCounts) -> Value {
    let keys = FlashCount::ALL.map(|what| (what.name().into(), integer(counts.get(what))));
    Value::Object(keys.into())
}
