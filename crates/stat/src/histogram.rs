//! The latency histogram: 64 buckets a power of two, nanoseconds, exact below 128 ns.

use crate::buckets::{LATENCY_BOUNDS, LatencyBuckets};

/// Bits of a value that choose the bucket within its power of two.
pub const SUB_BITS: u32 = 6;
/// Buckets a power of two.
pub const SUBS: usize = 1 << SUB_BITS;
/// Powers of two that are told apart.
pub const GROUPS: usize = 29;
/// Buckets in all.
pub const BUCKETS: usize = SUBS * GROUPS;

/// Which bucket a value falls in. What is too long for the last bucket is counted there.
#[inline]
pub fn bucket_of(ns: u64) -> usize {
    unclamped(ns).min(BUCKETS - 1)
}

/// The same without an end.
#[inline]
fn unclamped(ns: u64) -> usize {
    // Bits dropped at the low end: none below 128 ns, then one more each power of two.
    let lost = (ns | (2 * SUBS as u64 - 1)).ilog2() - SUB_BITS;
    ((lost as usize) << SUB_BITS) + (ns >> lost) as usize
}

/// The value that stands for a bucket in percentiles and bins: its middle, rounded up, where it is
/// wider than one nanosecond.
pub fn value_of(bucket: usize) -> u64 {
    if bucket < 2 * SUBS {
        return bucket as u64;
    }
    start_of(bucket) + (1 << ((bucket >> SUB_BITS) - 2))
}

/// The smallest value of a bucket.
fn start_of(bucket: usize) -> u64 {
    let lost = (bucket >> SUB_BITS).saturating_sub(1);
    ((bucket - (lost << SUB_BITS)) as u64) << lost
}

/// Whether a bound of the coarse latency buckets runs through a bucket: one bit each.
static SPLIT: [u64; BUCKETS / 64] = split_buckets();

const fn split_buckets() -> [u64; BUCKETS / 64] {
    let mut bits = [0; BUCKETS / 64];
    let mut i = 0;
    while i < LATENCY_BOUNDS.len() {
        let bound = LATENCY_BOUNDS[i];
        let mut lost = 0;
        while bound >> lost >= 2 * SUBS as u64 {
            lost += 1;
        }
        if !bound.is_multiple_of(1 << lost) {
            let bucket = (lost << SUB_BITS) + (bound >> lost) as usize;
            bits[bucket / 64] |= 1 << (bucket % 64);
        }
        i += 1;
    }
    bits
}

#[inline]
fn is_split(bucket: usize) -> bool {
    SPLIT.get(bucket / 64).is_some_and(|bits| bits >> (bucket % 64) & 1 != 0)
}

/// Of the histogram buckets through which a bound of the coarse latency buckets runs: how many
/// values lie at or above that bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Splits([u64; 31]);

impl Splits {
    #[cold]
    #[inline(never)]
    fn record(&mut self, ns: u64, n: u64) {
        // The nearest bound at or below the value; it counts only where it shares the bucket.
        let below = LATENCY_BOUNDS.partition_point(|bound| *bound <= ns);
        if below > 0 && bucket_of(LATENCY_BOUNDS[below - 1]) == bucket_of(ns) {
            self.0[below - 1] += n;
        }
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Splits) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
    /// The coarse latency buckets of everything that went into a histogram (or several, merged)
    /// together with these splits.
    pub fn coarse(&self, histogram: &Histogram) -> LatencyBuckets {
        let mut coarse = LatencyBuckets::default();
        for (i, n) in histogram.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let start = start_of(i);
            let index = LATENCY_BOUNDS.partition_point(|bound| *bound <= start);
            let above = if is_split(i) { self.0[index] } else { 0 };
            coarse.0[index] += n - above;
            if above > 0 {
                coarse.0[index + 1] += above;
            }
        }
        coarse
    }
}

/// Counts per bucket. The memory (14.5 KiB) is taken at the first value, so a histogram that is
/// never used costs three words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
}

impl Histogram {
    /// An empty histogram; no memory yet.
    pub const fn new() -> Self {
        Histogram { buckets: Vec::new() }
    }
    /// Takes the memory now, so that no value recorded later has to.
    pub fn reserve(&mut self) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
        }
    }
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, ns: u64) {
        self.record_n(ns, 1);
    }
    #[inline]
    fn record_bucket(&mut self, bucket: usize, n: u64) {
        // The bounds check is also the test for memory not taken yet and for what is beyond the
        // last bucket: no other is needed.
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += n,
            None => self.record_outside(bucket, n),
        }
    }
    /// Counts one value `n` times and, where a bound of the coarse latency buckets runs through its bucket,
    /// on which side of it the value lies: with that the coarse buckets follow exactly (see
    /// [`Splits::coarse`]), and nothing else is counted for them.
    #[inline]
    pub fn record_splitting(&mut self, ns: u64, n: u64, splits: &mut Splits) {
        let bucket = unclamped(ns);
        self.record_bucket(bucket, n);
        if is_split(bucket) {
            splits.record(ns, n);
        }
    }
    /// Counts one value `n` times.
    #[inline]
    pub fn record_n(&mut self, ns: u64, n: u64) {
        self.record_bucket(unclamped(ns), n);
    }
    #[cold]
    #[inline(never)]
    fn record_outside(&mut self, bucket: usize, n: u64) {
        self.reserve();
        self.buckets[bucket.min(BUCKETS - 1)] += n;
    }
    /// Adds another's counts. Exact.
    pub fn merge(&mut self, other: &Histogram) {
        if other.buckets.is_empty() {
            return;
        }
        self.reserve();
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
    }
    /// Forgets every value and keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
    }
    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
    /// The counts by bucket index; empty when nothing was ever recorded.
    pub fn counts(&self) -> &[u64] {
        &self.buckets
    }
    /// `(value, count)` of every bucket that is not empty, ascending.
    pub fn bins(&self) -> Vec<(u64, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.map(|(i, n)| (value_of(i), *n)).collect()
    }
    /// The values at the given percentages (ascending), each the value of the first bucket at which
    /// the running count reaches that share of all. Empty when nothing was recorded.
    pub fn percentiles(&self, list: &[f64]) -> Vec<(f64, u64)> {
        let total = self.count();
        let mut found = Vec::with_capacity(list.len());
        if total == 0 {
            return found;
        }
        let mut wanted = list.iter().copied().peekable();
        let mut seen = 0u64;
        let mut last = 0;
        for (i, n) in self.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            seen += n;
            last = i;
            while let Some(p) = wanted.next_if(|p| seen as f64 >= p / 100.0 * total as f64) {
                found.push((p, value_of(i)));
            }
        }
        // Only a rounding error or a percentage above 100 is left over here.
        found.extend(wanted.map(|p| (p, value_of(last))));
        found
    }
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
