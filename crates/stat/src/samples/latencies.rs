//! The latencies of one window: a histogram with 16 buckets for each power of two, in little space.
//!
//! A bucket consists of four buckets of [`crate::histogram`], so it is at most 1/16 as wide as its values are large. Only
//! buckets in use take space: about three bytes each.

use fiord_formats::varint;
use fiord_types::Nanos;

use crate::histogram::{BUCKETS, Histogram, bucket_of, start_of};

/// Buckets of [`Histogram`] in one bucket of a sample.
const MERGED: usize = 4;
pub const SAMPLE_BUCKETS: usize = BUCKETS / MERGED;

/// The latencies of one window.
///
/// ```
/// use fiord_stat::samples::SampleLatencies;
/// use fiord_types::Nanos;
///
/// let latencies = SampleLatencies::of_values((1..=100).map(|us| Nanos(us * 1000)));
/// let median = latencies.percentile(50.0).unwrap().as_f64();
/// assert!((median - 50_000.0).abs() < 2000.0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SampleLatencies {
    /// For each bucket in use: the unused ones before it, its count; as [varints](varint).
    packed: Box<[u8]>,
}

/// A bucket in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleBucket {
    at: usize,
    count: u64,
}

impl SampleBucket {
    /// Number of the bucket, below [`SAMPLE_BUCKETS`].
    #[must_use]
    pub fn index(self) -> usize {
        self.at
    }
    /// The smallest latency that belongs to it.
    #[must_use]
    pub fn from(self) -> Nanos {
        Nanos(start_of(self.at * MERGED))
    }
    /// The smallest latency above it.
    #[must_use]
    pub fn to(self) -> Nanos {
        Nanos(start_of((self.at + 1) * MERGED))
    }
    /// How many latencies it counts, never 0.
    #[must_use]
    pub fn count(self) -> u64 {
        self.count
    }
    /// Sum of the latencies in ns, if each one is the middle of the bucket.
    pub(super) fn sum(self) -> f64 {
        (self.from().as_f64() + self.to().as_f64()) / 2.0 * self.count as f64
    }
}

impl SampleLatencies {
    /// The latencies with these counts, by bucket. Counts beyond the last bucket are ignored.
    #[must_use]
    pub fn of_counts(counts: &[u64]) -> Self {
        let buckets = counts.iter().enumerate().take(SAMPLE_BUCKETS);
        Self::of_buckets(buckets.map(|(at, &count)| SampleBucket { at, count }))
    }

    #[must_use]
    pub fn of_histogram(histogram: &Histogram) -> Self {
        let sums: Vec<u64> = coarse(histogram).collect();
        Self::of_counts(&sums)
    }

    /// The latencies in a list.
    #[must_use]
    pub fn of_values(values: impl IntoIterator<Item = Nanos>) -> Self {
        let mut counts = vec![0; SAMPLE_BUCKETS];
        values.into_iter().for_each(|ns| counts[bucket_of(ns.0) / MERGED] += 1);
        Self::of_counts(&counts)
    }

    /// `buckets`: ascending.
    fn of_buckets(buckets: impl Iterator<Item = SampleBucket>) -> Self {
        let mut packed = Vec::new();
        let mut next = 0;
        for bucket in buckets.filter(|bucket| bucket.count > 0) {
            varint::put((bucket.at - next) as u64, &mut packed);
            varint::put(bucket.count, &mut packed);
            next = bucket.at + 1;
        }
        SampleLatencies { packed: packed.into_boxed_slice() }
    }

    /// Whether it counts nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packed.is_empty()
    }

    /// Number of latencies.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets().fold(0, |sum, bucket| sum.saturating_add(bucket.count))
    }

    /// The buckets in use, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = SampleBucket> + '_ {
        let mut rest: &[u8] = &self.packed;
        let mut next = 0;
        std::iter::from_fn(move || {
            let gap = varint::take(&mut rest).ok()?;
            let count = varint::take(&mut rest).ok()?;
            let at = next + gap as usize;
            next = at + 1;
            Some(SampleBucket { at, count })
        })
    }

    /// Adds other latencies. The result is exact.
    pub fn merge(&mut self, other: &SampleLatencies) {
        if other.is_empty() {
            return;
        }
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut counts = vec![0u64; SAMPLE_BUCKETS];
        for bucket in self.buckets().chain(other.buckets()) {
            counts[bucket.at] = counts[bucket.at].saturating_add(bucket.count);
        }
        *self = Self::of_counts(&counts);
    }

    /// A percentile: the latency that `percent` per cent of the I/Os do not exceed, interpolated within its bucket.
    /// `None` without latencies.
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<Nanos> {
        let wanted = (percent / 100.0).clamp(0.0, 1.0) * self.count() as f64;
        let mut seen = 0.0;
        let mut value = None;
        for bucket in self.buckets() {
            let (count, from) = (bucket.count as f64, bucket.from().as_f64());
            let share = ((wanted - seen) / count).clamp(0.0, 1.0);
            value = Some(Nanos((from + share * (bucket.to().as_f64() - from)) as u64));
            seen += count;
            if seen >= wanted {
                break;
            }
        }
        value
    }

    /// Bytes that the latencies take in a block.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        varint::put(self.buckets().count() as u64, out);
        out.extend_from_slice(&self.packed);
    }

    /// Reads what [`SampleLatencies::put`] wrote. `None` if it is not that.
    pub(super) fn take(bytes: &mut &[u8]) -> Option<Self> {
        let mut list = Vec::new();
        let mut next = 0usize;
        for _ in 0..varint::take(bytes).ok()? {
            let gap = usize::try_from(varint::take(bytes).ok()?).ok()?;
            let count = varint::take(bytes).ok().filter(|count| *count > 0)?;
            let at = next.checked_add(gap).filter(|at| *at < SAMPLE_BUCKETS)?;
            list.push(SampleBucket { at, count });
            next = at + 1;
        }
        Some(Self::of_buckets(list.into_iter()))
    }
}

/// The counts of a histogram in the buckets of samples; empty if nothing was ever recorded.
pub(super) fn coarse(histogram: &Histogram) -> impl Iterator<Item = u64> + '_ {
    histogram.counts().chunks(MERGED).map(|four| four.iter().sum())
}
