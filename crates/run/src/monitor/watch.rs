//! One running job as the monitor sees it: rates over windows, and when its time is over.

use fiord_plan::{EnginePlan, JobPlan};
use fiord_stat::live::Live;
use fiord_stat::timeline::{IopsTimeline, TimelineRecorder};
use fiord_stat::windows::Windows;

use crate::control::{JobControl, Phase, StopReason};

/// How much later than its run time a job is told to end: its own clock, which begins when its
/// thread was woken, is to come first.
const GRACE: u64 = 50_000_000;

/// A window of a job timeline.
const TIMELINE_WINDOW: u64 = 100_000_000;

/// Follows one job.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    /// It was let go at this time.
    pub went: Option<u64>,
    /// Its measured part began, as far as was seen.
    pub measured: Option<u64>,
    bandwidth: Windows,
    iops: Windows,
    timeline: Option<TimelineRecorder>,
    /// The engine has a clock of its own: this machine's says nothing about it.
    other_clock: bool,
    /// That clock goes as fast as this one.
    real_time: bool,
    wanted: bool,
}

impl Watch {
    /// Of a job that has not started.
    pub fn new(job: &JobPlan) -> Self {
        Watch {
            bandwidth: Windows::new(job.record.bandwidth_window.max(1_000_000), 0),
            iops: Windows::new(job.record.iops_window.max(1_000_000), 0),
            other_clock: matches!(job.engine, EnginePlan::Sim(_)),
            real_time: real_time(&job.engine),
            wanted: job.record.bandwidth,
            ..Watch::default()
        }
    }

    /// The job was let go.
    pub fn go(&mut self, now: u64) {
        self.went = Some(now);
    }

    /// Looks at the job at time `now`.
    pub fn look(&mut self, job: &JobPlan, control: &JobControl, live: &Live, now: u64) {
        if self.measured.is_none()
            && let Some(began) = control.measured_since()
        {
            self.measured = Some(began);
            self.bandwidth.reset(began);
            self.iops.reset(began);
            self.timeline = Some(TimelineRecorder::new(TIMELINE_WINDOW, began));
        }
        let Some(measured) = self.measured else { return };
        let totals = live.totals();
        if let Some(timeline) = &mut self.timeline
            && (!self.other_clock || self.real_time)
        {
            timeline.look(now, totals.ios.iter().sum());
        }
        if self.other_clock || control.phase() >= Phase::Ended {
            return;
        }
        if self.wanted {
            self.bandwidth.sample(now, totals);
            self.iops.sample(now, totals);
        }
        if job.end.runtime.is_some_and(|t| now >= measured.saturating_add(t).saturating_add(GRACE))
        {
            control.stop(StopReason::Runtime);
        }
    }

    /// When to look next. `None`: whenever somebody does. A job that was let go says itself when
    /// its measured part began, so nobody has to wait for that; one that was told to end is told
    /// no second time.
    pub fn due(&self, job: &JobPlan, stopped: bool) -> Option<u64> {
        let measured = self.measured.filter(|_| !self.other_clock)?;
        let end = job.end.runtime.filter(|_| !stopped);
        let end = end.map(|t| measured.saturating_add(t).saturating_add(GRACE));
        let window = self.wanted.then(|| self.bandwidth.due_ns().min(self.iops.due_ns()));
        [end, window].into_iter().flatten().min()
    }

    /// How it went.
    pub fn timeline(&self) -> IopsTimeline {
        self.timeline.as_ref().map(|maker| maker.timeline().clone()).unwrap_or_default()
    }

    /// The samples: bandwidth from its windows, IOPS from theirs.
    pub fn windows(&self) -> Windows {
        let mut windows = self.bandwidth.clone();
        windows.iops = self.iops.iops;
        windows
    }
}

/// Whether a simulated device takes its time in real life (`sim_real_time`).
fn real_time(engine: &EnginePlan) -> bool {
    match engine {
        EnginePlan::Sim(sim) => {
            let mut options = sim.options.iter();
            options.any(|(name, value)| name == "sim_real_time" && value == "1")
        }
        _ => false,
    }
}
