//! When an I/O is made. Nothing here reads a clock or sleeps: the worker asks when the next I/O is
//! due, waits in its own way, and says what it did.
//!
//! | question | module |
//! |---|---|
//! | `rate`, `rate_iops`: which direction is next, when | [`Pacer`] (here) |
//! | evenly spaced | `linear.rs` |
//! | `rate_process=poisson` | `poisson.rs` |
//! | `rate_min`, `rate_iops_min`, `rate_cycle` | `floor.rs` |
//! | `thinktime` and its family | `think.rs` |
//! | `flow`, `flow_id` | `flow.rs` |
//! | `latency_target`: which depth is tried next | `goal.rs` |
//!
//! Due times come from the schedule alone and never from the moment of the last I/O: what is late
//! stays due at its time and is made up for, and nothing drifts. All times are nanoseconds of the
//! worker's clock.

pub mod floor;
pub mod flow;
pub mod goal;
pub mod linear;
pub mod poisson;
#[cfg(test)]
mod tests;
pub mod think;

pub use floor::Floor;
pub use flow::{Flow, Seat};
pub use goal::Goal;
pub use think::Thinker;

use fiord_plan::{Dir, JobPlan, Mix, Rate, RateProcess};
use linear::Linear;
use poisson::Poisson;

use crate::rng::{Purpose, Rng};

/// The longest step from one I/O to the next: about 292 years. A rate cannot be slower.
const LONGEST: u64 = 1 << 63;

/// How many nanoseconds an I/O stands for, as a fraction: `numerator / denominator`.
///
/// Rates are at most 2^60 and lengths at most 2^32, so neither part overflows.
fn fraction(rate: Rate, len: u32) -> (u64, u64) {
    const SECOND: u64 = 1_000_000_000;
    match rate {
        Rate::Bytes(per_second) => (u64::from(len) * SECOND, per_second.clamp(1, 1 << 60)),
        Rate::Ios(per_second) => (SECOND, per_second.clamp(1, 1 << 60)),
    }
}

/// The schedule of one direction.
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

/// The rates of a job: a clock for each direction.
///
/// - One direction: the next I/O is due when the bytes (or I/Os) before it have had their time.
/// - Reads and writes, both with a rate: what is due first is next, whatever `rwmixread` says.
/// - Reads and writes, one of them with a rate: the mix says which is next; where that one is not
///   due yet, the other, which has no limit, takes its place.
/// - Trims and writes of the same blocks go in pairs: the slower rate holds both.
#[derive(Debug, Clone)]
pub struct Pacer {
    schedules: [Option<Schedule>; 3],
    choice: Choice,
    rng: Rng,
}

/// Who says which direction is next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// There is only this one.
    One(Dir),
    /// The earlier of reads and writes.
    Earlier,
    /// Reads when a draw is below `reads`; only `rated` has a rate.
    Mix { reads: u64, rated: Dir },
    /// The source: a trim, then its write.
    Pairs,
}

impl Pacer {
    /// The rates of a job whose first I/O is due at `begin`. `None`: it has none.
    pub fn new(job: &JobPlan, begin: u64) -> Option<Self> {
        let (mix, pace) = (job.load.mix, &job.pace);
        let only = match mix {
            Mix::Read | Mix::ReadWrite { read_percent: 100.. } => Some(Dir::Read),
            Mix::Write | Mix::ReadWrite { read_percent: 0 } => Some(Dir::Write),
            Mix::Trim => Some(Dir::Trim),
            Mix::ReadWrite { .. } | Mix::TrimWrite => None,
        };
        let used = |dir: Dir| only.map_or(mix.has(dir), |only| only == dir);
        let schedules = [Dir::Read, Dir::Write, Dir::Trim].map(|dir| {
            let rate = pace.rate[dir as usize].filter(|_| used(dir))?;
            Some(match pace.process {
                RateProcess::Linear => Schedule::Linear(Linear::new(rate, begin)),
                RateProcess::Poisson => {
                    let rng = Rng::new(job.load.seed, Purpose::Arrival, dir as u64);
                    Schedule::Poisson(Box::new(Poisson::new(rate, begin, rng)))
                }
            })
        });
        let choice = match (mix, only, &schedules) {
            (_, _, [None, None, None]) => return None,
            (_, Some(dir), _) => Choice::One(dir),
            (Mix::TrimWrite, ..) => Choice::Pairs,
            (_, _, [Some(_), Some(_), _]) => Choice::Earlier,
            (Mix::ReadWrite { read_percent }, _, [read, ..]) => Choice::Mix {
                reads: (u128::from(read_percent) * (1 << 64) / 100) as u64,
                rated: if read.is_some() { Dir::Read } else { Dir::Write },
            },
            _ => Choice::Pairs,
        };
        let rng = Rng::new(job.load.seed, Purpose::Direction, 1);
        Some(Pacer { schedules, choice, rng })
    }

    /// Which direction is next. `None`: the source decides, and [`due`](Self::due) says when what it
    /// decided may be made.
    #[inline]
    pub fn choose(&mut self, now: u64) -> Option<Dir> {
        match self.choice {
            Choice::One(dir) => Some(dir),
            Choice::Earlier if self.due(Dir::Write) < self.due(Dir::Read) => Some(Dir::Write),
            Choice::Earlier => Some(Dir::Read),
            Choice::Mix { reads, rated } => {
                let drawn = if self.rng.draw() < reads { Dir::Read } else { Dir::Write };
                let free = if rated == Dir::Read { Dir::Write } else { Dir::Read };
                Some(if drawn == rated && self.due(rated) > now { free } else { drawn })
            }
            Choice::Pairs => None,
        }
    }

    /// Whether a direction has a rate.
    #[inline]
    pub fn has(&self, dir: Dir) -> bool {
        self.schedules[dir as usize].is_some()
    }

    /// When the next I/O of a direction is due; 0 where it has no rate.
    #[inline]
    pub fn due(&self, dir: Dir) -> u64 {
        self.schedules[dir as usize].as_ref().map_or(0, Schedule::due)
    }

    /// An I/O of so many bytes was made: the next one is due later.
    #[inline]
    pub fn issued(&mut self, dir: Dir, len: u32) {
        if let Some(schedule) = &mut self.schedules[dir as usize] {
            schedule.advance(len);
        }
        if self.choice == Choice::Pairs && dir == Dir::Write {
            self.pair();
        }
    }

    /// After a pair: the faster of the two waits for the slower.
    fn pair(&mut self) {
        let [_, Some(write), Some(trim)] = &mut self.schedules else { return };
        if write.due() > trim.due() {
            trim.set(write.due());
        } else {
            write.set(trim.due());
        }
    }

    /// Everything is due so much later: time that is not to be made up for.
    pub fn shift(&mut self, ns: u64) {
        for schedule in self.schedules.iter_mut().flatten() {
            let due = schedule.due();
            schedule.set(due.saturating_add(ns));
        }
    }
}
