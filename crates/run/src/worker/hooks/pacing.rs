//! Decides when the next I/O is issued: rates, think times, flows, limits on latency. Only loops with hooks
//! use it.
//!
//! `fiord_load::pace` decides when an I/O is due, without a clock. This module reads the clock and
//! waits; `waiting.rs` connects it to the loops.

use std::hint::spin_loop;
use std::time::Duration;

use fiord_engine::{Op, OpKind, Slot, Time, Want};
use fiord_load::pace::latency_target::Verdict;
use fiord_load::pace::think::Thought;
use fiord_load::pace::{FlowTicket, LatencyTarget, MinRate, Pacer, Thinker};
use fiord_plan::{JobPlan, Rate};
use fiord_stat::delays::ThreadDelays;
use fiord_types::{Dir, PerDir};

use super::super::loops::ops::direction;
use crate::error::{JobError, Stage};

/// How long a job that is ahead of its flow sleeps before the next check if it has no `flow_sleep`, ns.
const FLOW_NAP: u64 = 50_000;
/// Longest part of a wait that is spent busy-waiting to hit the due time, ns. A later wake-up is the machine's
/// fault, and a longer busy-wait would cost too much CPU time.
const MOST_LAG: u64 = 100_000;
/// Marks a time that does not exist.
const NEVER: u64 = u64::MAX;

/// Result of checking minimum rates and the latency target.
pub enum PacingVerdict {
    /// The job continues.
    GoOn,
    /// The search for a depth tries another one: restart the measurement.
    MeasureAgain,
    /// The search for a depth is complete: stop the job.
    Found,
    /// The job is slower than its minimum rate.
    Missed(JobError),
}

/// Everything that decides when a job's I/Os are issued. All parts are empty for most jobs.
pub struct Pacing {
    pacer: Option<Pacer>,
    thinker: Option<Thinker>,
    floor: Option<MinRate>,
    goal: Option<LatencyTarget>,
    seat: Option<FlowTicket>,
    flow_nap: u64,
    /// The job does not catch up on its rate after a pause (`rate_ignore_thinktime`).
    forgive: bool,
    /// `thinkcycles` of one I/O, converted to ns.
    think_ns: u64,
    /// Think time of the I/Os that completed since the last busy-wait, ns.
    owed: u64,
    max_latency: PerDir<u64>,
    /// Due time of the I/O in each slot; [`NEVER`] if its direction has no rate.
    dues: Vec<u64>,
    /// End of the current pause.
    not_before: u64,
    /// The next I/O waits for this time; [`NEVER`]: it waits for a completion.
    pub wake: u64,
    /// The next I/O waits for other jobs of the flow.
    crowded: bool,
    /// Average delay with which this machine wakes a sleeping thread, ns.
    lag: u64,
    /// Planned end of the current wait; 0: it has no end.
    aim: u64,
    /// Delays with which the thread woke for I/Os that were due.
    pub delays: ThreadDelays,
}

impl Pacing {
    /// Pacing for a job whose first I/O is due at `now`. `hertz`: CPU cycles per second, for `thinkcycles`.
    pub fn new(job: &JobPlan, mut seat: Option<FlowTicket>, hertz: u64, now: u64) -> Self {
        let pace = &job.pace;
        if let Some(seat) = &mut seat {
            seat.join();
        }
        let cycles = pace.think.map_or(0, |think| think.cycles);
        let think_ns = u128::from(cycles) * 1_000_000_000 / u128::from(hertz.max(1));
        let slots = job.depth.depth.max(1) as usize;
        Pacing {
            pacer: Pacer::new(job, now),
            thinker: Thinker::new(job, now),
            floor: MinRate::new(job, now),
            goal: LatencyTarget::new(job, now),
            seat,
            flow_nap: pace.flow.map_or(0, |f| if f.sleep > 0 { f.sleep } else { FLOW_NAP }),
            forgive: pace.forgive_think,
            think_ns: think_ns.min(u128::from(NEVER)) as u64,
            owed: 0,
            max_latency: pace.max_latency.map(|most| most.unwrap_or(NEVER)),
            dues: vec![NEVER; slots],
            not_before: 0,
            wake: NEVER,
            crowded: false,
            lag: 0,
            aim: 0,
            delays: ThreadDelays::default(),
        }
    }

    /// When the minimum rates and the latency target are checked next; [`NEVER`] if there are none.
    pub fn next_check(&self) -> u64 {
        let floor = self.floor.as_ref().map_or(NEVER, MinRate::next);
        floor.min(self.goal.as_ref().map_or(NEVER, LatencyTarget::next))
    }

    /// Restarts the checks when the measured part begins.
    pub fn restart(&mut self, now: u64) {
        self.delays = ThreadDelays::default();
        if let Some(floor) = &mut self.floor {
            floor.restart(now);
        }
        if let Some(goal) = &mut self.goal {
            goal.restart(now);
        }
    }

    /// The present depth of `latency_target`; `None` without it.
    pub fn depth(&self) -> Option<u32> {
        self.goal.as_ref().map(LatencyTarget::depth)
    }

    /// Whether an I/O of a direction is due. If not, sets `wake` to its due time.
    #[inline]
    pub fn is_due(&mut self, dir: Dir, now: u64) -> bool {
        let due = self.pacer.as_ref().map_or(0, |pacer| pacer.due(dir));
        if due > now {
            self.wake = due;
        }
        due <= now
    }

    /// The direction of the next I/O if the rates decide it.
    #[inline]
    pub fn choose(&mut self, now: u64) -> Option<Dir> {
        self.pacer.as_mut().and_then(|pacer| pacer.choose(now))
    }

