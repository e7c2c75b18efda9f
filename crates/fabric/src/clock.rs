//! How the clock of a host relates to the coordinator's.
//!
//! The coordinator sends a probe and the agent answers at once, which gives four times: the coordinator sends the probe at
//! t1 and receives the answer at t4, by its own clock; the agent receives the probe at t2 and answers at t3, by the host's
//! clock. Both are `CLOCK_MONOTONIC`, the time line of all time stamps of I/Os. Let *o* be the host's time minus the
//! coordinator's. The probe needs some time on the way, and so does the answer, hence
//!
//! ```text
//! t2 - t1 = o + (way of the probe)  >= o
//! t3 - t4 = o - (way of the answer) <= o
//! ```
//!
//! One exchange proves that *o* lies between t3 - t4 and t2 - t1. The middle of this interval is the offset θ of NTP (RFC
//! 5905, section 8), and its width is NTP's round trip δ = (t4 - t1) - (t3 - t2):
//!
//! ```text
//! θ = ((t2 - t1) + (t3 - t4)) / 2        |o - θ| <= δ / 2
//! ```
//!
//! NTP keeps the exchange with the smallest δ. A [`ClockComparison`] intersects the intervals of all [`ROUNDS`] exchanges,
//! which is at least as narrow: the fastest probe and the fastest answer may belong to different exchanges. An older
//! interval first grows by [`MAX_DRIFT`] for the time since then. If two intervals do not overlap, a clock was set or the
//! host does not tell the truth, and the result covers both.
//!
//! The comparison before the run and the one after it give a [`HostClock`], which assumes that the offset changes linearly
//! between them. Under this assumption, the error between the comparisons is at most the larger of the two errors. If the
//! offset changed by more than [`MAX_DRIFT`] explains, the clock was stopped or set meanwhile (a virtual machine was
//! paused), and the error includes the whole change. Without a second comparison, the error grows by [`MAX_DRIFT`].

use fiord_types::Nanos;

use crate::outcome::ClockError;

/// Number of probes in a comparison.
pub const ROUNDS: u32 = 32;

/// Maximum difference between the frequencies of two clocks, in parts per million: two quartz oscillators with a
/// tolerance of 50 ppm each.
pub const MAX_DRIFT: u64 = 100;

/// The times of a probe and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeTimes {
    /// The coordinator sent the probe (t1).
    pub sent: Nanos,
    /// The probe arrived, by the host's clock (t2).
    pub received: Nanos,
    /// The answer was sent, by the host's clock (t3).
    pub answered: Nanos,
    /// The answer arrived at the coordinator (t4).
    pub arrived: Nanos,
}

impl ProbeTimes {
    /// The time that the probe and its answer were on the way. `None` if the times are impossible.
    #[must_use]
    pub fn round_trip(&self) -> Option<Nanos> {
        let passed = self.arrived.checked_sub(self.sent)?;
        passed.checked_sub(self.answered.checked_sub(self.received)?)
    }
}

/// Collects the exchanges of one comparison.
///
/// ```
/// use fiord_fabric::clock::{ClockComparison, ProbeTimes};
/// use fiord_types::Nanos;
///
/// let mut comparison = ClockComparison::default();
/// // The host's clock is 1,000,000 ns ahead. The probe takes 300 ns, the answer 100 ns.
/// comparison.add(ProbeTimes {
///     sent: Nanos(5_000),
///     received: Nanos(1_005_300),
///     answered: Nanos(1_005_350),
///     arrived: Nanos(5_450),
/// });
/// let reading = comparison.reading().unwrap();
/// assert_eq!((reading.offset(), reading.bound()), (1_000_100, Nanos(200)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ClockComparison {
    exchanges: u32,
    /// The interval that contains the offset at `at`.
    interval: (i128, i128),
    at: Nanos,
    fastest: Nanos,
    slowest: Nanos,
}

