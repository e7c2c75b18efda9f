//! Intervals within one run: a block bootstrap over its time windows.
//!
//! Neighbouring windows are alike, because a device is in some state for a while. Drawing single windows would ignore
//! that and give intervals that are too narrow, so whole blocks of neighbours are drawn, with random lengths (the stationary
//! bootstrap: Politis and Romano, "The Stationary Bootstrap", 1994). The histograms of the windows that were drawn are
//! merged, so that percentiles get intervals, too.

use std::collections::BTreeMap;

use fiord_stat::samples::SampleLatencies;
use fiord_types::Nanos;

use crate::metric::CompareMetric;

/// Minimum number of windows that are resampled.
pub const MIN_WINDOWS: usize = 16;

/// How often a run is resampled.
pub const REPEATS: usize = 1000;

/// What one direction of a job did in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedWindow {
    /// I/Os completed.
    pub ios: f64,
    /// Bytes moved.
    pub bytes: f64,
    /// Length, seconds.
    pub seconds: f64,
    /// Latencies of the I/Os.
    pub latencies: SampleLatencies,
}

/// A generator of random numbers: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014). Comparisons use fixed seeds, so that the same files always give the same verdict.
#[derive(Debug, Clone)]
pub struct SplitMix(u64);

impl SplitMix {
    /// A generator that starts at a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SplitMix(seed)
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to below 1.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `end`.
    pub fn below(&mut self, end: usize) -> usize {
        ((self.unit() * end as f64) as usize).min(end.saturating_sub(1))
    }

    /// A number from the standard normal distribution (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (2.0 * std::f64::consts::PI * self.unit()).cos()
    }
}

/// The windows of a run, arranged for merging any selection of them.
#[derive(Debug)]
pub struct Resampler {
    windows: Vec<ComparedWindow>,
    /// Middle of each bucket that some window uses, ns, ascending.
    middles: Vec<f64>,
    bounds: Vec<(f64, f64)>,
    /// For each window: buckets in use, as indexes of `middles`, and their counts.
    counts: Vec<Vec<(usize, f64)>>,
    /// Mean length of a block, in windows.
    block: f64,
}

/// The sums of selected windows.
#[derive(Debug, Default)]
struct Merged {
    ios: f64,
    bytes: f64,
    seconds: f64,
    counts: Vec<f64>,
}

impl Resampler {
    /// Prepares windows in the order of time. `None` if there are fewer than [`MIN_WINDOWS`].
    #[must_use]
    pub fn new(windows: &[ComparedWindow]) -> Option<Self> {
        if windows.len() < MIN_WINDOWS {
            return None;
        }
        let mut used: BTreeMap<usize, (Nanos, Nanos)> = BTreeMap::new();
        for bucket in windows.iter().flat_map(|window| window.latencies.buckets()) {
            used.insert(bucket.index(), (bucket.from(), bucket.to()));
        }
        let place: BTreeMap<usize, usize> =
            used.keys().enumerate().map(|(at, index)| (*index, at)).collect();
        let list = |window: &ComparedWindow| {
            let buckets = window.latencies.buckets();
            buckets.map(|bucket| (place[&bucket.index()], bucket.count() as f64)).collect()
        };
        let bounds: Vec<(f64, f64)> =
            used.values().map(|(from, to)| (from.as_f64(), to.as_f64())).collect();
        Some(Resampler {
            middles: bounds.iter().map(|(from, to)| (from + to) / 2.0).collect(),
            bounds,
            counts: windows.iter().map(list).collect(),
            block: block_length(windows),
            windows: windows.to_vec(),
        })
    }

    /// Mean length of a block, in windows.
    #[must_use]
    pub fn block(&self) -> f64 {
        self.block
    }

    /// The values of the metrics over the whole run, as the windows show them; NaN where they do not.
    #[must_use]
    pub fn whole(&self, metrics: &[CompareMetric]) -> Vec<f64> {
        self.values(&vec![1; self.windows.len()], metrics)
    }

    /// Draws as many windows as there are, in blocks, and returns the values of the metrics.
    pub fn draw(&self, random: &mut SplitMix, metrics: &[CompareMetric]) -> Vec<f64> {
        let count = self.windows.len();
        let mut times = vec![0u32; count];
        let mut at = random.below(count);
        for _ in 0..count {
            times[at] += 1;
            let ends = random.unit() < 1.0 / self.block;
            at = if ends { random.below(count) } else { (at + 1) % count };
        }
        self.values(&times, metrics)
    }

    fn values(&self, times: &[u32], metrics: &[CompareMetric]) -> Vec<f64> {
        let mut merged = Merged { counts: vec![0.0; self.middles.len()], ..Merged::default() };
        for (i, times) in times.iter().enumerate().filter(|(_, times)| **times > 0) {
            let (window, times) = (&self.windows[i], f64::from(*times));
            merged.ios += times * window.ios;
            merged.bytes += times * window.bytes;
            merged.seconds += times * window.seconds;
            self.counts[i].iter().for_each(|(at, count)| merged.counts[*at] += times * count);
        }
        metrics.iter().map(|metric| self.value(&merged, *metric)).collect()
    }

    fn value(&self, merged: &Merged, metric: CompareMetric) -> f64 {
        let total: f64 = merged.counts.iter().sum();
        match metric {
            CompareMetric::Iops => merged.ios / merged.seconds,
            CompareMetric::Bandwidth => merged.bytes / merged.seconds,
            CompareMetric::Mean => {
                let sum: f64 = merged.counts.iter().zip(&self.middles).map(|(n, ns)| n * ns).sum();
                sum / total
            }
            CompareMetric::Percentile(percent) => {
                let wanted = percent.share() * total;
                let mut seen = 0.0;
                for (count, (from, to)) in merged.counts.iter().zip(&self.bounds) {
                    if *count > 0.0 && seen + count >= wanted {
                        return from + (wanted - seen) / count * (to - from);
                    }
                    seen += count;
                }
                f64::NAN
            }
        }
    }
}

/// The mean length of a block: at least the cube root of the number of windows, which is the order of the best length
/// (Politis and Romano, section 3), and at least twice the time over which windows are correlated.
fn block_length(windows: &[ComparedWindow]) -> f64 {
    let rate = |window: &ComparedWindow| window.ios / window.seconds.max(1e-9);
    let rates: Vec<f64> = windows.iter().map(rate).collect();
    let n = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / n;
    let product = |lag: usize| {
        let pairs = rates.iter().zip(&rates[lag..]);
        pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / n
    };
    let variance = product(0);
    let mut correlated = 1.0;
    if variance > 0.0 {
        // Beyond the first lag without a significant correlation there is only noise.
        for lag in 1..rates.len() / 4 {
            let correlation = product(lag) / variance;
            if correlation < 2.0 / n.sqrt() {
                break;
            }
            correlated += 2.0 * correlation;
        }
    }
    n.cbrt().max(2.0 * correlated).clamp(1.0, n / 4.0)
}
