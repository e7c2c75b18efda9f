//! When an I/O is due. Nothing here reads a clock or sleeps: the worker asks when the next I/O is due,
//! waits in its own way, and reports what it issued.
//!
//! | question | module |
//! |---|---|
//! | `rate`, `rate_iops`: which direction is next, and when | [`Pacer`] (here) |
//! | evenly spaced I/Os | `linear.rs` |
//! | `rate_process=poisson` | `poisson.rs` |
//! | `rate_min`, `rate_iops_min`, `rate_cycle` | `min_rate.rs` |
//! | `thinktime` and related options | `think.rs` |
//! | `flow`, `flow_id` | `flow.rs` |
//! | `latency_target`: which queue depth is tried next | `latency_target.rs` |
//!
//! Due times depend only on the schedule and never on the time of the last I/O. A late I/O stays due at
//! its time and the worker catches up, so the rate does not drift. All times are nanoseconds of the
//! worker's clock.

pub mod flow;
pub mod latency_target;
pub mod linear;
pub mod min_rate;
pub mod poisson;
#[cfg(test)]
mod tests;
pub mod think;

pub use flow::{Flow, FlowTicket};
pub use latency_target::LatencyTarget;
pub use min_rate::MinRate;
pub use think::Thinker;

use fiord_plan::{JobPlan, Mix, Rate, RateProcess};
use fiord_types::{Dir, PerDir};
use linear::Linear;
use poisson::Poisson;

use crate::rng::{Purpose, Rng};

/// Maximum step from one I/O to the next: about 292 years. A rate cannot be lower.
const MAX_STEP: u64 = 1 << 63;

/// Nanoseconds that one I/O takes at a rate, as a fraction `numerator / denominator`.
///
/// Rates are at most 2^60 and lengths at most 2^32, so neither part overflows.
fn fraction(rate: Rate, len: u32) -> (u64, u64) {
    const SECOND: u64 = 1_000_000_000;
    match rate {
        Rate::Bytes(per_second) => (u64::from(len) * SECOND, per_second.clamp(1, 1 << 60)),
        Rate::Ios(per_second) => (SECOND, per_second.clamp(1, 1 << 60)),
    }
}

/// Schedule of one direction.
#[derive(Debug, Clone)]
enum Schedule {
    Linear(Linear),
    Poisson(Box<Poisson>),
}

impl Schedule {
    #[inline]
    fn due(&self) -> u64 {
        match self {
            Schedule::Linear(linear) => linear.due(),
            Schedule::Poisson(poisson) => poisson.due(),
        }
    }
    #[inline]
    fn advance(&mut self, len: u32) {
        match self {
            Schedule::Linear(linear) => linear.advance(len),
            Schedule::Poisson(poisson) => poisson.advance(len),
        }
    }
    fn set(&mut self, due: u64) {
        match self {
            Schedule::Linear(linear) => linear.set(due),
            Schedule::Poisson(poisson) => poisson.set(due),
        }
    }
}

/// Rates of a job: one schedule per direction.
///
/// - One direction: the next I/O is due when the bytes (or I/Os) before it have used up their time.
/// - Reads and writes that both have a rate, whatever `rwmixread` says: the order is drawn, so that the directions do not fall in
///   step with the files or the map of random blocks. No I/O is issued before it is due, and none later than one interval of
///   the lower rate after that. Poisson arrivals are in random order by themselves: whichever is due first is next.
/// - Reads and writes of which one has a rate: the mix chooses the direction. If it chooses the one with
///   the rate and that is not due yet, the other one is next.
/// - Trims and writes of the same blocks alternate, so the lower rate holds for both.
#[derive(Debug, Clone)]
pub struct Pacer {
    schedules: PerDir<Option<Schedule>>,
    choice: Choice,
    /// When the last I/O was to be issued, if the order is drawn.
    planned: u64,
    rng: Rng,
}

/// How the next direction is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// The job has only this direction.
    One(Dir),
    /// Reads or writes, whichever is due first.
    Earlier,
    /// Reads or writes, drawn by the number of I/Os that will be due within an interval of the lower rate.
    Drawn,
    /// Reads if a draw is below `reads`, otherwise writes. Only `rated` has a rate.
    Mix { reads: u64, rated: Dir },
    /// The source chooses: a trim, then the write of the same block.
    Pairs,
}