impl ClockComparison {
    /// Adds an exchange. Exchanges are added in the order in which their answers arrived. Impossible times count as an
    /// exchange that says nothing.
    pub fn add(&mut self, times: ProbeTimes) {
        self.exchanges += 1;
        let Some(round_trip) = times.round_trip() else { return };
        let difference = |host: Nanos, own: Nanos| i128::from(host.0) - i128::from(own.0);
        let (low, high) =
            (difference(times.answered, times.arrived), difference(times.received, times.sent));
        if self.at == Nanos::ZERO {
            (self.interval, self.fastest) = ((low, high), round_trip);
        } else {
            let grown = i128::from(drift(times.arrived.saturating_sub(self.at)).0);
            let (old_low, old_high) = (self.interval.0 - grown, self.interval.1 + grown);
            self.interval = if old_low <= high && low <= old_high {
                (old_low.max(low), old_high.min(high))
            } else {
                (old_low.min(low), old_high.max(high))
            };
        }
        self.at = times.arrived.max(Nanos(1));
        self.fastest = self.fastest.min(round_trip);
        self.slowest = self.slowest.max(round_trip);
    }

    /// Number of exchanges.
    #[must_use]
    pub fn exchanges(&self) -> u32 {
        self.exchanges
    }

    /// The longest round trip.
    #[must_use]
    pub fn slowest(&self) -> Nanos {
        self.slowest
    }

    /// The result. `None` before the first exchange with possible times.
    #[must_use]
    pub fn reading(&self) -> Option<ClockReading> {
        if self.at == Nanos::ZERO {
            return None;
        }
        let (low, high) = self.interval;
        let offset = (low + high).div_euclid(2);
        let bound = nanos((high - offset).max(offset - low));
        Some(ClockReading { at: self.at, offset, bound, round_trip: self.fastest })
    }
}

/// How much two clocks drift apart at most.
fn drift(time: Nanos) -> Nanos {
    // Rounded up, so that a bound stays a bound.
    Nanos((u128::from(time.0) * u128::from(MAX_DRIFT)).div_ceil(1_000_000) as u64)
}

/// The nearest time that there is.
fn nanos(value: i128) -> Nanos {
    Nanos(u64::try_from(value.max(0)).unwrap_or(u64::MAX))
}

/// The offset of a host's clock at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    at: Nanos,
    offset: i128,
    bound: Nanos,
    round_trip: Nanos,
}

impl ClockReading {
    /// The host's time minus the coordinator's, ns.
    #[must_use]
    pub fn offset(&self) -> i128 {
        self.offset
    }

    /// The offset is wrong by at most this.
    #[must_use]
    pub fn bound(&self) -> Nanos {
        self.bound
    }

    /// When the offset was valid, by the coordinator's clock.
    #[must_use]
    pub fn at(&self) -> Nanos {
        self.at
    }

    /// By the host's clock.
    fn host_time(&self) -> i128 {
        i128::from(self.at.0) + self.offset
    }
}

/// Converts times between a host and the coordinator.
///
/// ```
/// use fiord_fabric::clock::{ClockComparison, HostClock, ProbeTimes};
/// use fiord_types::Nanos;
///
/// let at = |sent: u64, host: u64| {
///     let (received, answered) = (Nanos(host), Nanos(host));
///     let mut comparison = ClockComparison::default();
///     comparison.add(ProbeTimes { sent: Nanos(sent), received, answered, arrived: Nanos(sent) });
///     comparison.reading()
/// };
/// // The host's clock is 5000 ns behind, and gains 10 ns in 1,000,000 ns.
/// let clock = HostClock::new(at(1_000_000, 995_000).unwrap(), at(2_000_000, 1_995_010));
/// assert_eq!(clock.to_coordinator(Nanos(1_495_005)), Nanos(1_500_000));
/// assert_eq!(clock.to_host(Nanos(1_500_000)), Nanos(1_495_005));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostClock {
    before: ClockReading,
    after: Option<ClockReading>,
}

