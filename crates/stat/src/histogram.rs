//! The latency histogram, in nanoseconds: 64 buckets for each power of two, exact below 128 ns. fio's ends at 17 s, and this
//! one continues in the same way to six days.

use fiord_formats::block::{self, BlockError};
use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::buckets::{LATENCY_BOUNDS, LatencyBuckets};

/// Bits of a value that choose the bucket within its power of two.
pub const SUB_BITS: u32 = 6;
/// Buckets for each power of two.
pub const SUBS: usize = 1 << SUB_BITS;
/// Groups of `SUBS` buckets.
pub const GROUPS: usize = 44;
/// Buckets of fio's histogram: the first ones.
const FIO_BUCKETS: usize = SUBS * 29;
/// Buckets of latencies below 16.8 ms (2^24 ns).
const RESERVED: usize = SUBS * 19;
/// Total number of buckets.
pub const BUCKETS: usize = SUBS * GROUPS;

/// The bucket of a value. Values beyond the last bucket belong to the last bucket.
#[inline]
#[must_use]
pub fn bucket_of(ns: u64) -> usize {
    unclamped(ns).min(BUCKETS - 1)
}

/// The bucket of a value as if there were no last bucket.
#[inline]
fn unclamped(ns: u64) -> usize {
    // Low bits that are dropped: none below 128 ns, then one more for each power of two.
    let lost = (ns | (2 * SUBS as u64 - 1)).ilog2() - SUB_BITS;
    ((lost as usize) << SUB_BITS) + (ns >> lost) as usize
}

/// The [`unclamped`] bucket of a value that is too large for a bucket of its own.
#[inline]
fn shared_bucket(ns: u64) -> usize {
    let lost = ns.ilog2() - SUB_BITS;
    ((lost as usize) << SUB_BITS) + (ns >> lost) as usize
}

/// The value that represents a bucket in percentiles and bins: its middle, rounded up.
#[must_use]
pub fn value_of(bucket: usize) -> u64 {
    if bucket < 2 * SUBS {
        return bucket as u64;
    }
    start_of(bucket) + (1 << ((bucket >> SUB_BITS) - 2))
}

/// The smallest value of a bucket.
pub(crate) fn start_of(bucket: usize) -> u64 {
    let lost = (bucket >> SUB_BITS).saturating_sub(1);
    ((bucket - (lost << SUB_BITS)) as u64) << lost
}

/// One bit for each bucket: set if a bound of the coarse latency buckets lies inside the bucket.
static SPLIT: [u64; SPLIT_WORDS] = split_buckets();

/// A power of two, so that an index needs no check.
const SPLIT_WORDS: usize = GROUPS.next_power_of_two();

const fn split_buckets() -> [u64; SPLIT_WORDS] {
    let mut bits = [0; SPLIT_WORDS];
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

/// Whether a bound of the coarse latency buckets lies inside the bucket.
#[inline]
fn is_split(bucket: usize) -> bool {
    SPLIT[bucket / 64 % SPLIT_WORDS] >> (bucket % 64) & 1 != 0
}

/// For each histogram bucket that contains a bound of the coarse latency buckets: how many of its values are
/// at or above that bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Splits([u64; 31]);

impl Splits {
    #[cold]
    #[inline(never)]
    fn record(&mut self, ns: u64, n: u64) {
        // The nearest bound at or below the value counts only if it is in the same bucket.
        let below = LATENCY_BOUNDS.partition_point(|bound| *bound <= ns);
        if below > 0 && bucket_of(LATENCY_BOUNDS[below - 1]) == bucket_of(ns) {
            self.0[below - 1] += n;
        }
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Splits) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine = mine.saturating_add(theirs);
        }
    }
    /// Computes the coarse latency buckets from a histogram whose values were recorded together with these
    /// splits. Works for merged histograms too.
    #[must_use]
    pub fn coarse(&self, histogram: &Histogram) -> LatencyBuckets {
        let mut coarse = LatencyBuckets::default();
        for (i, n) in histogram.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            let start = start_of(i);
            let index = LATENCY_BOUNDS.partition_point(|bound| *bound <= start);
            let above = if is_split(i) { self.0[index].min(*n) } else { 0 };
            coarse.0[index] = coarse.0[index].saturating_add(n - above);
            if above > 0 {
                coarse.0[index + 1] = coarse.0[index + 1].saturating_add(above);
            }
        }
        coarse
    }
}

/// A histogram of latencies. An unused one needs only three words: it allocates memory at the first value (10 KiB) and at the
/// first one above 16 ms (22 KiB). A copy holds only the buckets up to the last value, because a run with thousands of jobs keeps
/// their histograms until its end. A histogram is serialized as the text of a block of counts ([`fiord_formats::block`]).
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Histogram {
    /// All buckets, or those up to the last value.
    buckets: Vec<u64>,
}

impl Clone for Histogram {
    fn clone(&self) -> Self {
        Histogram { buckets: self.used().to_vec() }
    }
}

