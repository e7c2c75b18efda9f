//! How a job's thread spends its time, estimated from samples.

use serde::{Deserialize, Serialize};

/// A category of a thread's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
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

/// Number of parts.
pub const PARTS: usize = 5;

impl Part {
    /// All parts, in order.
    pub const ALL: [Part; PARTS] =
        [Part::Contents, Part::Submission, Part::Waiting, Part::Completion, Part::Rest];

    /// The name in reports.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Part::Contents => "contents",
            Part::Submission => "submission",
            Part::Waiting => "waiting",
            Part::Completion => "completion",
            Part::Rest => "rest",
        }
    }
}

/// Shares of a thread's time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct TimeShares {
    /// Sampled time by [`Part`], ns, without the cost of sampling.
    pub ns: [u64; PARTS],
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
    pub fn of(ns: [u64; PARTS], rounds: u64, ios: u64) -> Option<Self> {
        ns.iter().any(|ns| *ns > 0).then_some(TimeShares { ns, rounds, ios, submitting: 0 })
    }

    /// The share of a part, 0 to 1.
    #[must_use]
    pub fn share(&self, part: Part) -> f64 {
        let all = self.ns.iter().fold(0u64, |all, ns| all.saturating_add(*ns));
        self.ns[part as usize] as f64 / all.max(1) as f64
    }

    /// Shares of several threads together, weighted by the run time of each, ms. `None` if there are no samples.
    #[must_use]
    pub fn weighed(all: &[(TimeShares, u64)]) -> Option<TimeShares> {
        let mut ns = [0u64; PARTS];
        let (mut rounds, mut ios, mut submitting) = (0, 0, 0);
        for (shares, runtime_ms) in all {
            let runtime = runtime_ms.saturating_mul(1_000_000).max(1);
            for part in Part::ALL {
                let ns = &mut ns[part as usize];
                *ns = ns.saturating_add((shares.share(part) * runtime as f64) as u64);
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
        assert_eq!(both.share(Part::Contents), 0.25);
        assert_eq!(both.share(Part::Waiting), 0.75);
        assert_eq!((both.rounds, both.ios), (3, 4));
        assert_eq!(TimeShares::of([0; PARTS], 1, 1), None);
        assert_eq!(TimeShares::weighed(&[]), None);
    }
}
