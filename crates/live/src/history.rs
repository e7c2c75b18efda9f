//! What a job, a host or the whole run did in the last intervals, in little memory.

use std::borrow::Cow;
use std::collections::VecDeque;

use fiord_stat::histogram::{GROUPS, Histogram, SUBS};
use fiord_stat::progress::{IntervalLatency, PROGRESS_PERCENTILES};
use fiord_stat::samples::SampleLatencies;
use fiord_stat::samples::latencies::SAMPLE_BUCKETS;
use fiord_types::{Bytes, Dir, Nanos, PerDir};

/// Ranges of latencies of the heat strip: one for each power of two from 64 ns on. The first one begins at 0.
pub const BANDS: usize = GROUPS;

/// Levels of the heat strip: 0 for no I/O, then shares of the interval's I/Os of less than 0.1 %, 1 %, 10 % and 40 %, and
/// more.
pub const LEVELS: usize = 6;

const SHARES: [f64; LEVELS - 2] = [0.001, 0.01, 0.1, 0.4];

/// Maximum number of intervals that all jobs together keep, which bounds the memory (some 15 MB).
const MAX_TICKS: usize = 200_000;

/// What happened in one interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IntervalSample {
    /// Bytes per second.
    pub bw: PerDir<Bytes>,
    /// I/Os per second.
    pub iops: PerDir<u64>,
    /// Latencies of the I/Os that completed.
    pub latency: PerDir<IntervalLatency>,
}

/// What several jobs or hosts did in one interval.
#[derive(Debug, Clone, Default)]
pub struct SampleSum {
    bw: PerDir<Bytes>,
    iops: PerDir<u64>,
    latency: PerDir<Histogram>,
}

impl SampleSum {
    /// Adds the rates and latencies of a job or host.
    pub fn add(&mut self, other: &IntervalSample) {
        self.add_latency(other);
        for dir in Dir::ALL {
            self.bw[dir] = self.bw[dir].saturating_add(other.bw[dir]);
            self.iops[dir] = self.iops[dir].saturating_add(other.iops[dir]);
        }
    }

    /// Adds only the latencies of a job.
    pub fn add_latency(&mut self, other: &IntervalSample) {
        for dir in Dir::ALL {
            self.latency[dir].merge(&other.latency[dir].histogram);
        }
    }

    pub fn set_rates(&mut self, bw: PerDir<Bytes>, iops: PerDir<u64>) {
        (self.bw, self.iops) = (bw, iops);
    }

    #[must_use]
    pub fn sample(self) -> IntervalSample {
        let latency = self.latency.map(IntervalLatency::of);
        IntervalSample { bw: self.bw, iops: self.iops, latency }
    }
}

/// Latencies at each of [`PROGRESS_PERCENTILES`].
pub type LivePercentiles = [Nanos; PROGRESS_PERCENTILES.len()];

/// One interval, as the view keeps it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveTick {
    /// Bytes per second, by direction.
    pub bw: [f32; 3],
    /// I/Os per second, by direction.
    pub iops: [f32; 3],
    /// Level of each band of latencies, below [`LEVELS`].
    pub heat: [u8; BANDS],
}

impl LiveTick {
    fn of(sample: &IntervalSample, heat: [u8; BANDS]) -> Self {
        LiveTick {
            bw: sample.bw.map(|bytes| bytes.0 as f32).into_array(),
            iops: sample.iops.map(|ios| ios as f32).into_array(),
            heat,
        }
    }

    /// I/Os per second in all directions.
    #[must_use]
    pub fn all_iops(&self) -> f32 {
        self.iops.iter().sum()
    }

    /// Bytes per second in all directions.
    #[must_use]
    pub fn all_bw(&self) -> f32 {
        self.bw.iter().sum()
    }
}

/// The level of each band.
fn heat(latencies: &IntervalLatency) -> [u8; BANDS] {
    let mut levels = [0; BANDS];
    for (band, counts) in levels.iter_mut().zip(latencies.histogram.counts().chunks(SUBS)) {
        *band = level(counts.iter().sum(), latencies.n);
    }
    levels
}

