//! When the next I/O is made: rates, pauses, flows, limits on latency. Only the loops that are
//! compiled with [`PACED`] in their axes have any of this.
//!
//! What is due when is decided in `fiord_load::pace`, without a clock; here the clock is read, and
//! what is not due is waited for.

use std::hint::spin_loop;
use std::time::Duration;

use fiord_engine::{Engine, Op, OpKind, Slot, Time, Want};
use fiord_load::pace::goal::Verdict;
use fiord_load::pace::think::Thought;
use fiord_load::pace::{Floor, Goal, Pacer, Seat, Thinker};
use fiord_load::{Dir, Next, Source};
use fiord_plan::{JobPlan, Rate};

use super::direct::direction;
use super::session::{Fill, Session, recorded};
use crate::error::JobError;

/// In a set of axes: the loop waits for what is due. Such loops are compiled once for all
/// measurements, so it stands beside `DYNAMIC`.
pub const PACED: u32 = 1 << 30;

/// The longest sleep: a job that is told to end does so in this time.
const NAP: u64 = 50_000_000;
/// How long a job that is ahead of its flow waits before it looks again, where it says nothing.
const FLOW_NAP: u64 = 50_000;
/// Waits end at most so much early, to be finished busily: more is the machine's fault and costs
/// too much.
const MOST_LAG: u64 = 100_000;
/// There is no such time.
const NEVER: u64 = u64::MAX;

/// Everything that decides when a job's I/Os are made. All of it is empty for most jobs.
pub struct Pacing {
    pacer: Option<Pacer>,
    thinker: Option<Thinker>,
    floor: Option<Floor>,
    goal: Option<Goal>,
    seat: Option<Seat>,
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
    /// The search for a depth is over.
    found: bool,
}

impl Pacing {
    /// Of a job whose first I/O is due now. `hertz`: cycles a second, for `thinkcycles`.
    pub fn new(job: &JobPlan, mut seat: Option<Seat>, hertz: u64, now: u64) -> Self {
        let pace = &job.pace;
        if let Some(seat) = &mut seat {
            seat.sit();
        }
        let cycles = pace.think.map_or(0, |think| think.cycles);
        let think_ns = u128::from(cycles) * 1_000_000_000 / u128::from(hertz.max(1));
        let slots = job.depth.depth.max(1) as usize;
        Pacing {
            pacer: Pacer::new(job, now),
            thinker: Thinker::new(job, now),
            floor: Floor::new(job, now),
            goal: Goal::new(job, now),
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
            found: false,
        }
    }

    /// When floors and goals are looked at again; [`NEVER`]: there are none.
    pub fn next_check(&self) -> u64 {
        let floor = self.floor.as_ref().map_or(NEVER, Floor::next);
        floor.min(self.goal.as_ref().map_or(NEVER, Goal::next))
    }

    /// The measured part begins.
    pub fn restart(&mut self, now: u64) {
        if let Some(floor) = &mut self.floor {
            floor.restart(now);
        }
        if let Some(goal) = &mut self.goal {
            goal.restart(now);
        }
    }

