//! `latency_target`. [`LatencyTarget`] searches for the depth; this hook keeps it.

use fiord_load::pace::LatencyTarget;
use fiord_load::pace::latency_target::WindowResult;
use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_types::PerDir;

use crate::hook::{Check, Completed, Delay, Disposition, Events, Hook, HookResults, IssuedIo};

/// Limits the I/Os in flight to the depth that the search tries.
pub(super) struct DepthSearch(LatencyTarget);

impl DepthSearch {
    /// The search of a job that begins at `now`; `None` without a target.
    pub(super) fn of(job: &JobPlan, now: u64) -> Option<Self> {
        LatencyTarget::new(job, now).map(DepthSearch)
    }
}

impl Hook for DepthSearch {
    fn events(&self) -> Events {
        Events::READY | Events::COMPLETED
    }

    fn ready(&mut self, _now: u64, in_flight: u32) -> Delay {
        if in_flight >= self.0.depth() { Delay::Completion } else { Delay::None }
    }

    fn completed(
        &mut self,
        _io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if end.succeeded {
            self.0.ended(end.times.lat.0);
        }
        Disposition::Release
    }

    fn next_check(&self) -> u64 {
        self.0.next()
    }

    fn check(&mut self, now: u64, _totals: PerDir<(u64, u64)>) -> Check {
        match self.0.check(now) {
            WindowResult::GoOn | WindowResult::Adjusted => Check::GoOn,
            WindowResult::Another => Check::MeasureAgain,
            WindowResult::Found => Check::End,
        }
    }

    fn restart(&mut self, now: u64) {
        self.0.restart(now);
    }

    fn add_results(&self, results: &mut HookResults) {
        results.depth = Some(self.0.depth());
    }
}