    /// Records that an op was issued.
    #[inline]
    pub fn issued(&mut self, slot: Slot, op: &Op) {
        if !matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) {
            return;
        }
        let dir = direction(op);
        if let Some(pacer) = &mut self.pacer {
            self.dues[slot as usize] = if pacer.has(dir) { pacer.due(dir) } else { NEVER };
            pacer.issued(dir, op.len);
        }
        if let Some(thinker) = &mut self.thinker {
            thinker.issued();
        }
        if let Some(seat) = &mut self.seat {
            seat.issued();
        }
    }

    /// Whether think times, flows and the latency target permit another I/O with `in_flight` I/Os in flight. If not,
    /// sets `wake`.
    pub fn gate(&mut self, clock: &impl Time, now: &mut u64, in_flight: u32) -> bool {
        self.wake = NEVER;
        if self.owed > 0 {
            busy_wait(clock, now.saturating_add(std::mem::take(&mut self.owed)));
            *now = clock.now();
        }
        if *now < self.not_before {
            self.wake = self.not_before;
            return false;
        }
        if self.goal.as_ref().is_some_and(|goal| in_flight >= goal.depth()) {
            return false;
        }
        match self.thinker.as_mut().map_or(Thought::Go, |thinker| thinker.before(*now, in_flight)) {
            Thought::Go => {}
            Thought::Drain => return false,
            Thought::Pause { busy: spin, idle } => {
                let (working, end) = (now.saturating_add(spin), now.saturating_add(spin + idle));
                if let Some(pacer) = self.pacer.as_mut().filter(|_| self.forgive) {
                    pacer.shift(spin + idle);
                }
                busy_wait(clock, working);
                *now = clock.now();
                self.not_before = end;
                self.wake = end;
                return *now >= end;
            }
        }
        self.crowded = self.seat.as_ref().is_some_and(|seat| !seat.may_go());
        if self.crowded {
            self.wake = now.saturating_add(self.flow_nap);
        }
        !self.crowded
    }

    /// Waits, with nothing in flight, for the time that [`Pacing::gate`] or [`Pacing::is_due`] set, or for
    /// `event`.
    pub fn wait(&mut self, clock: &impl Time, event: u64) {
        if self.crowded {
            // The other jobs of the flow run in real time, whichever clock this engine has.
            std::thread::sleep(Duration::from_nanos(self.flow_nap));
        } else if self.wake != NEVER {
            self.sleep(clock, self.wake.min(event));
        }
    }

    /// Records how late a wait for a due I/O ended.
    pub fn waited(&mut self, now: u64) {
        if self.wake != NEVER && !self.crowded {
            self.delays.woke(now.saturating_sub(self.wake));
        }
    }

    /// Whether a wait for completions needs a time limit because an I/O becomes due.
    pub fn bounds(&mut self, want: &Want) -> bool {
        self.aim = 0;
        self.wake != NEVER && want.min > 0
    }

    /// Limits a wait for completions that begins now to the next due time or `event`. False if that is already due,
    /// so that the worker must not wait.
    pub fn bound(&mut self, want: &mut Want, now: u64, event: u64) -> bool {
        let until = self.wake.min(event);
        let gap = until.saturating_sub(now);
        if gap > self.lag {
            self.aim = until - self.lag;
            want.timeout = Some(gap - self.lag);
        } else {
            want.min = 0;
        }
        gap > 0
    }

    /// Records the end of a limited wait for completions. `none`: it brought no completion.
    pub fn bounded(&mut self, now: u64, none: bool) {
        if none && self.aim > 0 {
            self.woke(self.aim, now);
            self.waited(now);
        }
    }

    /// Due time of the I/O in a slot; `None` if its direction has no rate.
    #[inline]
    pub fn due_of(&self, slot: Slot) -> Option<u64> {
        let due = self.dues[slot as usize];
        (due != NEVER).then_some(due)
    }

    /// Records a successful I/O with its total latency, ns.
    #[inline]
    pub fn ended(&mut self, lat: u64) {
        if let Some(goal) = &mut self.goal {
            goal.ended(lat);
        }
        self.owed = self.owed.saturating_add(self.think_ns);
    }

    /// `max_latency` of a direction, ns; `u64::MAX` if it has none.
    #[inline]
    pub fn max_latency(&self, dir: Dir) -> u64 {
        self.max_latency[dir]
    }

    /// Checks the minimum rates and the latency target. `totals`: bytes and I/Os by direction since measuring
    /// began.
    pub fn check(&mut self, now: u64, totals: PerDir<(u64, u64)>) -> PacingVerdict {
        if let Some(floor) = &mut self.floor
            && let Err(missed) = floor.check(now, totals)
        {
            /// `EIO`: fio reports this errno.
            const EIO: i32 = 5;
            let (name, unit, least) = match missed.least {
                Rate::Bytes(n) => ("rate_min", "B/s", n),
                Rate::Ios(n) => ("rate_iops_min", " IOPS", n),
            };
            let got = missed.got;
            let what = format!("{name}={least}{unit} not met, got {got}{unit}");
            return PacingVerdict::Missed(JobError::new(Stage::MinRate, EIO, what));
        }
        match self.goal.as_mut().map_or(Verdict::GoOn, |goal| goal.check(now)) {
            Verdict::GoOn | Verdict::Adjusted => PacingVerdict::GoOn,
            Verdict::Another => PacingVerdict::MeasureAgain,
            Verdict::Found => PacingVerdict::Found,
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
        let late = now.saturating_sub(aim).min(MOST_LAG);
        self.lag = (self.lag * 7 + late) / 8;
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