/// The smallest latency of a band.
#[must_use]
pub fn band_start(band: usize) -> Nanos {
    match band {
        0 => Nanos::ZERO,
        _ => Nanos((SUBS as u64) << (band - 1).min(57)),
    }
}

/// What happened in one window of a finished run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReplayWindow {
    /// Bytes per second.
    pub bw: PerDir<f64>,
    /// I/Os per second.
    pub iops: PerDir<f64>,
    /// Latencies of the I/Os that completed.
    pub latencies: PerDir<SampleLatencies>,
}

impl ReplayWindow {
    fn all_latencies(&self) -> Cow<'_, SampleLatencies> {
        let mut used = self.latencies.values().filter(|latencies| !latencies.is_empty());
        match (used.next(), used.next()) {
            (first, None) => first.map(Cow::Borrowed).unwrap_or_default(),
            (_, Some(_)) => {
                let mut all = SampleLatencies::default();
                self.latencies.values().for_each(|latencies| all.merge(latencies));
                Cow::Owned(all)
            }
        }
    }

    fn tick(&self) -> LiveTick {
        let mut bands = [0u64; BANDS];
        for bucket in self.latencies.values().flat_map(SampleLatencies::buckets) {
            let band = bucket.index() * BANDS / SAMPLE_BUCKETS;
            bands[band] = bands[band].saturating_add(bucket.count());
        }
        let total = bands.iter().fold(0u64, |sum, count| sum.saturating_add(*count));
        LiveTick {
            bw: self.bw.map(|rate| rate as f32).into_array(),
            iops: self.iops.map(|rate| rate as f32).into_array(),
            heat: bands.map(|count| level(count, total)),
        }
    }
}

/// The level of a band with `count` of `total` I/Os.
fn level(count: u64, total: u64) -> u8 {
    if count == 0 {
        return 0;
    }
    let share = count as f64 / total.max(1) as f64;
    1 + SHARES.iter().filter(|limit| share >= **limit).count() as u8
}

fn sampled_percentiles(latencies: &SampleLatencies) -> Option<LivePercentiles> {
    let mut values = [Nanos::ZERO; PROGRESS_PERCENTILES.len()];
    for (value, percentage) in values.iter_mut().zip(PROGRESS_PERCENTILES) {
        *value = latencies.percentile(percentage)?;
    }
    Some(values)
}

/// The last intervals of something, and its latencies in the last one.
#[derive(Debug, Clone, Default)]
pub struct LiveHistory {
    ticks: VecDeque<LiveTick>,
    most: usize,
    by_dir: PerDir<Option<LivePercentiles>>,
    all: Option<LivePercentiles>,
}

impl LiveHistory {
    /// An empty history of one of `parts` jobs or hosts.
    #[must_use]
    pub fn one_of(parts: usize) -> Self {
        let most = (MAX_TICKS / parts.max(1)).clamp(32, 512);
        LiveHistory { most, ..LiveHistory::default() }
    }

    /// How many intervals it keeps.
    #[must_use]
    pub fn most(&self) -> usize {
        self.most.max(1)
    }

    /// Adds an interval. The oldest one is forgotten if there is no room.
    pub fn push(&mut self, sample: &IntervalSample) {
        let mut used = sample.latency.values().filter(|latency| latency.n > 0);
        // Most jobs have I/O in one direction, so there is nothing to merge.
        let merged = match (used.next(), used.next()) {
            (first, None) => first.map(Cow::Borrowed).unwrap_or_default(),
            (_, Some(_)) => {
                let mut all = Histogram::new();
                sample.latency.values().for_each(|latency| all.merge(&latency.histogram));
                Cow::Owned(IntervalLatency::of(all))
            }
        };
        self.push_tick(LiveTick::of(sample, heat(&merged)));
        self.by_dir = PerDir::from_fn(|dir| percentiles(&sample.latency[dir]));
        self.all = percentiles(&merged);
    }

