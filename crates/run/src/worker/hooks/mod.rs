//! Features that follow individual I/Os. Only loops of [`Managed`](super::loops::mode::Managed) modes
//! contain them, so a job without such features runs a loop that has no test for them.
//!
//! | question | module |
//! |---|---|
//! | when is the next I/O issued: rates, think times, flows, limits on latency | `pacing.rs` |
//! | how do the loops wait for it | `waiting.rs` |
//! | where in a zone does an I/O go | `zones.rs` |

pub mod pacing;
mod waiting;
pub mod zones;

use fiord_plan::JobPlan;

/// Whether a job has a feature that follows individual I/Os.
pub fn wanted(job: &JobPlan) -> bool {
    !job.pace.is_free() || job.record.slices.is_some() || job.load.zoned.is_some()
}