impl HostClock {
    /// The clock between two comparisons, or since one. A second one that is not later than the first one is ignored.
    #[must_use]
    pub fn new(before: ClockReading, after: Option<ClockReading>) -> Self {
        let later =
            |after: &ClockReading| after.at > before.at && after.host_time() > before.host_time();
        HostClock { before, after: after.filter(later) }
    }

    /// The host's time at a time of the coordinator.
    #[must_use]
    pub fn to_host(&self, time: Nanos) -> Nanos {
        let time = i128::from(time.0);
        let Some(after) = self.after else { return nanos(time + self.before.offset) };
        let passed = time - i128::from(self.before.at.0);
        let spans = (
            after.host_time() - self.before.host_time(),
            i128::from(after.at.0) - i128::from(self.before.at.0),
        );
        nanos(self.before.host_time() + scaled(passed, spans))
    }

    /// The coordinator's time at a time of the host.
    #[must_use]
    pub fn to_coordinator(&self, time: Nanos) -> Nanos {
        let time = i128::from(time.0);
        let Some(after) = self.after else { return nanos(time - self.before.offset) };
        let passed = time - self.before.host_time();
        let spans = (
            i128::from(after.at.0) - i128::from(self.before.at.0),
            after.host_time() - self.before.host_time(),
        );
        nanos(i128::from(self.before.at.0) + scaled(passed, spans))
    }

    /// How wrong a converted time is at most, if it is between the comparisons or, without a second one, not later than
    /// `until` by the coordinator's clock.
    #[must_use]
    pub fn error(&self, until: Nanos) -> ClockError {
        let (before, round_trip) = (self.before, self.before.round_trip);
        let Some(after) = self.after else {
            let grown = drift(until.saturating_sub(before.at));
            return ClockError { bound: before.bound.saturating_add(grown), round_trip };
        };
        let changed = nanos((after.offset - before.offset).abs());
        let explained = drift(after.at.saturating_sub(before.at))
            .saturating_add(before.bound)
            .saturating_add(after.bound);
        let jump = if changed > explained { changed } else { Nanos::ZERO };
        let bound = before.bound.max(after.bound).saturating_add(jump);
        ClockError { bound, round_trip: round_trip.min(after.round_trip) }
    }
}

