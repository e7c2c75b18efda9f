//! The time of a simulated device.

use std::cell::Cell;
use std::rc::Rc;

use crate::{MachineClock, Time};

/// A virtual clock begins here, so that a moment before its start can be written down.
const START: u64 = 1_000_000_000;

/// Time that stands still until something happens, or (`sim_real_time=1`) real time.
#[derive(Debug, Clone)]
pub struct SimClock {
    now: Rc<Cell<u64>>,
    /// The real clock and its time at the start.
    real: Option<(MachineClock, u64)>,
}

impl SimClock {
    /// A clock at its start.
    pub fn new(real: Option<MachineClock>) -> Self {
        let real = real.map(|clock| (clock, clock.now()));
        SimClock { now: Rc::new(Cell::new(START)), real }
    }

    /// When it started.
    pub fn start(&self) -> u64 {
        START
    }

    /// Makes so much time pass.
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
