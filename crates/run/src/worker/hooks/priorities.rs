//! Latencies by priority (`cmdprio_percentage`, `cmdprio_bssplit`).

use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;

use crate::hook::{Completed, Disposition, Events, Hook, IssuedIo};

/// Counts the latency of each I/O by its priority.
pub(super) struct PriorityLatencies;

impl PriorityLatencies {
    /// `None` for a job whose I/Os all have its own priority.
    pub(super) fn of(job: &JobPlan) -> Option<Self> {
        job.load.priorities.as_ref().map(|_| PriorityLatencies)
    }
}

impl Hook for PriorityLatencies {
    fn events(&self) -> Events {
        Events::COMPLETED
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        recorder: &mut Recorder,
    ) -> Disposition {
        if end.succeeded {
            recorder.prioritized(io.dir, io.op.attributes.priority, end.times);
        }
        Disposition::Release
    }
}
