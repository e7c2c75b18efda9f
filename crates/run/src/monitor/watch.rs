//! Stops a running job when its run time is over.

use fiord_plan::JobPlan;

use crate::job::control::{JobControl, Phase, StopReason};

/// How long after its run time the monitor stops a job, ns. The worker's own clock, which starts when its
/// thread wakes, should stop it earlier.
const GRACE: u64 = 50_000_000;

/// Monitors one job.
#[derive(Debug, Default)]
pub(crate) struct JobWatch {
    /// When the job was released, ns.
    pub released: Option<u64>,
    /// When its measured part began, ns; `None` if the monitor has not seen that yet.
    pub measured: Option<u64>,
    /// The engine has a virtual clock, so the machine's clock does not apply.
    other_clock: bool,
}

impl JobWatch {
    /// A monitor for a job that has not started.
    pub(crate) fn new(job: &JobPlan) -> Self {
        JobWatch { other_clock: job.engine.def().virtual_time, ..JobWatch::default() }
    }

    /// Records that the job was released at `now`.
    pub(crate) fn release(&mut self, now: u64) {
        self.released = Some(now);
    }

    /// Stops the job if its run time is over at `now`.
    pub(crate) fn update(&mut self, job: &JobPlan, control: &JobControl, now: u64) {
        if self.measured.is_none()
            && let Some(began) = control.measured_since()
        {
            self.measured = Some(began);
        }
        let Some(measured) = self.measured else { return };
        if self.other_clock || control.phase() >= Phase::Ended {
            return;
        }
        if job
            .end
            .runtime
            .filter(|_| !job.reads_back_after_runtime())
            .is_some_and(|t| now >= measured.saturating_add(t.0).saturating_add(GRACE))
        {
            control.stop(StopReason::Runtime);
        }
    }

    /// When [`JobWatch::update`] is due, ns; `None`: at any time. The job itself records when its measured part begins,
    /// so the monitor need not watch for that. A stopped job needs no second stop.
    pub(crate) fn due(&self, job: &JobPlan, stopped: bool) -> Option<u64> {
        let measured = self.measured.filter(|_| !self.other_clock)?;
        let end = job.end.runtime.filter(|_| !stopped && !job.reads_back_after_runtime());
        end.map(|t| measured.saturating_add(t.0).saturating_add(GRACE))
    }
}
