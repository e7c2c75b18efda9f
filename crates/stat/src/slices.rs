//! Latencies in each time slice of the run, checked against limits.
//!
//! Aerospike's certification tool rates devices this way: by the share of the I/Os in each hour that took
//! longer than 1, 8 and 64 ms. Each I/O counts with two latencies: from its start, and from the time at which
//! it was due.

use fiord_formats::block::{self, BlockError};
use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::zero_one;

/// Maximum number of limits that one job may have.
pub const MAX_LIMITS: usize = 8;

/// Maximum delay of an I/O behind its schedule in a test that passes: the default of `max-lag-sec` in
/// Aerospike's tool.
pub const MAX_LAG: Nanos = Nanos::from_secs(10);

/// Counts of one slice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Slice {
    /// I/Os that were due in this slice.
    pub ios: u64,
    /// For each limit: how many of these I/Os took longer, counted from the time at which they were due.
    pub due: [u64; MAX_LIMITS],
    /// For each limit: how many of these I/Os took longer, counted from their start.
    pub own: [u64; MAX_LIMITS],
    /// Longest delay between the due time of an I/O and its start.
    pub lag: Nanos,
}

impl Slice {
    fn merge(&mut self, other: &Slice) {
        self.ios = self.ios.saturating_add(other.ios);
        for i in 0..MAX_LIMITS {
            self.due[i] = self.due[i].saturating_add(other.due[i]);
            self.own[i] = self.own[i].saturating_add(other.own[i]);
        }
        self.lag = self.lag.max(other.lag);
    }
}

/// Counts the I/Os of one job by slice. It has one writer and allocates at most once for each slice. When it is
/// serialized, each counter is a series over the slices ([`fiord_formats::block`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Stored", try_from = "Stored")]
pub struct Slices {
    /// Length of a slice, ns.
    length: u64,
    /// Limits, ns, ascending; unused ones are [`u64::MAX`].
    bounds: [u64; MAX_LIMITS],
    /// When the first slice began. `from` and `index` are the start and index of the last slice used.
    begin: u64,
    from: u64,
    index: usize,
    list: Vec<Slice>,
}

impl Slices {
    /// Slices of `length`, with memory for `expected` slices. Uses only the first [`MAX_LIMITS`] bounds.
    #[must_use]
    pub fn new(length: Nanos, bounds: &[Nanos], expected: usize) -> Self {
        let mut all = [u64::MAX; MAX_LIMITS];
        all.iter_mut().zip(bounds).for_each(|(place, bound)| *place = bound.0);
        let list = Vec::with_capacity(expected);
        Slices { length: length.0.max(1), bounds: all, list, ..Slices::default() }
    }

    /// Clears all counts and starts the first slice at `now`.
    pub fn begin(&mut self, now: Nanos) {
        (self.begin, self.from, self.index) = (now.0, now.0, 0);
        self.list.clear();
    }

    /// Counts an I/O that completed at `end`, `own` after its start and `due` after its due time, in the slice
    /// of its due time.
    #[inline]
    pub fn record(&mut self, end: Nanos, own: Nanos, due: Nanos) {
        let start = end.saturating_sub(due).0;
        if start.wrapping_sub(self.from) >= self.length || self.index >= self.list.len() {
            self.turn_to(start);
        }
        let Some(slice) = self.list.get_mut(self.index) else { return };
        slice.ios += 1;
        slice.lag = slice.lag.max(due.saturating_sub(own));
        for (i, bound) in self.bounds.iter().enumerate() {
            slice.due[i] += u64::from(due.0 > *bound);
            slice.own[i] += u64::from(own.0 > *bound);
        }
    }

    /// Selects or creates the slice of a time. I/Os due before the first slice count in the first.
    #[cold]
    #[inline(never)]
    fn turn_to(&mut self, start: u64) {
        let index = start.saturating_sub(self.begin) / self.length;
        self.from = self.begin + index * self.length;
        self.index = index as usize;
        if self.list.len() <= self.index {
            self.list.resize(self.index + 1, Slice::default());
        }
    }

    /// The counts so far, by slice.
    #[must_use]
    pub fn counted(&self) -> &[Slice] {
        &self.list
    }

    /// Adds the counts of another job, slice by slice. Counts of slices with another length or other limits
    /// cannot be added and are ignored.
    pub fn merge(&mut self, other: &Slices) {
        if (self.length, self.bounds) == (other.length, other.bounds) {
            merge(&mut self.list, &other.list);
        }
    }
}

