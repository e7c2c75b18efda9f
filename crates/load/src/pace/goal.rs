//! The search for the largest depth that keeps a latency (`latency_target`).

use fiord_plan::JobPlan;

/// Tries depths, one window each: the job's own first, then by halving what is left between the
/// largest that kept the target and the smallest that did not.
#[derive(Debug, Clone)]
pub struct Goal {
    target: u64,
    window: u64,
    share_ppm: u32,
    keep_on: bool,
    most: u32,
    depth: u32,
    /// The largest depth that kept the target; 0: none yet.
    good: u32,
    /// The smallest that did not.
    bad: u32,
    /// The depth was found; this window confirms it.
    confirming: bool,
    found: bool,
    /// Windows that kept the target since the depth was last changed (`latency_run`).
    streak: u32,
    ends: u64,
    total: u64,
    late: u64,
    /// I/Os that were in flight when the depth changed, and are not counted at the new one.
    stale: u32,
}

/// What the end of a window means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on at the same depth.
    GoOn,
    /// Go on at another depth; what was measured at the last one does not count.
    Another,
    /// Go on at another depth; everything counts (`latency_run`).
    Adjusted,
    /// The depth is found: the job is done.
    Found,
}

/// Windows that keep the target before `latency_run` tries one more I/O.
const PATIENCE: u32 = 4;

impl Goal {
    /// Of a job, from `now`. `None`: it has no target.
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let goal = job.pace.goal?;
        let most = job.depth.depth.max(1);
        Some(Goal {
            target: goal.target,
            window: goal.window.max(1),
            share_ppm: goal.share_ppm.min(1_000_000),
            keep_on: goal.keep_on,
            most,
            depth: most,
            good: 0,
            bad: most.saturating_add(1),
            confirming: false,
            found: false,
            streak: 0,
            ends: now.saturating_add(goal.window.max(1)),
            total: 0,
            late: 0,
            stale: 0,
        })
    }

    /// How many I/Os may be in flight.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// When the window ends.
    pub fn next(&self) -> u64 {
        self.ends
    }

    /// An I/O took so long.
    #[inline]
    pub fn ended(&mut self, latency: u64) {
        if self.stale > 0 {
            self.stale -= 1;
            return;
        }
        self.total += 1;
        self.late += u64::from(latency > self.target);
    }

    /// The measured part begins: a new window.
    pub fn restart(&mut self, now: u64) {
        self.ends = now.saturating_add(self.window);
        (self.total, self.late) = (0, 0);
    }

    /// At a time: what the window, if it has ended, says.
    pub fn check(&mut self, now: u64) -> Verdict {
        if now < self.ends || self.total == 0 {
            return Verdict::GoOn;
        }
        let kept = u128::from(self.total - self.late) * 1_000_000
            >= u128::from(self.share_ppm) * u128::from(self.total);
        self.restart(now);
        let before = self.depth;
        let verdict = if self.found { self.adjust(kept) } else { self.search(kept) };
        self.stale = if self.depth == before { 0 } else { before };
        verdict
    }

    fn search(&mut self, kept: bool) -> Verdict {
        let before = self.depth;
        if kept {
            self.good = self.depth;
        } else {
            self.bad = self.depth;
            if self.good >= self.depth {
                // It was good before: what was found there no longer holds.
                self.good = 0;
            }
        }
        if kept && (self.confirming || self.good + 1 >= self.bad) {
            self.found = true;
            return if self.keep_on { Verdict::GoOn } else { Verdict::Found };
        }
        self.confirming = false;
        if self.depth == 1 && !kept {
            // Nothing below it is left to be tried.
            self.bad = 2;
            return Verdict::GoOn;
        }
        if self.good + 1 >= self.bad {
            self.depth = self.good.max(1);
            self.confirming = true;
        } else {
            self.depth = (self.good + (self.bad - self.good) / 2).max(1);
        }
        match () {
            () if self.depth == before => Verdict::GoOn,
            () if self.keep_on => Verdict::Adjusted,
            () => Verdict::Another,
        }
    }

    /// After the depth was found: down at once, up with patience.
    fn adjust(&mut self, kept: bool) -> Verdict {
        let before = self.depth;
        if !kept {
            self.streak = 0;
            self.depth = (self.depth - (self.depth / 8).max(1).min(self.depth - 1)).max(1);
        } else {
            self.streak += 1;
            if self.streak >= PATIENCE && self.depth < self.most {
                self.streak = 0;
                self.depth += 1;
            }
        }
        if self.depth == before { Verdict::GoOn } else { Verdict::Adjusted }
    }
}
