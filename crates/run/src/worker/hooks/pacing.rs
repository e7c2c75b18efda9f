//! When the next I/O is issued: rates, think times, flows, limits on latency. Only loops with hooks
//! use it.
//!
//! `fiord_load::pace` decides when an I/O is due, without a clock. This module reads the clock and
//! waits; `waiting.rs` connects it to the loops.

use std::hint::spin_loop;
use std::time::Duration;

use fiord_engine::{Op, OpKind, Slot, Time, Want};
use fiord_load::Dir;
use fiord_load::pace::latency_target::Verdict;
use fiord_load::pace::think::Thought;
use fiord_load::pace::{FlowTicket, LatencyTarget, MinRate, Pacer, Thinker};
use fiord_plan::{JobPlan, Rate};
use fiord_stat::delays::ThreadDelays;

use super::super::loops::ops::direction;
use crate::error::JobError;

/// How long a job that is ahead of its flow waits before it looks again, where it says nothing, ns.
const FLOW_NAP: u64 = 50_000;
/// Waits end at most so much early, ns, to be finished busily: more is the machine's fault and costs
/// too much.
const MOST_LAG: u64 = 100_000;
/// There is no such time.
const NEVER: u64 = u64::MAX;

/// Result of checking minimum rates and the latency target.
pub enum PacingVerdict {
    /// The job goes on.
    GoOn,
    /// The search tries another depth: the measurement starts again.
    MeasureAgain,
    /// The search for a depth is over, and with it the job.
    Found,
    /// The job is slower than its minimum rate.
    Missed(JobError),
}

/// Everything that decides when a job's I/Os are made. All of it is empty for most jobs.
pub struct Pacing {
    pacer: Option<Pacer>,
    thinker: Option<Thinker>,
    floor: Option<MinRate>,
    goal: Option<LatencyTarget>,
    seat: Option<FlowTicket>,
    flow_nap: u64,
    /// A pause is not made up for.
    forgive: bool,
    /// `thinkcycles` of one I/O as time, ns.
    think_ns: u64,
    /// The same of the I/Os that ended since it was last spent.
    owed: u64,
    max_latency: [u64; 3],
    /// When the I/O in each slot was due; [`NEVER`]: its direction has no rate.
    dues: Vec<u64>,
    /// The end of a pause.
    not_before: u64,
    /// What is next waits for this time; [`NEVER`]: for a completion.
    pub wake: u64,
    /// It waits for the other jobs of its flow.
    crowded: bool,
    /// How late this machine wakes a thread that sleeps, on average.
    lag: u64,
    /// When the wait that is under way is to end; 0: it has no end.
    aim: u64,
    /// How late the thread woke for I/Os that were due.
    pub delays: ThreadDelays,
}

impl Pacing {
    /// Of a job whose first I/O is due now. `hertz`: cycles a second, for `thinkcycles`.
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

    /// When floors and goals are looked at again; [`NEVER`]: there are none.
    pub fn next_check(&self) -> u64 {
        let floor = self.floor.as_ref().map_or(NEVER, MinRate::next);
        floor.min(self.goal.as_ref().map_or(NEVER, LatencyTarget::next))
    }

    /// The measured part begins.
    pub fn restart(&mut self, now: u64) {
        self.delays = ThreadDelays::default();
        if let Some(floor) = &mut self.floor {
            floor.restart(now);
        }
        if let Some(goal) = &mut self.goal {
            goal.restart(now);
        }
    }

    /// The depth that `latency_target` is at.
    pub fn depth(&self) -> Option<u32> {
        self.goal.as_ref().map(LatencyTarget::depth)
    }

    /// Whether an I/O of a direction may be made now; if not, it is waited for.
    #[inline]
    pub fn is_due(&mut self, dir: Dir, now: u64) -> bool {
        let due = self.pacer.as_ref().map_or(0, |pacer| pacer.due(dir));
        if due > now {
            self.wake = due;
        }
        due <= now
    }

    /// The direction of the next I/O, where the rates decide.
    #[inline]
    pub fn choose(&mut self, now: u64) -> Option<Dir> {
        self.pacer.as_mut().and_then(|pacer| pacer.choose(now))
    }

