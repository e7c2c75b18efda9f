//! How the thread's time divides into the stages of a round, measured in samples, for the report.
//!
//! After its housekeeping the loop runs a burst of rounds in a mode that reads the clock between the
//! stages. Rounds outside bursts have no test for it. The first round of a burst runs with cold caches
//! and is left out. The cost of the clock reads is measured at the same time and subtracted.
//!
//! Operations that a synchronous job carries out between its I/Os (flushes, opens) are rare and may take
//! long. Samples would meet them too often or never, so all of their time is measured.

use fiord_stat::shares::{LoopStage, TimeShares};
use fiord_types::Nanos;

/// Rounds of a burst, and its longest duration, ns. With a slow device a burst has two rounds.
const ROUNDS: u32 = 64;
const MAX_BURST: u64 = 50_000;
/// Shortest time between the begins of two bursts, ns. Housekeeping may run more often.
const DISTANCE: u64 = 4_000_000;

/// Time by stage, and how often a stage ended.
#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    ns: [u64; LoopStage::COUNT],
    count: [u64; LoopStage::COUNT],
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        for stage in 0..LoopStage::COUNT {
            self.ns[stage] += other.ns[stage];
            self.count[stage] += other.count[stage];
        }
    }
}

/// Samples of one job.
#[derive(Debug, Default)]
pub(crate) struct StageTimes {
    /// Samples are wanted.
    on: bool,
    sums: Sums,
    round: Sums,
    /// When the current stage began.
    mark: u64,
    /// Empty stages, and the time they took: the cost of one clock read.
    empty: (u64, u64),
    rounds: u64,
    ios: u64,
    /// Rounds that spent most of their time submitting.
    submitting: u64,
    /// Total time of operations that are not I/Os.
    control_ns: u64,
    /// Rounds that the current burst has left.
    left: u32,
    /// When the current burst ends.
    until: u64,
    /// When the next burst may begin.
    next: u64,
}

impl StageTimes {
    /// No samples yet. `on`: samples are wanted, and the job's clock is real, not virtual.
    pub(crate) fn new(on: bool) -> Self {
        StageTimes { on, ..StageTimes::default() }
    }

    /// Begins a burst. False when no samples are wanted now.
    pub(crate) fn begin_burst(&mut self, now: u64) -> bool {
        if !self.on || now < self.next {
            return false;
        }
        (self.left, self.until) = (ROUNDS, now.saturating_add(MAX_BURST));
        self.next = now.saturating_add(DISTANCE);
        true
    }

    #[inline(always)]
    pub(crate) fn begin_round(&mut self, now: u64) {
        self.round = Sums::default();
        self.mark = now;
    }

    /// Ends a stage of the round.
    #[inline(always)]
    pub(crate) fn end_stage(&mut self, stage: LoopStage, now: u64) {
        self.round.ns[stage as usize] += now.saturating_sub(self.mark);
        self.round.count[stage as usize] += 1;
        self.mark = now;
    }

    /// Adds the time of an operation that is not an I/O. It belongs to no stage of the round.
    pub(crate) fn add_control(&mut self, from: u64, now: u64) {
        self.control_ns += now.saturating_sub(from);
        self.mark = now;
    }

    /// When the last stage ended.
    #[inline(always)]
    pub(crate) fn mark(&self) -> u64 {
        self.mark
    }

    /// Ends a round in which `ios` I/Os completed. `again`: the clock, read once more after the last
    /// stage. False at the end of the burst.
    pub(crate) fn end_round(&mut self, ios: u64, again: u64) -> bool {
        let cold = self.left == ROUNDS;
        self.left -= 1;
        if !cold {
            self.sums.add(&self.round);
            self.rounds += 1;
            self.ios += ios;
            let all: u64 = self.round.ns.iter().sum();
            self.submitting += u64::from(self.round.ns[LoopStage::Submission as usize] > all / 2);
            self.empty.0 += 1;
            self.empty.1 += again.saturating_sub(self.mark);
        }
        cold || (self.left > 0 && self.mark < self.until)
    }

    /// Discards the samples, because they precede the measured part of the run. A current burst goes
    /// on, and its round is left out like a first one.
    pub(crate) fn forget(&mut self) {
        (self.sums, self.empty) = (Sums::default(), (0, 0));
        (self.rounds, self.ios, self.submitting, self.control_ns) = (0, 0, 0, 0);
        self.left = ROUNDS;
    }

    /// Shares of the stages in a run of `runtime` ns. `None` without samples.
    pub(crate) fn result(&self, runtime: u64) -> Option<TimeShares> {
        let (reads, ns) = self.empty;
        let cost = |count: u64| (u128::from(count) * u128::from(ns) / u128::from(reads)) as u64;
        if reads == 0 {
            return None;
        }
        let mut times: [u64; LoopStage::COUNT] = std::array::from_fn(|stage| {
            self.sums.ns[stage].saturating_sub(cost(self.sums.count[stage]))
        });
        // The samples stand for the time that is not spent on control operations: scale that time to
        // the samples.
        let sampled = u128::from(times.iter().sum::<u64>()) * u128::from(self.control_ns);
        let control = sampled / u128::from(runtime.saturating_sub(self.control_ns).max(1));
        times[LoopStage::Waiting as usize] += u64::try_from(control).unwrap_or(u64::MAX >> 8);
        let shares = TimeShares::of(times.map(Nanos), self.rounds, self.ios)?;
        Some(TimeShares { submitting: self.submitting, ..shares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_the_clock_is_taken_off_and_the_first_round_left_out() {
        let mut shares = StageTimes::new(true);
        assert!(shares.begin_burst(0));
        let mut now = 0;
        // Each read of the clock takes 10. The first round is slow, the second ends the burst.
        for slow in [1_000, 0] {
            shares.begin_round(now);
            for (stage, time) in
                [(LoopStage::Rest, 20), (LoopStage::Contents, 30), (LoopStage::Waiting, 50)]
            {
                now += time + 10 + slow;
                shares.end_stage(stage, now);
            }
            now += 10;
            let more = shares.end_round(1, now);
            assert_eq!(more, slow > 0);
            shares.until = now;
        }
        let result = shares.result(1_000).unwrap();
        assert_eq!(result.share(LoopStage::Contents), 0.3);
        assert_eq!(result.share(LoopStage::Waiting), 0.5);
        assert_eq!(result.share(LoopStage::Rest), 0.2);
        assert_eq!((result.rounds, result.ios), (1, 1));
        // For half of the time it flushed.
        shares.add_control(now, now + 500);
        let result = shares.result(1_000).unwrap();
        assert_eq!(result.share(LoopStage::Contents), 0.15);
        assert_eq!(result.share(LoopStage::Waiting), 0.75);
    }

    #[test]
    fn measuring_can_begin_within_a_round() {
        let mut shares = StageTimes::new(true);
        shares.begin_burst(0);
        shares.left = 2;
        shares.begin_round(1_000);
        shares.end_stage(LoopStage::Rest, 1_100);
        shares.forget();
        shares.end_stage(LoopStage::Waiting, 1_200);
        assert!(shares.end_round(1, 1_210), "it counts as the first of its burst");
        assert_eq!(shares.result(1), None);
        // Outside a burst as well.
        let mut shares = StageTimes::new(true);
        shares.forget();
        assert!(shares.begin_burst(5) && shares.end_round(1, 6));
    }

    #[test]
    fn without_samples_there_is_no_result() {
        assert_eq!(StageTimes::new(true).result(1), None);
        assert!(!StageTimes::new(false).begin_burst(5));
    }
}