/// The serialized form of [`Slices`]. The time at which the first slice began is left out: it has a meaning only
/// for the clock of the worker.
#[derive(Serialize, Deserialize)]
struct Stored {
    length_ns: Nanos,
    /// The limits in use, ascending.
    limits_ns: Vec<Nanos>,
    ios: String,
    lag_ns: String,
    /// One series for each limit.
    due: Vec<String>,
    own: Vec<String>,
}

impl From<Slices> for Stored {
    fn from(slices: Slices) -> Stored {
        let series = |of: &dyn Fn(&Slice) -> u64| block::series_to_text(slices.list.iter().map(of));
        let limits = slices.bounds.iter().filter(|bound| **bound < u64::MAX).count();
        Stored {
            length_ns: Nanos(slices.length),
            limits_ns: slices.bounds[..limits].iter().copied().map(Nanos).collect(),
            ios: series(&|slice| slice.ios),
            lag_ns: series(&|slice| slice.lag.0),
            due: (0..limits).map(|limit| series(&|slice| slice.due[limit])).collect(),
            own: (0..limits).map(|limit| series(&|slice| slice.own[limit])).collect(),
        }
    }
}

impl TryFrom<Stored> for Slices {
    type Error = BlockError;
    fn try_from(stored: Stored) -> Result<Slices, BlockError> {
        let series = |text: &String| block::series_from_text(text, usize::MAX);
        let ios = series(&stored.ios)?;
        let mut slices = Slices::new(stored.length_ns, &stored.limits_ns, ios.len());
        slices.list.extend(ios.into_iter().map(|ios| Slice { ios, ..Slice::default() }));
        let list = &mut slices.list;
        list.iter_mut()
            .zip(series(&stored.lag_ns)?)
            .for_each(|(slice, lag)| slice.lag = Nanos(lag));
        for (limit, (due, own)) in stored.due.iter().zip(&stored.own).take(MAX_LIMITS).enumerate() {
            list.iter_mut().zip(series(due)?).for_each(|(slice, n)| slice.due[limit] = n);
            list.iter_mut().zip(series(own)?).for_each(|(slice, n)| slice.own[limit] = n);
        }
        Ok(slices)
    }
}

/// Adds the counts of another job, slice by slice.
pub fn merge(mine: &mut Vec<Slice>, theirs: &[Slice]) {
    if mine.len() < theirs.len() {
        mine.resize(theirs.len(), Slice::default());
    }
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| mine.merge(theirs));
}

/// A limit: fewer than `percent` of the I/Os of a slice may take longer than `over`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LatencyLimit {
    #[serde(rename = "over_ns")]
    pub over: Nanos,
    /// Percent of the I/Os of a slice.
    #[serde(rename = "below_percent")]
    pub percent: f64,
}

/// One slice of the report.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SliceRow {
    /// I/Os that were due in this slice.
    pub ios: u64,
    /// For each limit: percent of these I/Os that took longer, counted from the time at which they were due.
    #[serde(rename = "trans")]
    pub due: Vec<f64>,
    /// For each limit: percent of these I/Os that took longer, counted from their start.
    #[serde(rename = "device")]
    pub own: Vec<f64>,
    /// Longest delay between the due time of an I/O and its start.
    #[serde(rename = "lag_ns")]
    pub lag: Nanos,
}

/// Verdict of a test with limits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The test ran to its end, and every slice is within the limits.
    Passed,
    /// A slice exceeds a limit, the load fell behind its schedule, or a job failed.
    Failed,
    /// The test ended early, before a limit was exceeded.
    #[default]
    #[serde(rename = "none")]
    Open,
}

/// A limit that at least one slice exceeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Breach {
    /// The value of the worst slice.
    #[serde(flatten)]
    pub what: Breached,
    /// Number of the worst slice, from 1.
    #[serde(rename = "worst_slice")]
    pub worst: usize,
    /// Number of such slices.
    pub slices: usize,
    /// The test fails because of it.
    #[serde(with = "zero_one")]
    pub decides: bool,
}

/// The quantity that exceeds a limit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "of")]
pub enum Breached {
    /// Percent of the I/Os that took too long, counted from their start.
    #[serde(rename = "device")]
    Own(Excess),
    /// Percent of the I/Os that took too long only if counted from their due time. It does not fail the test: a
    /// thread that waits for one I/O is late with the next, whereas a database uses another thread
    /// for it.
    #[serde(rename = "trans")]
    Due(Excess),
    /// I/Os started this long after they were due: longer than [`MAX_LAG`].
    #[serde(rename = "lag")]
    Lag {
        #[serde(rename = "lag_ns")]
        lag: Nanos,
    },
}

/// A limit, and the percentage that exceeds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Excess {
    #[serde(flatten)]
    pub limit: LatencyLimit,
    /// Percent of the I/Os of the slice that took longer.
    pub percent: f64,
}

