//! Findings on a machine that is not idle: while one program reads the disk that jobs use and others
//! compute, a hundred sound jobs raise no wrong finding, and real hazards are still seen.
//!
//! A test program of its own, so that its noise disturbs no other test.

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

/// What a run found.
pub fn told(ran: &Ran) -> Vec<Value> {
    ran.json()["fiord"]["findings"].as_array().cloned().unwrap_or_default()
}
