//! Which blocks of zones are checked if a saved state says which writes are complete (`verify_state_load` with
//! `zonemode=zbd`). The job does not repeat the writes, because their places depended on the zones. It reads what the zones
//! contain, and each block states its write.

use std::collections::HashSet;
use std::sync::Arc;

use fiord_formats::verify::state::VerifyState;
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan};

/// The writes of an earlier run that are complete.
#[derive(Debug, Clone)]
pub(crate) struct CertainWrites {
    /// Number of the first write that may be incomplete, like all later ones.
    number: u64,
    /// Earlier writes that may be incomplete. All threads of the job share them.
    incomplete: Arc<HashSet<u64>>,
    /// Whether any write may be incomplete.
    open: bool,
}

impl CertainWrites {
    /// `None`: all blocks are checked.
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Option<Self> {
        let only = plan.pass == VerifyPass::Only && job.load.zoned.is_some();
        let VerifyState { number, ref incomplete, .. } = *plan.state.as_ref().filter(|_| only)?;
        Some(CertainWrites {
            number,
            incomplete: Arc::new(incomplete.iter().flatten().copied().collect()),
            open: plan.state.as_ref().is_some_and(VerifyState::has_open_ends),
        })
    }

    /// Whether a block is checked. `write`: the number of the write that it states; `None`: it states none, so it can be
    /// a part of an incomplete write.
    pub(super) fn includes(&self, write: Option<u64>) -> bool {
        match write {
            Some(number) => number < self.number && !self.incomplete.contains(&number),
            None => !self.open,
        }
    }
}
