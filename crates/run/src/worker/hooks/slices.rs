//! Latencies in each slice of the run (`latency_limits`).

use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_types::Nanos;

use crate::hook::{Completed, Disposition, Events, Hook, IssuedIo};

/// Counts each I/O in its slice, with its latency from its start and from its due time.
pub(super) struct SliceCounts;

impl SliceCounts {
    /// `None` for a job without slices.
    pub(super) fn of(job: &JobPlan) -> Option<Self> {
        job.record.slices.as_ref().map(|_| SliceCounts)
    }
}

impl Hook for SliceCounts {
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
            // Without a due time the difference is 0.
            let from_due = Nanos(end.end.saturating_sub(io.due));
            recorder.sliced(Nanos(end.end), end.times.lat, from_due.max(end.times.lat));
        }
        Disposition::Release
    }
}