/// The slices and the verdict of the jobs of one test.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SliceTable {
    /// The name of the test.
    pub name: String,
    /// The run status group.
    #[serde(rename = "groupid")]
    pub group_id: u32,
    pub verdict: Verdict,
    /// The test ran to its end.
    #[serde(with = "zero_one")]
    pub complete: bool,
    /// Length of a slice.
    #[serde(rename = "slice_ns")]
    pub slice: Nanos,
    /// The limits, ascending.
    pub limits: Vec<LatencyLimit>,
    /// The slices of the run, in order.
    pub slices: Vec<SliceRow>,
    /// The limits that slices exceed.
    pub broken: Vec<Breach>,
}

/// How the jobs of a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// All jobs completed their work.
    Whole,
    /// At least one job was stopped earlier.
    Short,
    /// At least one job failed.
    Failed,
}

impl SliceTable {
    /// Computes the shares and the verdict. The table already has its name, group, slice length and limits.
    #[must_use]
    pub fn judge(mut self, counted: &[Slice], ending: Ending) -> Self {
        self.slices = counted.iter().map(|slice| row(slice, self.limits.len())).collect();
        self.broken = self.breaches();
        self.complete = ending == Ending::Whole;
        self.verdict = match ending {
            _ if self.broken.iter().any(|breach| breach.decides) => Verdict::Failed,
            Ending::Failed => Verdict::Failed,
            // Without a single I/O there is nothing to judge.
            Ending::Whole if self.slices.iter().any(|slice| slice.ios > 0) => Verdict::Passed,
            _ => Verdict::Open,
        };
        self
    }

    /// Records that the run was stopped early: a test that passed so far becomes open.
    pub fn cut_short(&mut self) {
        self.complete = false;
        if self.verdict == Verdict::Passed {
            self.verdict = Verdict::Open;
        }
    }

    fn breaches(&self) -> Vec<Breach> {
        let mut all = Vec::new();
        for (i, &limit) in self.limits.iter().enumerate() {
            let broken = |shares: fn(&SliceRow) -> &[f64]| {
                let share = |row: &SliceRow| shares(row).get(i).copied().unwrap_or(0.0);
                self.worst(share, |share| share >= limit.percent)
            };
            if let Some((slices, worst, percent)) = broken(|row| &row.own) {
                let what = Breached::Own(Excess { limit, percent });
                all.push(Breach { what, worst, slices, decides: true });
            } else if let Some((slices, worst, percent)) = broken(|row| &row.due) {
                let what = Breached::Due(Excess { limit, percent });
                all.push(Breach { what, worst, slices, decides: false });
            }
        }
        if let Some((slices, worst, lag)) = self.worst(|row| row.lag, |lag| lag > MAX_LAG) {
            all.push(Breach { what: Breached::Lag { lag }, worst, slices, decides: true });
        }
        all
    }

    /// The number of slices with too much of a quantity, the number of the worst (from 1), and its value.
    fn worst<T: PartialOrd + Copy>(
        &self,
        of: impl Fn(&SliceRow) -> T,
        too_much: impl Fn(T) -> bool,
    ) -> Option<(usize, usize, T)> {
        let all = self.slices.iter().map(of).enumerate().filter(|(_, value)| too_much(*value));
        all.fold(None, |found, (index, value)| match found {
            Some((n, worst, most)) if value <= most => Some((n + 1, worst, most)),
            Some((n, ..)) => Some((n + 1, index + 1, value)),
            None => Some((1, index + 1, value)),
        })
    }
}

