//! How a job's thread spends its time, estimated from samples.

use fiord_types::Nanos;
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
    /// Sampled time of each [`LoopStage`], without the cost of sampling.
    #[serde(rename = "ns")]
    pub times: [Nanos; LoopStage::COUNT],
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
    /// Shares from sampled times; `None` if they are all zero.
    #[must_use]
    pub fn of(times: [Nanos; LoopStage::COUNT], rounds: u64, ios: u64) -> Option<Self> {
        times.iter().any(|time| *time > Nanos::ZERO).then_some(TimeShares {
            times,
            rounds,
            ios,
            submitting: 0,
        })
    }

    /// The share of a stage, 0 to 1.
    #[must_use]
    pub fn share(&self, stage: LoopStage) -> f64 {
        let all = self.times.iter().fold(Nanos::ZERO, |all, time| all.saturating_add(*time));
        self.times[stage as usize].0 as f64 / all.0.max(1) as f64
    }

    /// Shares of several threads together, weighted by the run time of each. `None` if there are no samples.
    #[must_use]
    pub fn weighed(all: &[(TimeShares, Nanos)]) -> Option<TimeShares> {
        let mut times = [Nanos::ZERO; LoopStage::COUNT];
        let (mut rounds, mut ios, mut submitting) = (0, 0, 0);
        for (shares, runtime) in all {
            let runtime = runtime.0.max(1);
            for stage in LoopStage::ALL {
                let time = &mut times[stage as usize];
                *time = time.saturating_add(Nanos((shares.share(stage) * runtime as f64) as u64));
            }
            rounds = shares.rounds.saturating_add(rounds);
            ios = shares.ios.saturating_add(ios);
            submitting = shares.submitting.saturating_add(submitting);
        }
        Some(TimeShares { submitting, ..TimeShares::of(times, rounds, ios)? })
    }

    /// The shares for a report.
    #[must_use]
    pub fn summarise(&self) -> StageShares {
        StageShares {
            contents: self.share(LoopStage::Contents),
            submission: self.share(LoopStage::Submission),
            waiting: self.share(LoopStage::Waiting),
            completion: self.share(LoopStage::Completion),
            rest: self.share(LoopStage::Rest),
            ios: self.ios,
            rounds: self.rounds,
            submitting: self.submitting,
        }
    }
}

/// Shares of the time of threads, each from 0 to 1. The keys in JSON are [`LoopStage::word`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StageShares {
    contents: f64,
    submission: f64,
    waiting: f64,
    completion: f64,
    rest: f64,
    #[serde(rename = "sampled_ios")]
    ios: u64,
    #[serde(rename = "sampled_rounds")]
    rounds: u64,
    #[serde(rename = "wire:submitting")]
    submitting: u64,
}

impl StageShares {
    /// I/Os that completed in the sampled rounds.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// Rounds of the loop that were sampled.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Sampled rounds in which submission took more than half of the time.
    #[must_use]
    pub fn submitting(&self) -> u64 {
        self.submitting
    }

    /// The share of a stage, 0 to 1.
    #[must_use]
    pub fn share(&self, stage: LoopStage) -> f64 {
        let share = match stage {
            LoopStage::Contents => self.contents,
            LoopStage::Submission => self.submission,
            LoopStage::Waiting => self.waiting,
            LoopStage::Completion => self.completion,
            LoopStage::Rest => self.rest,
        };
        share.clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_weighted_by_their_run_time() {
        let busy = TimeShares::of([10, 0, 0, 0, 0].map(Nanos), 1, 1).unwrap();
        let idle = TimeShares::of([0, 0, 500, 0, 0].map(Nanos), 2, 3).unwrap();
        let both = TimeShares::weighed(&[(busy, Nanos::from_secs(1)), (idle, Nanos::from_secs(3))])
            .unwrap();
        assert_eq!(both.share(LoopStage::Contents), 0.25);
        assert_eq!(both.share(LoopStage::Waiting), 0.75);
        assert_eq!((both.rounds, both.ios), (3, 4));
        assert_eq!(TimeShares::of([Nanos::ZERO; LoopStage::COUNT], 1, 1), None);
        assert_eq!(TimeShares::weighed(&[]), None);
    }
}
