//! Tests of findings on a busy machine: while one program reads the disk that the jobs use and others
//! compute, a hundred sound jobs cause no wrong finding, and real hazards are still reported.
//!
//! This is a separate test program, so that its load does not disturb other tests.

#[path = "../run/fiord.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod fiord;
#[path = "../run/fuse.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod fuse;
#[path = "../run/ground.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod ground;
#[path = "../run/sandbox.rs"]
#[allow(dead_code, reason = "shared with the tests in `run`")]
mod sandbox;

mod hazards;
mod sound;

use serde_json::Value;

use crate::fiord::Ran;

/// Returns the findings of a run.
pub(crate) fn findings_of(ran: &Ran) -> Vec<Value> {
    ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default()
}