impl Pacer {
    /// The rates of a job whose first I/O is due at `begin` (nanoseconds). `None` if the job has no
    /// rate.
    #[must_use]
    pub fn new(job: &JobPlan, begin: u64) -> Option<Self> {
        let (mix, pace) = (job.load.mix, &job.pace);
        let only = match mix {
            Mix::Read | Mix::ReadWrite { read_percent: 100.. } => Some(Dir::Read),
            Mix::Write | Mix::ReadWrite { read_percent: 0 } => Some(Dir::Write),
            Mix::Trim => Some(Dir::Trim),
            Mix::ReadWrite { .. } | Mix::TrimWrite | Mix::Trace { .. } => None,
        };
        let used = |dir: Dir| only.map_or(mix.has(dir), |only| only == dir);
        let schedules = PerDir::from_fn(|dir| {
            let rate = pace.rate[dir].filter(|_| used(dir))?;
            Some(match pace.process {
                RateProcess::Linear => Schedule::Linear(Linear::new(rate, begin)),
                RateProcess::Poisson => {
                    let rng = Rng::new(job.load.seed, Purpose::Arrival, dir as u64);
                    Schedule::Poisson(Box::new(Poisson::new(rate, begin, rng)))
                }
            })
        });
        let choice = match (mix, only, schedules.as_array()) {
            (_, _, [None, None, None]) => return None,
            (_, Some(dir), _) => Choice::One(dir),
            (Mix::TrimWrite, ..) => Choice::Pairs,
            (_, _, [Some(Schedule::Linear(_)), Some(Schedule::Linear(_)), _]) => Choice::Drawn,
            (_, _, [Some(_), Some(_), _]) => Choice::Earlier,
            (Mix::ReadWrite { read_percent }, _, [read, ..]) => Choice::Mix {
                reads: (u128::from(read_percent) * (1 << 64) / 100) as u64,
                rated: if read.is_some() { Dir::Read } else { Dir::Write },
            },
            _ => Choice::Pairs,
        };
        let rng = Rng::new(job.load.seed, Purpose::Direction, 1);
        Some(Pacer { schedules, choice, planned: 0, rng })
    }

    /// Chooses the direction of the next I/O. `None`: the source chooses, and [`due`](Self::due)
    /// says when that I/O is due.
    #[inline]
    pub fn choose(&mut self, now: u64) -> Option<Dir> {
        match self.choice {
            Choice::One(dir) => Some(dir),
            Choice::Earlier if self.due(Dir::Write) < self.due(Dir::Read) => Some(Dir::Write),
            Choice::Earlier => Some(Dir::Read),
            Choice::Drawn => Some(self.draw()),
            Choice::Mix { reads, rated } => {
                let drawn = if self.rng.draw() < reads { Dir::Read } else { Dir::Write };
                let free = if rated == Dir::Read { Dir::Write } else { Dir::Read };
                Some(if drawn == rated && self.due(rated) > now { free } else { drawn })
            }
            Choice::Pairs => None,
        }
    }

    /// Draws the direction of the next I/O. In each interval of the lower rate, each place in the order has the same
    /// probability, and each direction gets as many I/Os as its rate says.
    fn draw(&mut self) -> Dir {
        let [Some(Schedule::Linear(read)), Some(Schedule::Linear(write)), _] =
            self.schedules.as_array()
        else {
            return Dir::Read;
        };
        let steps = [read, write].map(|schedule| schedule.step().max(1));
        let until = read.due().min(write.due()).saturating_add(steps[0].max(steps[1]));
        // I/Os due before `until`, multiplied by both steps.
        let reads = u128::from(until.saturating_sub(read.due())) * u128::from(steps[1]);
        let writes = u128::from(until.saturating_sub(write.due())) * u128::from(steps[0]);
        // The probability of a read, of 2^64.
        let share = (reads as f64 / (reads + writes) as f64 * 2f64.powi(64)) as u64;
        if writes == 0 || self.rng.draw() < share { Dir::Read } else { Dir::Write }
    }

    /// When the next I/O of a direction is to be issued: when it is due, but not before an I/O that was drawn earlier.
    #[inline]
    #[must_use]
    pub fn intended(&self, dir: Dir) -> u64 {
        self.due(dir).max(self.planned)
    }

    /// Whether a direction has a rate.
    #[inline]
    #[must_use]
    pub fn has(&self, dir: Dir) -> bool {
        self.schedules[dir].is_some()
    }

    /// When the next I/O of a direction is due, in nanoseconds; 0 if the direction has no rate.
    #[inline]
    pub fn due(&self, dir: Dir) -> u64 {
        self.schedules[dir].as_ref().map_or(0, Schedule::due)
    }

    /// An I/O of `len` bytes was issued. Moves the due time of its direction.
    #[inline]
    pub fn issued(&mut self, dir: Dir, len: u32) {
        if self.choice == Choice::Drawn {
            self.planned = self.intended(dir);
        }
        if let Some(schedule) = &mut self.schedules[dir] {
            schedule.advance(len);
        }
        if self.choice == Choice::Pairs && dir == Dir::Write {
            self.pair();
        }
    }

    /// After a trim and its write: sets both due times to the later one.
    fn pair(&mut self) {
        let [_, Some(write), Some(trim)] = self.schedules.as_mut_array() else { return };
        if write.due() > trim.due() {
            trim.set(write.due());
        } else {
            write.set(trim.due());
        }
    }

    /// Delays all due times by `ns` nanoseconds, for time that the job does not catch up on.
    pub fn shift(&mut self, ns: u64) {
        for schedule in self.schedules.values_mut().flatten() {
            let due = schedule.due();
            schedule.set(due.saturating_add(ns));
        }
    }
}
