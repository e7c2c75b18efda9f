//! The buckets of histograms in metrics.
//!
//! fiord's histogram ([`fiord_stat::histogram`]) has 64 buckets of equal width for each power of two. Each of its buckets
//! is counted as its middle, so a latency is at most 0.8 % from where it was.

use fiord_stat::histogram::Histogram;

/// Bounds of the classic buckets as text, and ns. Steps 1-2-5, from 1 µs to 10 s.
pub(super) const CLASSIC: [(&str, u64); 22] = [
    ("1e-06", 1_000),
    ("2e-06", 2_000),
    ("5e-06", 5_000),
    ("1e-05", 10_000),
    ("2e-05", 20_000),
    ("5e-05", 50_000),
    ("0.0001", 100_000),
    ("0.0002", 200_000),
    ("0.0005", 500_000),
    ("0.001", 1_000_000),
    ("0.002", 2_000_000),
    ("0.005", 5_000_000),
    ("0.01", 10_000_000),
    ("0.02", 20_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.2", 200_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
    ("2", 2_000_000_000),
    ("5", 5_000_000_000),
    ("10", 10_000_000_000),
];

/// How many values are at or below each bound of [`CLASSIC`].
pub(super) fn classic(histogram: &Histogram) -> [u64; CLASSIC.len()] {
    let mut counts = [0u64; CLASSIC.len()];
    for (latency, n) in histogram.bins() {
        let at = CLASSIC.partition_point(|(_, bound)| *bound < latency.0);
        if let Some(count) = counts.get_mut(at) {
            *count = count.saturating_add(n);
        }
    }
    for at in 1..counts.len() {
        counts[at] = counts[at].saturating_add(counts[at - 1]);
    }
    counts
}

/// The resolution of native histograms: 2^5 buckets for each power of two, each 2.2 % wider than the one before. A finer
/// one would have empty buckets where fiord's own are wider.
pub(super) const SCHEMA: i32 = 5;

/// The values of a histogram in the buckets of a native histogram.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct NativeBuckets {
    zeros: u64,
    /// Index and count of each bucket that is not empty, ascending. Bucket `i` has the values above 2^((i-1)/32) s, up to
    /// 2^(i/32) s.
    pub(super) positive: Vec<(i32, u64)>,
}

impl NativeBuckets {
    /// How many values are 0.
    pub(super) fn zeros(&self) -> u64 {
        self.zeros
    }
}

pub(super) fn native(histogram: &Histogram) -> NativeBuckets {
    let mut buckets = NativeBuckets::default();
    let per_power = f64::from(1u32 << SCHEMA);
    for (latency, n) in histogram.bins() {
        if latency.0 == 0 {
            buckets.zeros = buckets.zeros.saturating_add(n);
            continue;
        }
        let index = (latency.as_secs_f64().log2() * per_power).ceil() as i32;
        match buckets.positive.last_mut() {
            Some((last, count)) if *last == index => *count = count.saturating_add(n),
            _ => buckets.positive.push((index, n)),
        }
    }
    buckets
}
