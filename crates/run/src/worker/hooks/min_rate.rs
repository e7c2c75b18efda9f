//! Minimum rates (`rate_min`, `rate_iops_min`), checked at the end of each cycle by [`MinRate`].

use fiord_load::pace::MinRate;
use fiord_plan::{JobPlan, Rate};
use fiord_types::{Errno, PerDir};

use crate::error::{JobError, Stage};
use crate::hook::{Check, Events, Hook};
/// Ends a job that is slower than its minimum rate.
pub(super) struct RateFloor(MinRate);

impl RateFloor {
    /// The minimum rates of a job; the first cycle begins at `now`. `None` if it has none.
    pub(super) fn of(job: &JobPlan, now: u64) -> Option<Self> {
        MinRate::new(job, now).map(RateFloor)
    }
}

impl Hook for RateFloor {
    fn events(&self) -> Events {
        Events::NONE
    }

    fn next_check(&self) -> u64 {
        self.0.next()
    }

    fn check(&mut self, now: u64, totals: PerDir<(u64, u64)>) -> Check {
        let Err(missed) = self.0.check(now, totals) else { return Check::GoOn };
        let (name, unit, least) = match missed.least {
            Rate::Bytes(n) => ("rate_min", "B/s", n),
            Rate::Ios(n) => ("rate_iops_min", " IOPS", n),
        };
        let got = missed.got;
        let what = format!("{name}={least}{unit} not met, got {got}{unit}");
        Check::Fail(Box::new(JobError::new(Stage::MinRate, Errno::EIO, what)))
    }

    fn restart(&mut self, now: u64) {
        self.0.restart(now);
    }
}
