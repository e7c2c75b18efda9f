//! Tests of findings: each with a run that has the hazard, and a clean run.

mod check;
mod claims;
mod data;
mod devices;
mod file_systems;
mod files;
mod groups;
mod lint;
mod metadata;
mod network;
mod options;
mod remedies;
mod results;
mod sound;

use serde_json::Value;

use crate::fiord::{Place, Ran};

/// Returns the ids and severities of the findings of a run, in the order of the report.
pub(crate) fn found(ran: &Ran) -> Vec<(String, String)> {
    let text = |finding: &Value, key: &str| finding[key].as_str().unwrap().to_owned();
    let list = ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default();
    list.iter().map(|finding| (text(finding, "id"), text(finding, "severity"))).collect()
}

/// Returns the finding with this id. Panics with all findings if there is none.
#[track_caller]
pub(crate) fn finding(ran: &Ran, id: &str) -> Value {
    let document = ran.json();
    let list = document["fiord"]["findings"].as_array().cloned().unwrap_or_default();
    let hit = list.iter().find(|finding| finding["id"] == id);
    hit.cloned().unwrap_or_else(|| panic!("no {id}: {}", document["fiord"]))
}

/// Panics if the run reports a finding with this id.
#[track_caller]
pub(crate) fn silent(ran: &Ran, id: &str) {
    assert!(found(ran).iter().all(|(found, _)| found != id), "{}", ran.json()["fiord"]);
}

/// Runs fiord with JSON output.
#[track_caller]
pub(crate) fn json(place: &Place, line: &str) -> Ran {
    place.run(&format!("--output-format=json {line}")).ok()
}
