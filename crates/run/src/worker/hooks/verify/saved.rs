//! The state that a job saves at its end (`verify_state_save`).

use fiord_formats::verify::state::VerifyState;
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan};

/// Collects the state of one job.
#[derive(Debug, Clone)]
pub(super) struct SavedState {
    state: VerifyState,
}

impl SavedState {
    /// `None` if the job saves no state.
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Option<Self> {
        let writes = matches!(plan.pass, VerifyPass::AfterWrites | VerifyPass::WritesOnly);
        let mut name = job.identity.name.clone().into_bytes();
        // A state has room for so many bytes of a name.
        name.truncate(63);
        let state = VerifyState {
            number: 0,
            index: job.identity.index.get() as u64,
            flag: 0,
            generators: [0; 48],
            name,
            incomplete: vec![None; job.depth.depth.max(1) as usize],
        };
        (plan.saves_state && writes).then_some(SavedState { state })
    }

    /// A write failed.
    pub(super) fn failed(&mut self, number: u64) {
        self.state.incomplete.push(Some(number));
    }

    /// The state after this many writes, with none in flight.
    pub(super) fn at(&self, writes: u64) -> VerifyState {
        VerifyState { number: writes, ..self.state.clone() }
    }
}
