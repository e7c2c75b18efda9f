//! Minimum rates (`rate_min`, `rate_iops_min`).

use fiord_plan::{JobPlan, Rate};
use fiord_types::{Dir, Nanos, PerDir};

/// Checks the rates of a job at the end of each cycle (`rate_cycle`).
#[derive(Debug, Clone)]
pub struct MinRate {
    least: PerDir<Option<Rate>>,
    /// Largest block of each direction in bytes: one I/O may still be in flight when a cycle ends.
    block: PerDir<u64>,
    cycle: u64,
    began: u64,
    seen: PerDir<(u64, u64)>,
}

/// A rate below its minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    pub dir: Dir,
    /// The minimum that the job asks for.
    pub least: Rate,
    /// The rate of the last cycle, in the same unit.
    pub got: u64,
}

impl MinRate {
    /// The minimum rates of a job; the first cycle begins at `now`. `None` if the job has none.
    #[must_use]
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let used = |dir: Dir| job.load.mix.has(dir);
        let least = PerDir::from_fn(|dir| job.pace.min_rate[dir].filter(|_| used(dir)));
        (least != PerDir::all(None)).then(|| MinRate {
            least,
            block: PerDir::from_fn(|dir| job.load.blocks[dir].max().into()),
            cycle: job.pace.cycle.max(Nanos(1)).0,
            began: now,
            seen: PerDir::all((0, 0)),
        })
    }

    /// When the present cycle ends and [`check`](Self::check) is due, in nanoseconds.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.began.saturating_add(self.cycle)
    }

    /// Begins a new cycle at `now`, and forgets what was counted so far.
    pub fn restart(&mut self, now: u64) {
        self.began = now;
        self.seen = PerDir::all((0, 0));
    }

    /// Checks the cycle if it has ended. `totals`: bytes and I/Os of each direction since the
    /// start.
    ///
    /// # Errors
    ///
    /// A rate below its minimum. One I/O in flight at the end of the cycle counts as done.
    pub fn check(&mut self, now: u64, totals: PerDir<(u64, u64)>) -> Result<(), Missed> {
        let passed = now.saturating_sub(self.began);
        if passed < self.cycle {
            return Ok(());
        }
        for dir in Dir::ALL {
            let (bytes, ios) = (totals[dir].0 - self.seen[dir].0, totals[dir].1 - self.seen[dir].1);
            let (done, one, wanted) = match self.least[dir] {
                Some(Rate::Bytes(n)) => (bytes, self.block[dir], n),
                Some(Rate::Ios(n)) => (ios, 1, n),
                None => continue,
            };
            let rate = |n: u64| u128::from(n) * 1_000_000_000 / u128::from(passed);
            if rate(done.saturating_add(one)) < u128::from(wanted) {
                let least = self.least[dir].unwrap_or(Rate::Ios(0));
                return Err(Missed { dir, least, got: rate(done) as u64 });
            }
        }
        self.began = now;
        self.seen = totals;
        Ok(())
    }
}
