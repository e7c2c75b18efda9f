//! Zones as one JSON document for programs: sizes in bytes, one entry for each zone.

use fiord_sys::zone::{State, Zone, ZoneType};
use fiord_types::Bytes;
use serde_json::{Map, Value, json};

use crate::zones::summary::ZoneSums;
use crate::zones::table::View;

/// Builds the JSON document.
#[must_use]
pub fn document(view: &View) -> String {
    let facts = view.facts;
    let sums = ZoneSums::of(view.zones);
    let states: Map<String, Value> =
        sums.present().map(|(state, n)| (state.word().into(), n.into())).collect();
    let (first, end) = view.shown;
    let zones: Vec<Value> =
        view.zones[first..end].iter().enumerate().map(|(i, zone)| one(first + i, zone)).collect();
    let document = json!({
        "device": view.device.display().to_string(),
        "model": facts.model.word(),
        "size_bytes": facts.size,
        "zone_size_bytes": facts.zone_size,
        "zone_count": facts.count,
        "limits": {
            "max_open_zones": facts.max_open,
            "max_active_zones": facts.max_active,
            "block_bytes": facts.block,
            "write_granularity_bytes": facts.write_granularity,
            "zone_append_max_bytes": (facts.append_max > Bytes::ZERO).then_some(facts.append_max),
        },
        "summary": {
            "states": states,
            "open": sums.open(),
            "active": sums.active(),
            "capacity_bytes": sums.capacity,
            "written_bytes": sums.written,
        },
        "zones": zones,
    });
    format!("{document:#}\n")
}

fn one(index: usize, zone: &Zone) -> Value {
    let kind = match zone.kind {
        ZoneType::Conventional => "conventional",
        ZoneType::SequentialRequired => "sequential-required",
        ZoneType::SequentialPreferred => "sequential-preferred",
    };
    let pointed = !matches!(zone.state, State::NoWritePointer | State::ReadOnly | State::Offline);
    json!({
        "index": index,
        "type": kind,
        "state": zone.state.word(),
        "start_bytes": zone.start,
        "write_pointer_bytes": pointed.then_some(zone.write_pointer),
        "written_bytes": pointed.then_some(zone.written()),
        "capacity_bytes": zone.capacity,
        "size_bytes": zone.len,
    })
}
