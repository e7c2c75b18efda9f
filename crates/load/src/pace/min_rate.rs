//! Minimum rates (`rate_min`, `rate_iops_min`).

use fiord_plan::{Dir, JobPlan, Rate};

/// Checks the rates of a job at the end of each cycle (`rate_cycle`).
#[derive(Debug, Clone)]
pub struct MinRate {
    least: [Option<Rate>; 3],
    /// Largest block of each direction in bytes: one I/O may still be in flight when a cycle ends.
    block: [u64; 3],
    cycle: u64,
    began: u64,
    seen: [(u64, u64); 3],
}

/// A rate below its minimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// The direction.
    pub dir: Dir,
    /// The minimum that the job asks for.
    pub least: Rate,
    /// The rate of the last cycle, in the same unit.
    pub got: u64,
}

impl MinRate {
    /// The minimum rates of a job; the first cycle begins at `now`. `None` if the job has none.
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let mut least = job.pace.floor;
        for dir in [Dir::Read, Dir::Write, Dir::Trim] {
            if !job.load.mix.has(dir) {
                least[dir as usize] = None;
            }
        }
        (least != [None; 3]).then(|| MinRate {
            least,
            block: std::array::from_fn(|i| job.load.blocks[i].max().into()),
            cycle: job.pace.cycle.max(1),
            began: now,
            seen: [(0, 0); 3],
        })
    }

    /// When the present cycle ends and [`check`](Self::check) is due, in nanoseconds.
    pub fn next(&self) -> u64 {
        self.began.saturating_add(self.cycle)
    }

    /// Begins a new cycle at `now`, and forgets what was counted so far.
    pub fn restart(&mut self, now: u64) {
        self.began = now;
        self.seen = [(0, 0); 3];
    }

    /// Checks the cycle if it has ended. `totals`: bytes and I/Os of each direction since the
    /// start.
    ///
    /// # Errors
    ///
    /// A rate below its minimum. One I/O in flight at the end of the cycle counts as done.
    pub fn check(&mut self, now: u64, totals: [(u64, u64); 3]) -> Result<(), Missed> {
        let passed = now.saturating_sub(self.began);
        if passed < self.cycle {
            return Ok(());
        }
        for dir in [Dir::Read, Dir::Write, Dir::Trim] {
            let i = dir as usize;
            let (bytes, ios) = (totals[i].0 - self.seen[i].0, totals[i].1 - self.seen[i].1);
            let (done, one, wanted) = match self.least[i] {
                Some(Rate::Bytes(n)) => (bytes, self.block[i], n),
                Some(Rate::Ios(n)) => (ios, 1, n),
                None => continue,
            };
            let rate = |n: u64| u128::from(n) * 1_000_000_000 / u128::from(passed);
            if rate(done.saturating_add(one)) < u128::from(wanted) {
                let least = self.least[i].unwrap_or(Rate::Ios(0));
                return Err(Missed { dir, least, got: rate(done) as u64 });
            }
        }
        self.began = now;
        self.seen = totals;
        Ok(())
    }
}
