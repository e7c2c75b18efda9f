//! Search for the largest queue depth that keeps a latency target (`latency_target`).

use fiord_plan::JobPlan;
use fiord_types::Nanos;

/// Tries one queue depth per window: first the depth of the job, then depths by bisection between
/// the largest that met the target and the smallest that missed it.
#[derive(Debug, Clone)]
pub struct LatencyTarget {
    target: u64,
    window: u64,
    share_ppm: u32,
    keep_on: bool,
    most: u32,
    depth: u32,
    /// The largest depth that met the target; 0: none so far.
    good: u32,
    /// The smallest depth that missed the target.
    bad: u32,
    /// The search has ended, and the present window confirms the depth.
    confirming: bool,
    found: bool,
    /// Windows in a row that met the target since the depth last changed (`latency_run`).
    streak: u32,
    ends: u64,
    total: u64,
    late: u64,
    /// I/Os that were in flight when the depth changed. They do not count for the new depth.
    stale: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WindowResult {
    /// Continue at the same depth.
    GoOn,
    /// Continue at another depth. The measurements at the last depth are dropped.
    Another,
    /// Continue at another depth. All measurements count (`latency_run`).
    Adjusted,
    /// The depth is found, and the job is done.
    Found,
}

/// Windows in a row that must meet the target before `latency_run` raises the depth by one.
const PATIENCE: u32 = 4;

impl LatencyTarget {
    /// State of a job; the first window begins at `now`. `None` if the job has no latency target.
    #[must_use]
    pub fn new(job: &JobPlan, now: u64) -> Option<Self> {
        let plan = job.pace.latency_target?;
        let most = job.depth.depth.max(1);
        Some(LatencyTarget {
            target: plan.target.0,
            window: plan.window.max(Nanos(1)).0,
            share_ppm: plan.share_ppm.min(1_000_000),
            keep_on: plan.keep_on,
            most,
            depth: most,
            good: 0,
            bad: most.saturating_add(1),
            confirming: false,
            found: false,
            streak: 0,
            ends: now.saturating_add(plan.window.max(Nanos(1)).0),
            total: 0,
            late: 0,
            stale: 0,
        })
    }

    /// The queue depth of the present window.
    #[inline]
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// When the present window ends, in nanoseconds.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.ends
    }

    /// An I/O completed with this latency, in nanoseconds.
    #[inline]
    pub fn ended(&mut self, latency: u64) {
        if self.stale > 0 {
            self.stale -= 1;
            return;
        }
        self.total += 1;
        self.late += u64::from(latency > self.target);
    }

    /// The measured part of the job begins: starts a new window at `now`.
    pub fn restart(&mut self, now: u64) {
        self.ends = now.saturating_add(self.window);
        (self.total, self.late) = (0, 0);
    }

    /// Evaluates the window if it has ended.
    pub fn check(&mut self, now: u64) -> WindowResult {
        if now < self.ends || self.total == 0 {
            return WindowResult::GoOn;
        }
        let kept = u128::from(self.total - self.late) * 1_000_000
            >= u128::from(self.share_ppm) * u128::from(self.total);
        self.restart(now);
        let before = self.depth;
        let verdict = if self.found { self.adjust(kept) } else { self.search(kept) };
        self.stale = if self.depth == before { 0 } else { before };
        verdict
    }

    fn search(&mut self, kept: bool) -> WindowResult {
        let before = self.depth;
        if kept {
            self.good = self.depth;
        } else {
            self.bad = self.depth;
            if self.good >= self.depth {
                // This depth met the target before, so the earlier result no longer holds.
                self.good = 0;
            }
        }
        if kept && (self.confirming || self.good + 1 >= self.bad) {
            self.found = true;
            return if self.keep_on { WindowResult::GoOn } else { WindowResult::Found };
        }
        self.confirming = false;
        if self.depth == 1 && !kept {
            // There is no smaller depth to try.
            self.bad = 2;
            return WindowResult::GoOn;
        }
        if self.good + 1 >= self.bad {
            self.depth = self.good.max(1);
            self.confirming = true;
        } else {
            self.depth = (self.good + (self.bad - self.good) / 2).max(1);
        }
        match () {
            () if self.depth == before => WindowResult::GoOn,
            () if self.keep_on => WindowResult::Adjusted,
            () => WindowResult::Another,
        }
    }

    /// Adjusts the depth after the search: lowers it at once, raises it after `PATIENCE` windows.
    fn adjust(&mut self, kept: bool) -> WindowResult {
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
        if self.depth == before { WindowResult::GoOn } else { WindowResult::Adjusted }
    }
}
