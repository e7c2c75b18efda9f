//! The latency histogram: 64 buckets a power of two, nanoseconds, exact below 128 ns.

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
    // Bits dropped at the low end: none below 128 ns, then one more each power of two.
    let lost = (ns | (2 * SUBS as u64 - 1)).ilog2() - SUB_BITS;
    let index = (u64::from(lost) << SUB_BITS) + (ns >> lost);
    index.min(BUCKETS as u64 - 1) as usize
}

/// The value that stands for a bucket in percentiles and bins: its middle, rounded up, where it is
/// wider than one nanosecond.
pub fn value_of(bucket: usize) -> u64 {
    if bucket < 2 * SUBS {
        return bucket as u64;
    }
    let lost = (bucket >> SUB_BITS) - 1;
    let start = ((bucket - (lost << SUB_BITS)) as u64) << lost;
    start + (1 << (lost - 1))
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
        let bucket = bucket_of(ns);
        // The bounds check is also the test for memory not taken yet: no second one is needed.
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.record_first(bucket, 1),
        }
    }
    /// Counts one value `n` times.
    #[inline]
    pub fn record_n(&mut self, ns: u64, n: u64) {
        let bucket = bucket_of(ns);
        match self.buckets.get_mut(bucket) {
            Some(count) => *count += n,
            None => self.record_first(bucket, n),
        }
    }
    #[cold]
    #[inline(never)]
    fn record_first(&mut self, bucket: usize, n: u64) {
        self.reserve();
        self.buckets[bucket] += n;
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