impl Histogram {
    /// An empty histogram without allocated memory.
    #[must_use]
    pub const fn new() -> Self {
        Histogram { buckets: Vec::new() }
    }
    /// Allocates the memory of latencies below 16 ms now, so that only a longer one allocates memory, once.
    pub fn reserve(&mut self) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; RESERVED];
        }
    }
    /// Frees the memory of the buckets after the last value.
    pub fn shrink(&mut self) {
        self.buckets.truncate(self.used().len());
        self.buckets.shrink_to_fit();
    }
    /// The buckets up to the last one that is not empty.
    fn used(&self) -> &[u64] {
        let last = self.buckets.iter().rposition(|n| *n > 0);
        &self.buckets[..last.map_or(0, |last| last + 1)]
    }
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.record_n(latency, 1);
    }
    #[inline]
    fn record_bucket(&mut self, bucket: usize, n: u64) {
        // The bounds check also detects unallocated memory and values beyond the last bucket.
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += n,
            None => self.record_outside(bucket, n),
        }
    }
    /// Counts one value `n` times. If its bucket contains a bound of the coarse latency buckets, also records on
    /// which side of it the value lies. So [`Splits::coarse`] can compute the coarse buckets exactly, without
    /// counting them separately.
    #[inline]
    pub fn record_splitting(&mut self, latency: Nanos, n: u64, splits: &mut Splits) {
        if latency.0 < 2 * SUBS as u64 {
            // The value has a bucket of its own. The fastest I/Os do not wait for what follows.
            return self.record_bucket(latency.0 as usize, n);
        }
        let bucket = shared_bucket(latency.0);
        self.record_bucket(bucket, n);
        if is_split(bucket) {
            splits.record(latency.0, n);
        }
    }
    /// Counts one value `n` times.
    #[inline]
    pub fn record_n(&mut self, latency: Nanos, n: u64) {
        self.record_bucket(unclamped(latency.0), n);
    }
    #[cold]
    #[inline(never)]
    fn record_outside(&mut self, bucket: usize, n: u64) {
        let least = if bucket < RESERVED { RESERVED } else { BUCKETS };
        self.buckets.resize(least, 0);
        self.buckets[bucket.min(BUCKETS - 1)] += n;
    }
    /// Adds the counts of another histogram. The result is exact.
    pub fn merge(&mut self, other: &Histogram) {
        let theirs = other.used();
        if self.buckets.len() < theirs.len() {
            self.buckets.resize(theirs.len(), 0);
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(theirs) {
            *mine = mine.saturating_add(*theirs);
        }
    }
    /// The values recorded since `earlier`, an earlier state of this histogram. If the counts were cleared in
    /// between, all values.
    #[must_use]
    pub fn since(&self, earlier: &Histogram) -> Histogram {
        let (now, then) = (self.used(), earlier.used());
        let before = then.iter().copied().chain(std::iter::repeat(0));
        let difference: Option<Vec<u64>> =
            now.iter().zip(before).map(|(now, then)| now.checked_sub(then)).collect();
        match difference {
            Some(buckets) if then.len() <= now.len() => Histogram { buckets },
            _ => self.clone(),
        }
    }
    /// Clears all counts; keeps the memory.
    pub fn clear(&mut self) {
        self.buckets.fill(0);
    }
    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().fold(0, |sum, n| sum.saturating_add(*n))
    }
    /// Whether no value was recorded.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets.iter().all(|n| *n == 0)
    }
    /// The counts by bucket index, up to the last value.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        self.used()
    }
    /// Latency and count of every non-empty bucket, ascending.
    #[must_use]
    pub fn bins(&self) -> Vec<(Nanos, u64)> {
        let filled = self.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
        filled.map(|(i, n)| (Nanos(value_of(i)), *n)).collect()
    }
    /// The bucket of the largest value: its smallest value, and its largest one. `None` if nothing was recorded.
    #[must_use]
    pub fn last_bucket(&self) -> Option<(Nanos, Nanos)> {
        let last = self.used().len().checked_sub(1)?;
        let end = if last + 1 < BUCKETS { start_of(last + 1) - 1 } else { u64::MAX };
        Some((Nanos(start_of(last)), Nanos(end)))
    }
    /// The percentiles of a list of percentages (ascending): for each, the value of the first bucket at which
    /// the cumulative count reaches that share. Empty if nothing was recorded.
    #[must_use]
    pub fn percentiles(&self, list: &[f64]) -> Vec<(f64, Nanos)> {
        let total = self.count();
        let mut found = Vec::with_capacity(list.len());
        if total == 0 {
            return found;
        }
        let mut wanted = list.iter().copied().peekable();
        let mut seen = 0u64;
        let mut last = 0;
        for (i, n) in self.buckets.iter().enumerate().filter(|(_, n)| **n > 0) {
            seen = seen.saturating_add(*n);
            last = i;
            while let Some(p) = wanted.next_if(|p| seen as f64 >= p / 100.0 * total as f64) {
                found.push((p, Nanos(value_of(i))));
            }
        }
        // Only a rounding error or a percentage above 100 leaves percentages here.
        found.extend(wanted.map(|p| (p, Nanos(value_of(last)))));
        found
    }
}

/// Histograms are equal if their counts are, whether or not the memory of an empty one is allocated.
impl PartialEq for Histogram {
    fn eq(&self, other: &Histogram) -> bool {
        self.used() == other.used()
    }
}

impl Eq for Histogram {}

impl From<Histogram> for String {
    fn from(histogram: Histogram) -> String {
        match histogram.is_empty() {
            true => String::new(),
            false => {
                // Longer latencies than fio's are rare. Earlier versions read a text without them.
                let mut written = histogram.used().to_vec();
                written.resize(written.len().max(FIO_BUCKETS), 0);
                block::counts_to_text(&written)
            }
        }
    }
}

impl TryFrom<String> for Histogram {
    type Error = BlockError;
    fn try_from(text: String) -> Result<Histogram, BlockError> {
        if text.is_empty() {
            return Ok(Histogram::new());
        }
        Ok(Histogram { buckets: block::counts_from_text(&text, BUCKETS)? })
    }
}

#[cfg(test)]
#[path = "histogram_tests.rs"]
mod tests;