    /// An op went to the engine.
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

    /// Whether pauses, flows and goals permit another I/O with so many in flight. If not,
    /// `wake` says what to wait for.
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

    /// Waits, with nothing in flight, for what [`Pacing::gate`] or [`Pacing::is_due`] said, or for
    /// `event`.
    pub fn wait(&mut self, clock: &impl Time, event: u64) {
        if self.crowded {
            // Others go on in real time, whatever this engine's clock is.
            std::thread::sleep(Duration::from_nanos(self.flow_nap));
        } else if self.wake != NEVER {
            self.sleep(clock, self.wake.min(event));
        }
    }

    /// A wait for what is due has ended now.
    pub fn waited(&mut self, now: u64) {
        if self.wake != NEVER && !self.crowded {
            self.delays.woke(now.saturating_sub(self.wake));
        }
    }

    /// Whether a wait for completions is to be bounded by what is due.
    pub fn bounds(&mut self, want: &Want) -> bool {
        self.aim = 0;
        self.wake != NEVER && want.min > 0
    }

    /// Bounds a wait for completions that begins now by what is due, and by `event`. False when that
    /// is due already: nothing is to be waited for.
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

    /// A wait for completions has ended, with none or some.
    pub fn bounded(&mut self, now: u64, none: bool) {
        if none && self.aim > 0 {
            self.woke(self.aim, now);
            self.waited(now);
        }
    }

    /// When the I/O in a slot was due; `None`: its direction has no rate.
    #[inline]
    pub fn due_of(&self, slot: Slot) -> Option<u64> {
        let due = self.dues[slot as usize];
        (due != NEVER).then_some(due)
    }

    /// An I/O ended well.
    #[inline]
    pub fn ended(&mut self, lat: u64) {
        if let Some(goal) = &mut self.goal {
            goal.ended(lat);
        }
        self.owed = self.owed.saturating_add(self.think_ns);
    }

    /// `max_latency` of a direction, ns; `u64::MAX`: it has none.
    #[inline]
    pub fn max_latency(&self, dir: Dir) -> u64 {
        self.max_latency[dir as usize]
    }

    /// Checks floors and goals. `totals`: bytes and I/Os by direction since measuring began.
    pub fn check(&mut self, now: u64, totals: [(u64, u64); 3]) -> PacingVerdict {
        if let Some(floor) = &mut self.floor
            && let Err(missed) = floor.check(now, totals)
        {
            /// `EIO` of `errno-base.h`: what the reference reports.
            const EIO: i32 = 5;
            let (name, unit, least) = match missed.least {
                Rate::Bytes(n) => ("rate_min", "B/s", n),
                Rate::Ios(n) => ("rate_iops_min", " IOPS", n),
            };
            let got = missed.got;
            let what = format!("{name}={least}{unit} not met, got {got}{unit}");
            return PacingVerdict::Missed(JobError::new("check of the minimum rate", EIO, what));
        }
        match self.goal.as_mut().map_or(Verdict::GoOn, |goal| goal.check(now)) {
            Verdict::GoOn | Verdict::Adjusted => PacingVerdict::GoOn,
            Verdict::Another => PacingVerdict::MeasureAgain,
            Verdict::Found => PacingVerdict::Found,
        }
    }

    /// Sleeps to a time: coarsely, and busily for as long as this machine usually wakes late.
    fn sleep(&mut self, clock: &impl Time, until: u64) {
        let now = clock.now();
        if until.saturating_sub(now) > self.lag {
            let aim = until - self.lag;
            clock.sleep_until(aim);
            self.woke(aim, clock.now());
        }
        busy_wait(clock, until);
    }

    /// A wait that was to end at `aim` ended now.
    fn woke(&mut self, aim: u64, now: u64) {
        let late = now.saturating_sub(aim).min(MOST_LAG);
        self.lag = (self.lag * 7 + late) / 8;
    }
}

/// Busy-waits until `until`. Advances a virtual clock, which moves only when somebody sleeps on it.
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
