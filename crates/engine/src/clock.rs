//! The clock of the machine, for engines that do real I/O.

use fiord_sys::clock::{self, Clock};

use crate::Time;

/// A clock of the machine as a [`Time`].
#[derive(Debug, Clone, Copy)]
pub struct MachineClock(pub Clock);

impl MachineClock {
    /// The best clock that this machine offers.
    #[must_use]
    pub fn best() -> Self {
        MachineClock(Clock::best())
    }
}

impl Time for MachineClock {
    #[inline(always)]
    fn now(&self) -> u64 {
        self.0.now()
    }

    /// `when` is a time of `CLOCK_MONOTONIC`, or of the wall clock with `clocksource=gettimeofday`.
    /// A signal ends the sleep early.
    fn sleep_until(&self, when: u64) {
        if self.0.source() == clock::TimeSource::GetTimeOfDay {
            let span = when.saturating_sub(self.now());
            clock::sleep(std::time::Duration::from_nanos(span));
        } else {
            clock::sleep_until(when);
        }
    }
}
