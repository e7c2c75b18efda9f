//! How the loops wait until a hook lets the next I/O go.

use std::hint::spin_loop;

use fiord_engine::{Time, Want};
use fiord_stat::delays::ThreadDelays;
use fiord_types::{Dir, Nanos};

use super::JobState;
use crate::hook::{Delay, Events, NEVER};

/// Maximum sleep, ns. A job notices within this time that it must stop.
const MAX_SLEEP: u64 = 50_000_000;
/// The longest sleep while hooks hold slots that the loop needs, ns. It uses a slot that was released again within
/// this time.
const HELD_SLEEP: u64 = 100_000;
/// Maximum part of a wait that is spent busy-waiting to hit the due time, ns. A later wake-up is the machine's
/// fault, and a longer busy-wait would cost too much CPU time.
const MAX_LAG: u64 = 100_000;

/// What the next I/O waits for, and how well this machine keeps times.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// The next I/O waits for this time; [`NEVER`]: for a completion.
    wake: u64,
    /// The next I/O waits for a change that only a hook can see.
    event: bool,
    /// Average delay with which this machine wakes a sleeping thread, ns.
    lag: u64,
    /// Planned end of the current wait for completions; 0: it has no end.
    aim: u64,
    /// Delays with which the thread woke for I/Os that were due.
    pub delays: ThreadDelays,
}

impl Waiting {
    /// Nothing waits.
    pub(crate) fn new() -> Self {
        Waiting { wake: NEVER, event: false, lag: 0, aim: 0, delays: ThreadDelays::default() }
    }

    /// Notes what the next I/O waits for.
    #[inline]
    pub(crate) fn note(&mut self, delay: Delay) {
        (self.wake, self.event) = match delay {
            Delay::None | Delay::Completion => (NEVER, false),
            Delay::Until(time) | Delay::Busy(time) => (time, false),
            Delay::Event(time) => (time, true),
        };
    }

    /// Limits a wait for completions that begins now to the time `until`. False if that has passed, so that the
    /// worker must not wait.
    fn limit(&mut self, want: &mut Want, now: u64, until: u64) -> bool {
        let gap = until.saturating_sub(now);
        if gap > self.lag {
            self.aim = until - self.lag;
            want.timeout = Some(gap - self.lag);
        } else {
            want.min = 0;
        }
        gap > 0
    }

    /// Records the end of a wait for completions. `none`: it brought no completion.
    #[inline]
    pub(crate) fn ended(&mut self, now: u64, none: bool) {
        if none && self.aim > 0 {
            self.woke(self.aim, now);
            self.waited(now);
        }
    }

    /// Records how late a wait for a due I/O ended.
    fn waited(&mut self, now: u64) {
        if self.wake != NEVER && !self.event {
            self.delays.woke(Nanos(now.saturating_sub(self.wake)));
        }
    }

    /// Sleeps until a time: sleeps until shortly before it, by the usual wake-up delay, then busy-waits.
    fn sleep(&mut self, clock: &impl Time, until: u64) {
        let now = clock.now();
        if until.saturating_sub(now) > self.lag {
            let aim = until - self.lag;
            clock.sleep_until(aim);
            self.woke(aim, clock.now());
        }
        busy_wait(clock, until);
    }

    /// Updates the average wake-up delay after a sleep that was planned to end at `aim`.
    fn woke(&mut self, aim: u64, now: u64) {
        let late = now.saturating_sub(aim).min(MAX_LAG);
        self.lag = (self.lag * 7 + late) / 8;
    }
}

impl JobState<'_> {
    /// Whether the hooks permit another I/O with `in_flight` I/Os in flight. If not, notes what it waits for.
    #[inline(always)]
    pub(crate) fn ready(&mut self, clock: &impl Time, now: &mut u64, in_flight: u32) -> bool {
        !self.hooks.want(Events::READY) || self.closing || self.hooks_ready(clock, now, in_flight)
    }

    fn hooks_ready(&mut self, clock: &impl Time, now: &mut u64, in_flight: u32) -> bool {
        loop {
            match self.hooks.ready(*now, in_flight) {
                Delay::None => return true,
                Delay::Busy(until) => {
                    busy_wait(clock, until);
                    *now = clock.now();
                }
                delay => {
                    self.waiting.note(delay);
                    return false;
                }
            }
        }
    }

    /// Whether an I/O of a direction is due. If not, notes what it waits for.
    #[inline]
    pub(crate) fn due(&mut self, dir: Dir, now: u64) -> bool {
        if self.closing {
            return true;
        }
        match self.hooks.due(dir, now) {
            Delay::None => true,
            delay => {
                self.waiting.note(delay);
                false
            }
        }
    }

    /// Waits, with nothing in flight, until the next I/O may go or housekeeping is due. False when the job must
    /// stop.
    pub(crate) fn wait(&mut self, clock: &impl Time, now: &mut u64) -> bool {
        let held = self.hooks.held() > 0;
        if self.waiting.event || (held && self.waiting.wake == NEVER) {
            self.hooks.wait();
            *now = clock.now();
            return !self.housekeeping_due(*now) || self.keep_house(*now);
        }
        let event = self.next_look(*now);
        match self.waiting.wake {
            NEVER => {}
            wake if wake <= event => self.waiting.sleep(clock, wake),
            // Nothing is due at that time, so a busy-wait would waste CPU time.
            _ => clock.sleep_until(event),
        }
        *now = clock.now();
        self.waiting.waited(*now);
        // The publishing of counters can wait until the I/O that is due has been issued.
        !self.housekeeping_urgent(*now) || self.keep_house(*now)
    }

    /// Limits a wait for completions to the time until the next I/O is due. False when it is due already, so
    /// there must be no wait.
    #[inline]
    pub(crate) fn limit_wait(&mut self, clock: &impl Time, want: &mut Want) -> bool {
        self.waiting.aim = 0;
        if (self.waiting.wake == NEVER && !self.hooks.are_short_of_slots()) || want.min == 0 {
            return true;
        }
        let now = clock.now();
        let until = self.waiting.wake.min(self.next_look(now));
        self.waiting.limit(want, now, until)
    }

    /// When the worker must look around again, although it waits for something else.
    fn next_look(&self, now: u64) -> u64 {
        let longest = if self.hooks.are_short_of_slots() { HELD_SLEEP } else { MAX_SLEEP };
        self.next_event(now).min(now + longest)
    }
}

/// Busy-waits until `until`. Advances a virtual clock, which moves only when a thread sleeps on it.
fn busy_wait(clock: &impl Time, until: u64) {
    let mut now = clock.now();
    while now < until {
        (0..8).for_each(|_| spin_loop());
        let later = clock.now();
        if later == now {
            clock.sleep_until(until);
        }
        now = clock.now();
    }
}