fn row(slice: &Slice, limits: usize) -> SliceRow {
    let percent = |n: &u64| 100.0 * *n as f64 / slice.ios.max(1) as f64;
    let shares = |counts: &[u64; MAX_LIMITS]| counts.iter().take(limits).map(percent).collect();
    SliceRow { ios: slice.ios, due: shares(&slice.due), own: shares(&slice.own), lag: slice.lag }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Nanos = Nanos::from_millis(1);

    fn table(limits: &[(Nanos, f64)]) -> SliceTable {
        let limits = limits.iter().map(|&(over, percent)| LatencyLimit { over, percent });
        SliceTable { limits: limits.collect(), slice: Nanos::from_secs(1), ..SliceTable::default() }
    }

    #[test]
    fn ios_count_in_the_slice_of_their_due_time_and_under_every_limit_that_they_exceed() {
        let ms = Nanos::from_millis;
        let at = |ns: u64| Nanos(500).saturating_add(Nanos(ns));
        let mut slices = Slices::new(ms(1000), &[ms(1), ms(8), ms(64)], 3);
        slices.begin(Nanos(500));
        slices.record(at(1_000_000), ms(1), ms(1)); // not more than a millisecond
        slices.record(at(20_000_000), Nanos(1_000_001), ms(9));
        // It ends in the next slice.
        slices.record(at(1_050_000_000), ms(65), ms(65));
        slices.record(at(1_000_000_000), ms(0), ms(0));
        // None was due in the third slice; one of the second completes late.
        slices.record(at(3_500_000_000), ms(2), ms(3));
        slices.record(at(3_500_000_000), ms(2500), ms(2500));
        let counted = slices.counted();
        assert_eq!(counted.iter().map(|s| s.ios).collect::<Vec<_>>(), [3, 2, 0, 1]);
        assert_eq!(
            (counted[0].own[..3].to_vec(), counted[0].due[..3].to_vec()),
            (vec![2, 1, 1], vec![2, 2, 1])
        );
        assert_eq!(counted[1].own[..3], [1, 1, 1]);
        assert_eq!((counted[0].lag, counted[3].lag), (Nanos(7_999_999), ms(1)));
        assert!(counted.iter().all(|slice| slice.own[3..] == [0; 5]));
        slices.begin(Nanos::ZERO);
        assert!(slices.counted().is_empty());
    }

    #[test]
    fn jobs_are_added_slice_by_slice() {
        let one = |ios, lag| {
            let own = [ios; MAX_LIMITS];
            Slice { ios, own, lag: Nanos(lag), ..Slice::default() }
        };
        let mut mine = vec![one(1, 5)];
        merge(&mut mine, &[one(10, 3), one(20, 4)]);
        assert_eq!(mine, [one(11, 5), one(20, 4)]);
        merge(&mut mine, &[]);
        assert_eq!(mine.len(), 2);
    }

    #[test]
    fn a_share_that_reaches_its_limit_breaks_it() {
        let of = |own: u64, due: u64| {
            let mut slice = Slice { ios: 1000, ..Slice::default() };
            (slice.own[0], slice.due[0]) = (own, due);
            table(&[(MS, 5.0)]).judge(&[Slice { ios: 7, ..Slice::default() }, slice], Ending::Whole)
        };
        let passed = of(49, 49);
        assert_eq!((passed.verdict, passed.broken.len()), (Verdict::Passed, 0));
        assert_eq!(passed.slices[1].own, [4.9]);
        let failed = of(50, 70);
        assert_eq!(failed.verdict, Verdict::Failed);
        let limit = failed.limits[0];
        let what = Breached::Own(Excess { limit, percent: 5.0 });
        let breach = Breach { what, worst: 2, slices: 1, decides: true };
        assert_eq!(failed.broken, [breach]);
        // An I/O that is late because of the previous one is reported but does not fail the test.
        let late = of(49, 60);
        assert_eq!(late.verdict, Verdict::Passed);
        let what = Breached::Due(Excess { limit, percent: 6.0 });
        assert_eq!(late.broken, [Breach { what, decides: false, ..breach }]);
    }

    #[test]
    fn the_report_names_the_worst_of_several_slices() {
        let slices =
            [10, 0, 30, 20].map(|n| Slice { ios: 100, own: [n; MAX_LIMITS], ..Slice::default() });
        let table =
            table(&[(MS, 15.0), (MS.saturating_mul(8), 50.0)]).judge(&slices, Ending::Whole);
        let what = Breached::Own(Excess { limit: table.limits[0], percent: 30.0 });
        assert_eq!(table.broken, [Breach { what, worst: 3, slices: 2, decides: true }]);
    }

    #[test]
    fn the_end_of_the_test_decides_with_the_limits() {
        let good = [Slice { ios: 5, ..Slice::default() }];
        let verdict = |slices: &[Slice], ending| table(&[(MS, 5.0)]).judge(slices, ending).verdict;
        assert_eq!(verdict(&good, Ending::Whole), Verdict::Passed);
        assert_eq!(verdict(&good, Ending::Short), Verdict::Open);
        assert_eq!(verdict(&good, Ending::Failed), Verdict::Failed);
        assert_eq!(verdict(&[], Ending::Whole), Verdict::Open);
        let lagged = [Slice { lag: MAX_LAG.saturating_add(Nanos(1)), ..good[0] }];
        assert_eq!(verdict(&lagged, Ending::Whole), Verdict::Failed);
        assert_eq!(verdict(&lagged, Ending::Short), Verdict::Failed);
        let mut cut = table(&[(MS, 5.0)]).judge(&good, Ending::Whole);
        assert!(cut.complete);
        cut.cut_short();
        assert_eq!((cut.complete, cut.verdict), (false, Verdict::Open));
    }
}