/// `value * to / from`, rounded to the nearest. Spans are positive and values have at most 66 bits, so the product of a
/// value and a span may not fit: such times are not real, and the line is not needed for them.
fn scaled(value: i128, (to, from): (i128, i128)) -> i128 {
    match value.checked_mul(to) {
        Some(product) => product.saturating_add(from / 2).div_euclid(from),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A host whose clock is `offset` ahead and drifts, behind a network with two delays.
    fn exchange(sent: u64, there: u64, back: u64, host: impl Fn(u64) -> u64) -> ProbeTimes {
        let (received, answered) = (sent + there, sent + there + 700);
        let (received_there, answered_there) = (Nanos(host(received)), Nanos(host(answered)));
        ProbeTimes {
            sent: Nanos(sent),
            received: received_there,
            answered: answered_there,
            arrived: Nanos(answered + back),
        }
    }

    fn compare(begin: u64, delays: &[(u64, u64)], host: impl Fn(u64) -> u64) -> ClockReading {
        let mut comparison = ClockComparison::default();
        for (index, (there, back)) in delays.iter().enumerate() {
            comparison.add(exchange(begin + index as u64 * 3_000_000, *there, *back, &host));
        }
        comparison.reading().expect("all times are possible")
    }

    #[test]
    fn the_fastest_ways_need_not_belong_to_one_exchange() {
        let ahead = |time: u64| time + 1_000_000_000;
        let reading = compare(1_000_000, &[(100, 90_000), (90_000, 100)], ahead);
        // The first interval grows by 100 ppm of 3 ms, plus the difference of the arrivals.
        assert!(reading.bound() <= Nanos(100 + 400), "{reading:?}");
        assert!((reading.offset() - 1_000_000_000).abs() <= i128::from(reading.bound().0));
    }

    #[test]
    fn impossible_times_say_nothing() {
        let mut comparison = ClockComparison::default();
        let times = |received, answered| ProbeTimes {
            sent: Nanos(100),
            received: Nanos(received),
            answered: Nanos(answered),
            arrived: Nanos(200),
        };
        comparison.add(times(7, 3));
        comparison.add(times(0, u64::MAX));
        assert_eq!((comparison.exchanges(), comparison.reading()), (2, None));
        comparison.add(times(u64::MAX - 1, u64::MAX));
        assert_eq!(comparison.reading().expect("possible times").bound(), Nanos(50));
    }

    #[test]
    fn a_clock_that_was_set_widens_the_bound() {
        let before = compare(1_000_000, &[(500, 500); 4], |time| time + 10_000_000);
        let jumped = compare(60_000_000_000, &[(500, 500); 4], |time| time + 910_000_000);
        let clock = HostClock::new(before, Some(jumped));
        assert!(clock.error(Nanos(60_000_000_000)).bound >= Nanos(900_000_000));
        let mut comparison = ClockComparison::default();
        comparison.add(exchange(1_000_000, 500, 500, |time| time + 10_000_000));
        comparison.add(exchange(2_000_000, 500, 500, |time| time + 90_000_000));
        assert!(comparison.reading().expect("possible times").bound() >= Nanos(40_000_000));
    }

    #[test]
    fn without_a_second_comparison_the_error_grows() {
        let clock = HostClock::new(compare(1, &[(500, 500)], |time| time + 10_000_000), None);
        let after = clock.error(Nanos::from_secs(100)).bound;
        assert!(after > Nanos::from_millis(9) && after < Nanos::from_millis(11), "{after:?}");
        assert_eq!(clock.to_coordinator(Nanos(0)), Nanos(0));
    }

    fn delays() -> impl Strategy<Value = Vec<(u64, u64)>> {
        prop::collection::vec((1..200_000_u64, 1..200_000_u64), 1..33)
    }

    proptest! {
        #[test]
        fn converted_times_are_within_the_bound(
            (first, second, ahead) in (delays(), delays(), 0..1_u64 << 60),
            (ppm, length, at) in (-50..=50_i64, 1_000_000_000..3_600_000_000_000_u64, 0.0..=1.0_f64),
        ) {
            let host = |time: u64| (time + ahead).wrapping_add_signed(time as i64 / 1_000_000 * ppm);
            let begin = 1_000_000_000;
            let before = compare(begin, &first, host);
            let after = compare(begin + 200_000_000 + length, &second, host);
            let clock = HostClock::new(before, Some(after));
            let time = begin + 200_000_000 + (length as f64 * at) as u64;
            // The host's clock has steps of 50 ns here, and two conversions round.
            let bound = clock.error(after.at()).bound.0 + 60;
            prop_assert!(clock.to_coordinator(Nanos(host(time))).0.abs_diff(time) <= bound);
            prop_assert!(clock.to_host(Nanos(time)).0.abs_diff(host(time)) <= bound);
            let once = HostClock::new(before, None);
            let bound = once.error(Nanos(time)).bound.0 + 60;
            prop_assert!(once.to_coordinator(Nanos(host(time))).0.abs_diff(time) <= bound);
        }

        #[test]
        fn no_times_of_a_host_cause_a_panic(
            times in prop::collection::vec(any::<(u64, u64, u64, u64)>(), 1..6), at in any::<u64>(),
        ) {
            let mut comparison = ClockComparison::default();
            let mut readings = Vec::new();
            for (sent, received, answered, arrived) in times {
                let [sent, received, answered, arrived] = [sent, received, answered, arrived].map(Nanos);
                comparison.add(ProbeTimes { sent, received, answered, arrived });
                readings.extend(comparison.reading());
            }
            if let Some(first) = readings.first() {
                let clock = HostClock::new(*first, readings.last().copied());
                let _ = (clock.to_host(Nanos(at)), clock.to_coordinator(Nanos(at)), clock.error(Nanos(at)));
            }
        }
    }
}
