//! What the thread's time goes to: measured in samples, for the report.
//!
//! Every [`TICK`](super::session) the loop looks around; after that it runs a burst of its rounds in a
//! variant that reads the clock between the parts of a round. Rounds outside bursts have no test for
//! it. The first round of a burst runs code and data that are not in the caches and is left out.
//! What reading the clock itself takes is measured beside, and taken off.
//!
//! What a synchronous job does between its I/Os (flushes, opens) is rare and may take long, so that
//! samples would meet it too often or never: of that all is measured.

use fiord_stat::shares::{PARTS, Part, TimeShares};

/// In a set of axes: the loop reads the clock between the parts of a round. Stands beside `DYNAMIC`.
pub const SAMPLED: u32 = 1 << 28;

/// Rounds of a burst, and how long it may take, ns: a round of a slow device is a burst of two.
const ROUNDS: u32 = 64;
const LONGEST: u64 = 50_000;

/// Time by part, and how often a part ended.
#[derive(Debug, Clone, Copy, Default)]
struct Laps {
    ns: [u64; PARTS],
    count: [u64; PARTS],
}

impl Laps {
    fn add(&mut self, other: &Laps) {
        for part in 0..PARTS {
            self.ns[part] += other.ns[part];
            self.count[part] += other.count[part];
        }
    }
}

/// Samples of one job.
#[derive(Debug, Default)]
pub struct Shares {
    /// Samples are taken.
    on: bool,
    sums: Laps,
    round: Laps,
    /// When the part under way began.
    mark: u64,
    /// Laps around nothing, and what they took: the cost of a lap.
    empty: (u64, u64),
    rounds: u64,
    ios: u64,
    submitting: u64,
    /// All the time of what is no I/O.
    aside: u64,
    /// Of the burst under way: rounds left, and when it is to end.
    left: u32,
    until: u64,
}

impl Shares {
    /// Of a job. `on`: samples are wanted, and there is a processor behind the time of its clock.
    pub fn new(on: bool) -> Self {
        Shares { on, ..Shares::default() }
    }

    /// A burst begins. False when nothing is to be sampled.
    pub fn begin(&mut self, now: u64) -> bool {
        (self.left, self.until) = (ROUNDS, now.saturating_add(LONGEST));
        self.on
    }

    /// A round begins.
    #[inline(always)]
    pub fn start(&mut self, now: u64) {
        self.round = Laps::default();
        self.mark = now;
    }

    /// A part of the round has ended.
    #[inline(always)]
    pub fn lap(&mut self, part: Part, now: u64) {
        self.round.ns[part as usize] += now.saturating_sub(self.mark);
        self.round.count[part as usize] += 1;
        self.mark = now;
    }

    /// Something that is no I/O took from then till now; it is in no part of the round.
    pub fn aside(&mut self, from: u64, now: u64) {
        self.aside += now.saturating_sub(from);
        self.mark = now;
    }

    /// When the last part ended.
    #[inline(always)]
    pub fn mark(&self) -> u64 {
        self.mark
    }

    /// A round in which `ios` were made has ended; then the clock was read once more. False at the
    /// end of the burst.
    pub fn end(&mut self, ios: u64, again: u64) -> bool {
        let cold = self.left == ROUNDS;
        self.left -= 1;
        if !cold {
            self.sums.add(&self.round);
            self.rounds += 1;
            self.ios += ios;
            let all: u64 = self.round.ns.iter().sum();
            self.submitting += u64::from(self.round.ns[Part::Submission as usize] > all / 2);
            self.empty.0 += 1;
            self.empty.1 += again.saturating_sub(self.mark);
        }
        cold || (self.left > 0 && self.mark < self.until)
    }

    /// What was measured is not to count: it was before the measured part of the run. A burst under
    /// way goes on, and its round is left out as a first one is.
    pub fn forget(&mut self) {
        (self.sums, self.empty) = (Laps::default(), (0, 0));
        (self.rounds, self.ios, self.submitting, self.aside) = (0, 0, 0, 0);
        self.left = ROUNDS;
    }

    /// What it came to in a run of so many ns. `None` where nothing was sampled.
    pub fn result(&self, runtime: u64) -> Option<TimeShares> {
        let (laps, ns) = self.empty;
        let cost = |count: u64| (u128::from(count) * u128::from(ns) / u128::from(laps)) as u64;
        if laps == 0 {
            return None;
        }
        let mut parts: [u64; PARTS] = std::array::from_fn(|part| {
            self.sums.ns[part].saturating_sub(cost(self.sums.count[part]))
        });
        // The samples stand for the rest of the time.
        let sampled = u128::from(parts.iter().sum::<u64>()) * u128::from(self.aside);
        let aside = sampled / u128::from(runtime.saturating_sub(self.aside).max(1));
        parts[Part::Waiting as usize] += u64::try_from(aside).unwrap_or(u64::MAX >> 8);
        let shares = TimeShares::of(parts, self.rounds, self.ios)?;
        Some(TimeShares { submitting: self.submitting, ..shares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_the_clock_is_taken_off_and_the_first_round_left_out() {
        let mut shares = Shares::new(true);
        assert!(shares.begin(0));
        let mut now = 0;
        // Each read of the clock takes 10. The first round is slow, the second ends the burst.
        for slow in [1_000, 0] {
            shares.start(now);
            for (part, time) in [(Part::Rest, 20), (Part::Contents, 30), (Part::Waiting, 50)] {
                now += time + 10 + slow;
                shares.lap(part, now);
            }
            now += 10;
            let more = shares.end(1, now);
            assert_eq!(more, slow > 0);
            shares.until = now;
        }
        let result = shares.result(1_000).unwrap();
        assert_eq!(result.share(Part::Contents), 0.3);
        assert_eq!(result.share(Part::Waiting), 0.5);
        assert_eq!(result.share(Part::Rest), 0.2);
        assert_eq!((result.rounds, result.ios), (1, 1));
        // For half of the time it flushed.
        shares.aside(now, now + 500);
        let result = shares.result(1_000).unwrap();
        assert_eq!(result.share(Part::Contents), 0.15);
        assert_eq!(result.share(Part::Waiting), 0.75);
    }

    #[test]
    fn measuring_can_begin_within_a_round() {
        let mut shares = Shares::new(true);
        shares.begin(0);
        shares.left = 2;
        shares.start(1_000);
        shares.lap(Part::Rest, 1_100);
        shares.forget();
        shares.lap(Part::Waiting, 1_200);
        assert!(shares.end(1, 1_210), "it counts as the first of its burst");
        assert_eq!(shares.result(1), None);
        // Outside a burst as well.
        let mut shares = Shares::new(true);
        shares.forget();
        assert!(shares.begin(5) && shares.end(1, 6));
    }

    #[test]
    fn nothing_is_told_where_nothing_was_sampled() {
        assert_eq!(Shares::new(true).result(1), None);
        assert!(!Shares::new(false).begin(5));
    }
}
