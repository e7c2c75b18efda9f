//! Sizes of I/Os.

use std::collections::HashMap;

use fiord_types::Bytes;

/// Different sizes that are counted exactly. Others count as the next smaller power of two.
const EXACT: usize = 1024;

/// How often each size occurs.
#[derive(Debug, Clone, Default)]
pub struct SizeCounts {
    counts: HashMap<u64, u64>,
}

impl SizeCounts {
    #[inline]
    pub(super) fn add(&mut self, len: Bytes) {
        if let Some(count) = self.counts.get_mut(&len.0) {
            *count += 1;
        } else {
            let full = self.counts.len() >= EXACT;
            let size = if full { 1 << (len.0 | 1).ilog2() } else { len.0 };
            *self.counts.entry(size).or_default() += 1;
        }
    }

    /// All sizes and how often they occur, the most frequent first.
    #[must_use]
    pub fn by_count(&self) -> Vec<(Bytes, u64)> {
        let mut all: Vec<_> = self.counts.iter().map(|(size, n)| (Bytes(*size), *n)).collect();
        all.sort_unstable_by_key(|(size, count)| (std::cmp::Reverse(*count), *size));
        all
    }

    /// I/Os of all sizes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// The share of I/Os that would have to change their size so that both distributions are equal, from 0 to 1.
    #[must_use]
    pub fn difference(&self, other: &SizeCounts) -> f64 {
        let share = |counts: &SizeCounts, size: &u64| {
            *counts.counts.get(size).unwrap_or(&0) as f64 / counts.total().max(1) as f64
        };
        let mut sizes: Vec<&u64> = self.counts.keys().chain(other.counts.keys()).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(|size| (share(self, size) - share(other, size)).abs()).sum::<f64>()
            / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_shares_of_ios() {
        let (mut a, mut b) = (SizeCounts::default(), SizeCounts::default());
        for n in 0..100 {
            a.add(Bytes(if n < 25 { 512 } else { 4096 }));
            b.add(Bytes(if n < 35 { 512 } else { 4096 }));
        }
        assert!((a.difference(&b) - 0.1).abs() < 1e-9);
        assert_eq!(a.by_count(), [(Bytes(4096), 75), (Bytes(512), 25)]);
        for n in 0..10_000 {
            a.add(Bytes(n * 512));
        }
        assert!(a.counts.len() < EXACT + 64);
        assert_eq!(a.total(), 10_100);
    }
}
