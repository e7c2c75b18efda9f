//! Clock of the simulated device.

use std::cell::Cell;
use std::rc::Rc;

use crate::{MachineClock, Time};

/// Start of the virtual clock, in nanoseconds. Not 0, so that times before the start can be
/// represented.
const START: u64 = 1_000_000_000;

/// Virtual time, which moves only when something waits for it, or real time (`sim_real_time=1`).
#[derive(Debug, Clone)]
pub struct SimClock {
    now: Rc<Cell<u64>>,
    /// The real clock, and its time when this clock started.
    real: Option<(MachineClock, u64)>,
}

impl SimClock {
    /// Creates a clock that is at its start.
    #[must_use]
    pub fn new(real: Option<MachineClock>) -> Self {
        let real = real.map(|clock| (clock, clock.now()));
        SimClock { now: Rc::new(Cell::new(START)), real }
    }

    /// The time at which the clock started, in nanoseconds.
    #[must_use]
    pub fn start(&self) -> u64 {
        START
    }

    /// Lets this many nanoseconds pass.
    pub fn pass(&self, ns: u64) {
        if ns > 0 {
            self.sleep_until(self.now().saturating_add(ns));
        }
    }
}

impl Time for SimClock {
    #[inline]
    fn now(&self) -> u64 {
        match self.real {
            None => self.now.get(),
            Some((clock, base)) => START + clock.now().saturating_sub(base),
        }
    }

    fn sleep_until(&self, when: u64) {
        match self.real {
            None => self.now.set(self.now.get().max(when)),
            Some((clock, base)) => clock.sleep_until(when.saturating_sub(START) + base),
        }
    }
}
