//! How fast a device was written: the extents of the sequential passes, and the rounds of the random writes.

use std::time::Instant;

use fiord_html::result::{FilledPass, RandomWrites, SteadyRounds, WriteStep};
use fiord_stat::live::Totals;
use fiord_stat::report::{SteadyKind, SteadyState};
use fiord_types::{Bytes, Dir, Nanos};

/// What one call wrote.
#[derive(Debug, Clone)]
pub(crate) struct FillRecord {
    begun: Instant,
    /// Data written sequentially.
    pub(super) written: Bytes,
    /// Time that these writes took.
    pub(super) write_time: Nanos,
    pub(super) passes: Vec<FilledPass>,
    pub(super) random: Option<RandomWrites>,
}

impl FillRecord {
    /// A record whose times count from now.
    pub(super) fn new() -> Self {
        FillRecord {
            begun: Instant::now(),
            written: Bytes::ZERO,
            write_time: Nanos::ZERO,
            passes: Vec::new(),
            random: None,
        }
    }

    /// Time since the record began.
    pub(super) fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    /// Begins a pass, the first of which has the number 1.
    pub(super) fn pass(&mut self, number: u32, of: u32) {
        self.passes.push(FilledPass { name: format!("{number}/{of}"), extents: Vec::new() });
    }

    /// Adds `bytes` bytes that were written in blocks of `block` since `from`.
    pub(super) fn extent(&mut self, from: Nanos, bytes: Bytes, block: Bytes) {
        let to = self.now();
        self.written += bytes;
        self.write_time = to;
        let writes = bytes.0.div_ceil(block.0.max(1));
        let step = step((from, to), writes, bytes);
        self.passes.iter_mut().next_back().into_iter().for_each(|p| p.extents.push(step.clone()));
    }
}

/// The step between two moments in which `ios` writes moved `bytes` bytes.
fn step((from, to): (Nanos, Nanos), ios: u64, bytes: Bytes) -> WriteStep {
    let seconds = to.saturating_sub(from).as_secs_f64().max(1e-9);
    let (iops, bw) = (ios as f64 / seconds, Bytes((bytes.as_f64() / seconds) as u64));
    WriteStep { from, to, iops, bw }
}

/// Divides random writes into rounds, from counters that are read several times in each round.
#[derive(Debug)]
pub(crate) struct RoundRecorder {
    random: RandomWrites,
    /// When the current round began, and the counters at that moment.
    from: Nanos,
    before: (u64, Bytes),
}

impl RoundRecorder {
    pub(super) fn new(round: Nanos, limit: Nanos) -> Self {
        let random = RandomWrites { round, limit, ..RandomWrites::default() };
        RoundRecorder { random, from: Nanos::ZERO, before: (0, Bytes::ZERO) }
    }

    /// The counters at a moment.
    pub(super) fn at(&mut self, now: Nanos, totals: &Totals) {
        if now.saturating_sub(self.from) >= self.random.round {
            self.end_round(now, (totals.ios[Dir::Write], totals.bytes[Dir::Write]));
        }
    }

    fn end_round(&mut self, now: Nanos, counts: (u64, Bytes)) {
        let ios = counts.0.saturating_sub(self.before.0);
        let bytes = counts.1.saturating_sub(self.before.1);
        self.random.rounds.push(step((self.from, now), ios, bytes));
        (self.from, self.before) = (now, counts);
    }

    /// Ends the last round, if at least half of it took place, and adds the rounds by which the rate is judged.
    pub(super) fn end(
        mut self,
        now: Nanos,
        counts: (u64, Bytes),
        steady: Option<&SteadyState>,
    ) -> RandomWrites {
        let last = now.saturating_sub(self.from);
        if last.saturating_mul(2) >= self.random.round || self.random.rounds.is_empty() {
            self.end_round(now, counts);
        }
        self.random.window = steady.and_then(|steady| window(steady, now));
        self.random
    }
}

/// The rounds by which the rate is judged, if there were enough of them.
fn window(steady: &SteadyState, end: Nanos) -> Option<SteadyRounds> {
    let SteadyKind::Pts { slope_percent } = steady.kind else { return None };
    let is_full = steady.missing == 0 && !steady.iops_data.is_empty();
    is_full.then(|| SteadyRounds {
        attained: steady.attained,
        from: end.saturating_sub(steady.duration),
        to: end,
        iops: steady.iops_mean as f64,
        range_percent: steady.criterion,
        slope_percent,
    })
}

#[cfg(test)]
mod tests {
    use fiord_types::PerDir;

    use super::*;

    fn totals(ios: u64) -> Totals {
        let only = |n| PerDir::new(0, n, 0);
        Totals { ios: only(ios), bytes: PerDir::new(Bytes::ZERO, Bytes(ios * 4096), Bytes::ZERO) }
    }

    #[test]
    fn counters_become_rounds() {
        let second = Nanos::from_secs;
        let mut rounds = RoundRecorder::new(second(2), second(60));
        for now in 1..=5 {
            rounds.at(second(now), &totals(now * 1000));
        }
        let random = rounds.end(second(6), (6000, Bytes(6000 * 4096)), None);
        let seen: Vec<_> = random.rounds.iter().map(|r| (r.from, r.to, r.iops, r.bw)).collect();
        let bw = Bytes(4_096_000);
        let expected = [0, 2, 4].map(|from| (second(from), second(from + 2), 1000.0, bw));
        assert_eq!(seen, expected);
        assert_eq!((random.round, random.limit, random.window), (second(2), second(60), None));
    }

    #[test]
    fn a_short_rest_is_no_round() {
        let second = Nanos::from_secs;
        let mut rounds = RoundRecorder::new(second(10), second(60));
        rounds.at(second(10), &totals(10));
        assert_eq!(rounds.end(second(14), (20, Bytes(8192)), None).rounds.len(), 1);
        // But the only one counts, however short it is.
        let rounds = RoundRecorder::new(second(10), second(60));
        assert_eq!(rounds.end(second(1), (5, Bytes(4096)), None).rounds[0].iops, 5.0);
    }

    #[test]
    fn the_window_is_that_of_the_criterion() {
        let steady = SteadyState {
            kind: SteadyKind::Pts { slope_percent: 3.0 },
            duration: Nanos::from_secs(5),
            attained: true,
            criterion: 12.5,
            iops_mean: 1000,
            iops_data: vec![1000; 5],
            ..SteadyState::default()
        };
        let found = window(&steady, Nanos::from_secs(9)).unwrap();
        assert_eq!((found.from, found.to), (Nanos::from_secs(4), Nanos::from_secs(9)));
        assert_eq!((found.range_percent, found.slope_percent, found.iops), (12.5, 3.0, 1000.0));
        let short = SteadyState { missing: 1, ..steady };
        assert_eq!(window(&short, Nanos::from_secs(9)), None);
    }
}
