//! The lowest rate that is acceptable (`rate_min`, `rate_iops_min`).

use fiord_plan::{Dir, JobPlan, Rate};

/// Watches the rates of a job over one cycle after another.
#[derive(Debug, Clone)]
pub struct Floor {
    least: [Option<Rate>; 3],
    /// The largest block of each direction: a cycle may end just before an I/O does.
    block: [u64; 3],
    cycle: u64,
    began: u64,
    seen: [(u64, u64); 3],
}

/// A rate that was not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Missed {
    /// Of which direction.
    pub dir: Dir,
    /// What was asked for.
    pub least: Rate,
    /// What was reached in the last cycle, in the same unit.
    pub got: u64,
}

impl Floor {
    /// Of a job, from `now`. `None`: it asks for nothing.
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let mut least = job.pace.floor;
        for dir in [Dir::Read, Dir::Write, Dir::Trim] {
            if !job.load.mix.has(dir) {
                least[dir as usize] = None;
            }
        }
        (least != [None; 3]).then(|| Floor {
            least,
            block: std::array::from_fn(|i| job.load.blocks[i].max().into()),
            cycle: job.pace.cycle.max(1),
            began: now,
            seen: [(0, 0); 3],
        })
    }

    /// When [`check`](Self::check) has something to say.
    pub fn next(&self) -> u64 {
        self.began.saturating_add(self.cycle)
    }

    /// Begins anew: everything counted so far is forgotten.
    pub fn restart(&mut self, now: u64) {
        self.began = now;
        self.seen = [(0, 0); 3];
    }

    /// At the end of a cycle: bytes and I/Os of each direction since the start.
    ///
    /// # Errors
    /// A rate that was not reached. One I/O that was under way is forgiven.
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
