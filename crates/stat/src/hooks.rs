//! What hooks count about a job: features that follow its single I/Os.

use serde::{Deserialize, Serialize};

use crate::block_errors::BlockErrors;
use crate::replay::ReplayResults;
use crate::verify::VerifyResults;

/// What the hooks of a job counted, in a form that can be merged. A new count is a field here, in [`HookReport::merge`], and
/// in the report of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookReport {
    /// How many trims blocks survived; `None` without `block_error_percentiles`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_errors: Option<BlockErrors>,
    /// Results of verification; `None` if the job does not verify.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyResults>,
    /// How the job followed the trace that it replayed; `None` without `read_iolog`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Box<ReplayResults>>,
}

impl HookReport {
    /// Adds what the hooks of another job counted.
    pub fn merge(&mut self, other: &HookReport) {
        join(&mut self.block_errors, &other.block_errors, BlockErrors::merge);
        join(&mut self.verify, &other.verify, VerifyResults::merge);
        join(&mut self.replay, &other.replay, |mine, theirs| mine.merge(theirs));
    }
}

fn join<T: Clone>(mine: &mut Option<T>, theirs: &Option<T>, merge: fn(&mut T, &T)) {
    let Some(theirs) = theirs else { return };
    match mine {
        Some(mine) => merge(mine, theirs),
        None => *mine = Some(theirs.clone()),
    }
}
