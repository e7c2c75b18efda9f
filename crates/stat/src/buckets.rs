//! Coarse distributions: latency buckets, I/O depths, batch sizes.

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

/// Upper bounds (exclusive, ns) of all latency buckets except the last, which has no bound. The first ten
/// buckets are `latency_ns` in the report, the next ten `latency_us`, the rest `latency_ms`.
pub const LATENCY_BOUNDS: [u64; 31] = [
    2,
    4,
    10,
    20,
    50,
    100,
    250,
    500,
    750,
    1_000,
    2_000,
    4_000,
    10_000,
    20_000,
    50_000,
    100_000,
    250_000,
    500_000,
    750_000,
    1_000_000,
    2_000_000,
    4_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    750_000_000,
    1_000_000_000,
    2_000_000_000,
];

/// One power of two: the bucket at its start, and the last value below each of the (at most two) bounds within
/// it.
#[derive(Clone, Copy)]
struct Octave {
    first: u64,
    second: u64,
    base: usize,
}

const OCTAVES: [Octave; 64] = octaves();

const fn octaves() -> [Octave; 64] {
    let mut table = [Octave { first: u64::MAX, second: u64::MAX, base: 0 }; 64];
    let mut bit = 0;
    while bit < 64 {
        // Values 0 and 1 share the first octave.
        let start = if bit == 0 { 0 } else { 1u64 << bit };
        let last = if bit == 63 { u64::MAX } else { (1u64 << (bit + 1)) - 1 };
        let mut i = 0;
        while i < LATENCY_BOUNDS.len() {
            let bound = LATENCY_BOUNDS[i];
            if bound <= start {
                table[bit].base = i + 1;
            } else if bound <= last {
                if table[bit].first == u64::MAX {
                    table[bit].first = bound - 1;
                } else {
                    assert!(table[bit].second == u64::MAX);
                    table[bit].second = bound - 1;
                }
            }
            i += 1;
        }
        bit += 1;
    }
    table
}

/// Completions by latency, 32 buckets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBuckets(pub [u64; 32]);

impl LatencyBuckets {
    /// Counts one completion.
    #[inline]
    pub fn record(&mut self, latency: Nanos) {
        self.record_n(latency, 1);
    }
    /// Counts `n` completions with equal latencies.
    #[inline]
    pub fn record_n(&mut self, latency: Nanos, n: u64) {
        let ns = latency.0;
        let octave = &OCTAVES[(ns | 1).ilog2() as usize];
        let index = octave.base + usize::from(ns > octave.first) + usize::from(ns > octave.second);
        self.0[index & 31] += n;
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.0, &other.0);
    }
}

/// I/Os by the number in flight at their issue: 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 and more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DepthLevels(pub [u64; 7]);

impl DepthLevels {
    /// Counts one I/O issued with `depth` I/Os in flight, including itself.
    #[inline]
    pub fn record(&mut self, depth: u32) {
        self.record_n(depth, 1);
    }
    /// Counts `n` I/Os issued at this depth.
    #[inline]
    pub fn record_n(&mut self, depth: u32, n: u64) {
        self.0[(depth | 1).ilog2().min(6) as usize] += n;
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.0, &other.0);
    }
}

/// System calls by the number of I/Os in each: 0, 1-4, 5-8, 9-16, 17-32, 33-64, more.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BatchSizes(pub [u64; 7]);

impl BatchSizes {
    /// Counts one call with `size` I/Os.
    #[inline]
    pub fn record(&mut self, size: u32) {
        self.record_n(size, 1);
    }
    /// Counts `n` calls with `size` I/Os each.
    #[inline]
    pub fn record_n(&mut self, size: u32, n: u64) {
        // Sizes 1 to 4 share a bucket, so treat smaller sizes as 4. The index is ceil(log2(size)) - 1.
        let index = if size == 0 { 0 } else { (size.max(4) - 1).ilog2().min(6) };
        self.0[index as usize] += n;
    }
    /// Adds another's counts.
    pub fn merge(&mut self, other: &Self) {
        add(&mut self.0, &other.0);
    }
}

fn add<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
    for (m, t) in mine.iter_mut().zip(theirs) {
        *m = m.saturating_add(*t);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bucket(ns: u64) -> usize {
        let mut b = LatencyBuckets::default();
        b.record(Nanos(ns));
        b.0.iter().position(|n| *n == 1).expect("one bucket is filled")
    }

    #[test]
    fn latency_bounds_are_exclusive() {
        assert_eq!(bucket(0), 0);
        for (i, bound) in LATENCY_BOUNDS.iter().enumerate() {
            assert_eq!(bucket(bound - 1), i, "{bound}");
            assert_eq!(bucket(*bound), i + 1, "{bound}");
        }
        assert_eq!(bucket(u64::MAX), 31);
    }

    #[test]
    fn depths_and_batches() {
        let index = |d| {
            let mut l = DepthLevels::default();
            l.record(d);
            l.0.iter().position(|n| *n == 1).expect("one level is filled")
        };
        let depths = [0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 5000].map(index);
        assert_eq!(depths, [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
        let index = |d| {
            let mut l = BatchSizes::default();
            l.record(d);
            l.0.iter().position(|n| *n == 1).expect("one size is filled")
        };
        let sizes = [0, 1, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 5000].map(index);
        assert_eq!(sizes, [0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6]);
    }
}