    /// Adds an interval without setting its percentiles.
    fn push_tick(&mut self, tick: LiveTick) {
        while self.ticks.len() >= self.most() {
            self.ticks.pop_front();
        }
        self.ticks.push_back(tick);
    }

    /// Adds a window of a finished run.
    pub fn push_window(&mut self, window: &ReplayWindow) {
        self.push_tick(window.tick());
        self.by_dir = PerDir::from_fn(|dir| sampled_percentiles(&window.latencies[dir]));
        self.all = sampled_percentiles(&window.all_latencies());
    }

    /// Forgets all intervals.
    pub fn clear(&mut self) {
        *self = LiveHistory { most: self.most, ..LiveHistory::default() };
    }

    /// The last `most` intervals, the oldest first.
    #[must_use]
    pub fn last(&self, most: usize) -> impl ExactSizeIterator<Item = &LiveTick> + Clone {
        self.ticks.iter().skip(self.ticks.len().saturating_sub(most))
    }

    /// The last interval.
    #[must_use]
    pub fn latest(&self) -> Option<&LiveTick> {
        self.ticks.back()
    }

    /// The latencies of a direction in the last interval; `None` without I/Os.
    #[must_use]
    pub fn percentiles(&self, dir: Dir) -> Option<&LivePercentiles> {
        self.by_dir[dir].as_ref()
    }

    /// The latencies of all directions in the last interval; `None` without I/Os.
    #[must_use]
    pub fn all_percentiles(&self) -> Option<&LivePercentiles> {
        self.all.as_ref()
    }

    /// Whether a direction had I/O in an interval that is kept.
    #[must_use]
    pub fn uses(&self, dir: Dir) -> bool {
        let index = Dir::ALL.iter().position(|other| *other == dir).unwrap_or(0);
        self.ticks.iter().any(|tick| tick.iops[index] > 0.0 || tick.bw[index] > 0.0)
    }
}

fn percentiles(latencies: &IntervalLatency) -> Option<LivePercentiles> {
    let values: Vec<Nanos> = latencies.percentiles.iter().map(|(_, value)| *value).collect();
    values.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thousand I/Os of which one is slow.
    fn sample(slow: Nanos) -> IntervalSample {
        let mut latency = Histogram::new();
        latency.record_n(Nanos::from_micros(100), 999);
        latency.record(slow);
        IntervalSample {
            bw: PerDir::new(4_096_000, 0, 0).map(Bytes),
            iops: PerDir::new(1000, 0, 0),
            latency: PerDir::new(latency, Histogram::new(), Histogram::new())
                .map(IntervalLatency::of),
        }
    }

    #[test]
    fn a_history_keeps_levels_and_percentiles() {
        let mut history = LiveHistory::one_of(1);
        history.push(&sample(Nanos::from_millis(10)));
        let tick = history.latest().unwrap();
        let hot: Vec<(Nanos, u8)> = (0..BANDS)
            .filter(|band| tick.heat[*band] > 0)
            .map(|band| (band_start(band), tick.heat[band]))
            .collect();
        assert_eq!(hot, [(Nanos(65_536), 5), (Nanos(8_388_608), 2)]);
        let [p50, p90, p99, _, max] = history.all_percentiles().unwrap();
        assert_eq!(p50, p90);
        assert_eq!(p50, p99);
        assert!(max.as_millis() == 9 || max.as_millis() == 10, "{max:?}");
        assert!(history.uses(Dir::Read) && !history.uses(Dir::Write));
        assert_eq!(history.percentiles(Dir::Write), None);
    }

    #[test]
    fn many_jobs_keep_fewer_intervals() {
        let kept = |parts| {
            let mut history = LiveHistory::one_of(parts);
            (0..1000).for_each(|_| history.push(&IntervalSample::default()));
            history.last(usize::MAX).len()
        };
        assert_eq!((kept(1), kept(1000), kept(1_000_000)), (512, 200, 32));
    }
}
