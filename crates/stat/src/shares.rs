//! How a job's thread spends its time, estimated from samples.

use serde::{Deserialize, Serialize};

/// What a thread spends time on in a round of its I/O loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum LoopStage {
    /// Generating the data of writes.
    Contents = 0,
    /// Submitting I/Os, including the kernel's work in the call.
    Submission = 1,
    /// Waiting for completions, and pauses. For a synchronous engine, the I/O itself.
    Waiting = 2,
    /// Recording completed I/Os.
    Completion = 3,
    /// Everything else: choosing the next I/O, reading the clock, housekeeping.
    Rest = 4,
}

impl LoopStage {
    /// Number of stages.
    pub const COUNT: usize = 5;
    /// All stages, in order.
    pub const ALL: [LoopStage; Self::COUNT] = [
        LoopStage::Contents,
        LoopStage::Submission,
        LoopStage::Waiting,
        LoopStage::Completion,
        LoopStage::Rest,
    ];

    /// The name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            LoopStage::Contents => "contents",
            LoopStage::Submission => "submission",
            LoopStage::Waiting => "waiting",
            LoopStage::Completion => "completion",
            LoopStage::Rest => "rest",
        }
    }
}

/// Shares of a thread's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// Sampled time of each [`LoopStage`], ns, without the cost of sampling.
    pub ns: [u64; LoopStage::COUNT],
    /// Rounds of the loop that were sampled.
    pub rounds: u64,
    /// I/Os that completed in the sampled rounds.
    pub ios: u64,
    /// Sampled rounds in which submission took more than half of the time. Losing the CPU now and then affects
    /// a few rounds, but not most of them.
    #[serde(default)]
    pub submitting: u64,
}

impl TimeShares {
    /// Shares from sampled times, ns; `None` if they are all zero.
    #[must_use]
    pub fn of(ns: [u64; LoopStage::COUNT], rounds: u64, ios: u64) -> Option<Self> {
        ns.iter().any(|ns| *ns > 0).then_some(TimeShares { ns, rounds, ios, submitting: 0 })
    }

    /// The share of a stage, 0 to 1.
    #[must_use]
    pub fn share(&self, stage: LoopStage) -> f64 {
        let all = self.ns.iter().fold(0u64, |all, ns| all.saturating_add(*ns));
        self.ns[stage as usize] as f64 / all.max(1) as f64
    }

    /// Shares of several threads together, weighted by the run time of each, ms. `None` if there are no samples.
    #[must_use]
    pub fn weighed(all: &[(TimeShares, u64)]) -> Option<TimeShares> {
        let mut ns = [0u64; LoopStage::COUNT];
        let (mut rounds, mut ios, mut submitting) = (0, 0, 0);
        for (shares, runtime_ms) in all {
            let runtime = runtime_ms.saturating_mul(1_000_000).max(1);
            for stage in LoopStage::ALL {
                let ns = &mut ns[stage as usize];
                *ns = ns.saturating_add((shares.share(stage) * runtime as f64) as u64);
            }
            rounds = shares.rounds.saturating_add(rounds);
            ios = shares.ios.saturating_add(ios);
            submitting = shares.submitting.saturating_add(submitting);
        }
        Some(TimeShares { submitting, ..TimeShares::of(ns, rounds, ios)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_weighted_by_their_run_time() {
        let busy = TimeShares::of([10, 0, 0, 0, 0], 1, 1).unwrap();
        let idle = TimeShares::of([0, 0, 500, 0, 0], 2, 3).unwrap();
        let both = TimeShares::weighed(&[(busy, 1000), (idle, 3000)]).unwrap();
        assert_eq!(both.share(LoopStage::Contents), 0.25);
        assert_eq!(both.share(LoopStage::Waiting), 0.75);
        assert_eq!((both.rounds, both.ios), (3, 4));
        assert_eq!(TimeShares::of([0; LoopStage::COUNT], 1, 1), None);
        assert_eq!(TimeShares::weighed(&[]), None);
    }
}