    /// The depth that `latency_target` is at.
    pub fn depth(&self) -> Option<u32> {
        self.goal.as_ref().map(Goal::depth)
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

    /// Sleeps to a time: coarsely, and busily for as long as this machine usually wakes late.
    fn sleep(&mut self, clock: &impl Time, until: u64) {
        let now = clock.now();
        if until.saturating_sub(now) > self.lag {
            let aim = until - self.lag;
            clock.sleep_until(aim);
            self.woke(aim, clock.now());
        }
        busy(clock, until);
    }

    /// A wait that was to end at `aim` ended now.
    fn woke(&mut self, aim: u64, now: u64) {
        let late = now.saturating_sub(aim).min(MOST_LAG);
        self.lag = (self.lag * 7 + late) / 8;
    }
}

/// Whether a job needs a loop that waits.
pub fn is_paced(job: &JobPlan) -> bool {
    !job.pace.is_free()
}

/// Spends the time to `until` on the CPU. A clock that stands still unless somebody sleeps is made
/// to go on.
fn busy(clock: &impl Time, until: u64) {
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

impl<E: Engine, S: Source, C: Fill> Session<'_, E, S, C> {
    /// What is next of a loop with one I/O at a time, when it is due. `None`: the job is to stop.
    pub fn next_in_time(&mut self, now: &mut u64) -> Option<Next> {
        while !self.gate(now, 0) {
            if !self.wait(now) {
                return None;
            }
        }
        let next = match self.pacing.choose(*now) {
            Some(dir) => self.source.next_of(dir),
            None => self.source.next(),
        };
        if let Next::Io(io) = &next {
            while !self.pacing.is_due(io.dir, *now) {
                if !self.wait(now) {
                    return None;
                }
            }
        }
        Some(next)
    }

    /// Whether pauses, flows and goals permit another I/O with so many in flight. If not,
    /// `pacing.wake` says what to wait for.
    pub fn gate(&mut self, now: &mut u64, in_flight: u32) -> bool {
        let pacing = &mut self.pacing;
        pacing.wake = NEVER;
        if pacing.owed > 0 {
            busy(&self.clock, now.saturating_add(std::mem::take(&mut pacing.owed)));
            *now = self.clock.now();
        }
        if *now < pacing.not_before {
            pacing.wake = pacing.not_before;
            return false;
        }
        if pacing.goal.as_ref().is_some_and(|goal| in_flight >= goal.depth()) {
            return false;
        }
        match pacing.thinker.as_mut().map_or(Thought::Go, |thinker| thinker.before(*now, in_flight))
        {
            Thought::Go => {}
            Thought::Drain => return false,
            Thought::Pause { busy: spin, idle } => {
                let (working, end) = (now.saturating_add(spin), now.saturating_add(spin + idle));
                if let Some(pacer) = pacing.pacer.as_mut().filter(|_| pacing.forgive) {
                    pacer.shift(spin + idle);
                }
                busy(&self.clock, working);
                *now = self.clock.now();
                pacing.not_before = end;
                pacing.wake = end;
                return *now >= end;
            }
        }
        pacing.crowded = pacing.seat.as_ref().is_some_and(|seat| !seat.may_go());
        if pacing.crowded {
            pacing.wake = now.saturating_add(pacing.flow_nap);
        }
        !pacing.crowded
    }

    /// Waits, with nothing in flight, for what `gate` or `is_due` said, or for something to look at.
    /// False when the job is to stop.
    pub fn wait(&mut self, now: &mut u64) -> bool {
        let until = self.pacing.wake.min(self.next_event(*now));
        if self.pacing.crowded {
            // Others go on in real time, whatever this engine's clock is.
            std::thread::sleep(Duration::from_nanos(self.pacing.flow_nap));
        } else if self.pacing.wake != NEVER {
            self.pacing.sleep(&self.clock, until);
        }
        *now = self.clock.now();
        // Counters can wait for the I/O that is due: after it the loop looks around, and samples.
        !self.hurried(*now) || self.look(*now)
    }

    /// Bounds a wait for completions by what is due. False when that is due already: nothing is to
    /// be waited for.
    pub fn bound(&mut self, want: &mut Want) -> bool {
        self.pacing.aim = 0;
        if self.pacing.wake == NEVER || want.min == 0 {
            return true;
        }
        let now = self.clock.now();
        let until = self.pacing.wake.min(self.next_event(now));
        let gap = until.saturating_sub(now);
        if gap > self.pacing.lag {
            self.pacing.aim = until - self.pacing.lag;
            want.timeout = Some(gap - self.pacing.lag);
        } else {
            want.min = 0;
        }
        gap > 0
    }

    /// A wait for completions has ended, with none or some.
    pub fn bounded(&mut self, now: u64, none: bool) {
        if none && self.pacing.aim > 0 {
            self.pacing.woke(self.pacing.aim, now);
        }
    }

    /// An I/O ended well.
    #[inline]
    pub fn ended_in_time(&mut self, slot: Slot, op: &Op, lat: u64, end: u64) {
        let dir = direction(op);
        let due = self.pacing.dues[slot as usize];
        if due != NEVER {
            self.recorder.intended(recorded(dir), end.saturating_sub(due));
        }
        if let Some(goal) = &mut self.pacing.goal {
            goal.ended(lat);
        }
        self.pacing.owed = self.pacing.owed.saturating_add(self.pacing.think_ns);
        if lat > self.pacing.max_latency[dir as usize] {
            self.too_slow(op, lat);
        }
    }

    /// `max_latency`.
    #[cold]
    fn too_slow(&mut self, op: &Op, lat: u64) {
        /// `ETIMEDOUT` of `errno.h`.
        const TIMED_OUT: i32 = 110;
        let most = self.pacing.max_latency[direction(op) as usize];
        let what = format!("latency of {lat} nsec exceeds specified max ({most} nsec)");
        let mut error = JobError::new("max_latency", TIMED_OUT, what);
        error.file = Some(self.files.path(op.file).to_path_buf());
        error.offset = Some(op.offset - u64::from(op.at));
        self.error.get_or_insert(error);
    }

    /// When there is something to look at.
    fn next_event(&self, now: u64) -> u64 {
        self.until(now).min(now + NAP)
    }

    /// Checks floors and goals. False when the job is to stop.
    pub fn judge(&mut self, now: u64) -> bool {
        let totals = self.recorder.totals();
        if let Some(floor) = &mut self.pacing.floor
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
            self.error.get_or_insert(JobError::new("check of the minimum rate", EIO, what));
            return false;
        }
        let verdict = self.pacing.goal.as_mut().map_or(Verdict::GoOn, |goal| goal.check(now));
        match verdict {
            Verdict::GoOn | Verdict::Adjusted => true,
            Verdict::Another => {
                self.measure_anew(now);
                true
            }
            Verdict::Found => {
                self.pacing.found = true;
                false
            }
        }
    }
}
