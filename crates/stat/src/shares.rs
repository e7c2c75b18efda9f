//! What a job's thread spends its time on, as far as samples tell.

use serde::{Deserialize, Serialize};

/// A part of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Part {
    /// Making the bytes of writes.
    Contents = 0,
    /// Handing I/Os over, including what the kernel does in that call.
    Submission = 1,
    /// The call that waits for completions; of a synchronous engine the I/O itself. Pauses too.
    Waiting = 2,
    /// Counting what completed.
    Completion = 3,
    /// Everything else: what is next, reading the clock, looking around.
    Rest = 4,
}

/// How many parts there are.
pub const PARTS: usize = 5;

impl Part {
    /// All, in order.
    pub const ALL: [Part; PARTS] =
        [Part::Contents, Part::Submission, Part::Waiting, Part::Completion, Part::Rest];

    /// What it is called in reports.
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
    /// Sampled time by [`Part`], ns, without what sampling took.
    pub ns: [u64; PARTS],
    /// Rounds of the loop that were sampled.
    pub rounds: u64,
    /// I/Os that completed in them.
    pub ios: u64,
    /// Rounds of those in which submission took more than half of the time. A thread that loses its
    /// CPU now and then makes a few rounds long, and not most of them.
    #[serde(default)]
    pub submitting: u64,
}

impl TimeShares {
    /// Of sampled times; `None` if there are none.
    pub fn of(ns: [u64; PARTS], rounds: u64, ios: u64) -> Option<Self> {
        (ns.iter().sum::<u64>() > 0).then_some(TimeShares { ns, rounds, ios, submitting: 0 })
    }

    /// The share of a part, 0 to 1.
    pub fn share(&self, part: Part) -> f64 {
        let all: u64 = self.ns.iter().sum();
        self.ns[part as usize] as f64 / all.max(1) as f64
    }

    /// Shares of several threads together: those of each count by the time for which it ran, ms.
    pub fn weighed(all: &[(TimeShares, u64)]) -> Option<TimeShares> {
        let mut ns = [0u64; PARTS];
        let (mut rounds, mut ios, mut submitting) = (0, 0, 0);
        for (shares, runtime_ms) in all {
            let runtime = runtime_ms.saturating_mul(1_000_000).max(1);
            for part in Part::ALL {
                ns[part as usize] += (shares.share(part) * runtime as f64) as u64;
            }
            rounds += shares.rounds;
            ios += shares.ios;
            submitting += shares.submitting;
        }
        Some(TimeShares { submitting, ..TimeShares::of(ns, rounds, ios)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_by_their_run_time() {
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
