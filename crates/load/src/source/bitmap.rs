//! Map of the units of a file that were visited in this pass. It serves random I/O with several
//! block sizes, whose order cannot be computed. The first level has one bit per unit, and each
//! further level one bit per 64 bits of the level below, so that a few steps find the next free
//! unit even in a nearly full map.

/// A set of the numbers below a bound. All are free at first.
#[derive(Debug, Clone)]
pub(super) struct Bitmap {
    /// The levels, the first one at index 0. A set bit of the first level means that the unit is
    /// taken; of a higher level, that all 64 bits below are set.
    levels: Vec<Box<[u64]>>,
    n: u64,
}

impl Bitmap {
    /// A map of `n` free units.
    pub(super) fn new(n: u64) -> Self {
        let mut levels = Vec::new();
        let mut words = n.max(1);
        loop {
            words = words.div_ceil(64);
            levels.push(vec![0; words as usize].into_boxed_slice());
            if words == 1 {
                break;
            }
        }
        let mut map = Bitmap { levels, n };
        map.seal();
        map
    }

    /// Marks the bits beyond the end as taken.
    fn seal(&mut self) {
        let mut n = self.n;
        for level in &mut self.levels {
            if !n.is_multiple_of(64)
                && let Some(last) = level.last_mut()
            {
                *last |= u64::MAX << (n % 64);
            }
            n = n.div_ceil(64);
        }
        if self.n == 0 {
            self.levels.iter_mut().for_each(|level| level.fill(u64::MAX));
        }
    }

    /// Frees all units.
    pub(super) fn clear(&mut self) {
        self.levels.iter_mut().for_each(|level| level.fill(0));
        self.seal();
    }

    /// The first free unit from `from` on, and after the last unit from 0 on. `None` if all are
    /// taken.
    pub(super) fn next_free(&self, from: u64) -> Option<u64> {
        self.free_from(from).or_else(|| self.free_from(0))
    }

    fn free_from(&self, from: u64) -> Option<u64> {
        let mut at = from;
        let mut level = 0;
        // Go up until a word has a free bit at `at` or after it.
        let mut found = loop {
            let words = self.levels.get(level)?;
            let word = words.get((at / 64) as usize)?;
            let free = !word & (u64::MAX << (at % 64));
            if free != 0 {
                break at / 64 * 64 + u64::from(free.trailing_zeros());
            }
            at = at / 64 + 1;
            level += 1;
        };
        // Go down to its first free bit.
        while level > 0 {
            level -= 1;
            found = found * 64 + u64::from((!self.levels[level][found as usize]).trailing_zeros());
        }
        Some(found)
    }

    /// Number of consecutive free units from `from` on, at most `most`.
    pub(super) fn run(&self, from: u64, most: u64) -> u64 {
        let end = self.n.min(from.saturating_add(most));
        let mut at = from;
        while at < end {
            let taken = self.levels[0][(at / 64) as usize] >> (at % 64);
            if taken != 0 {
                at += u64::from(taken.trailing_zeros());
                break;
            }
            at = at / 64 * 64 + 64;
        }
        at.min(end).saturating_sub(from)
    }

    /// Takes `count` units from `from` on, or fewer at the end.
    pub(super) fn take(&mut self, from: u64, count: u64) {
        let end = self.n.min(from.saturating_add(count));
        let mut at = from;
        while at < end {
            let bits = (end - at).min(64 - at % 64);
            self.mark(at, (u64::MAX >> (64 - bits)) << (at % 64));
            at += bits;
        }
    }

    /// Frees `count` units from `from` on, or fewer at the end.
    pub(super) fn free(&mut self, from: u64, count: u64) {
        let end = self.n.min(from.saturating_add(count));
        let mut at = from;
        while at < end {
            let bits = (end - at).min(64 - at % 64);
            let mut mask = (u64::MAX >> (64 - bits)) << (at % 64);
            let mut index = at / 64;
            for level in &mut self.levels {
                level[index as usize] &= !mask;
                mask = 1 << (index % 64);
                index /= 64;
            }
            at += bits;
        }
    }

    /// Sets bits of one word. If the word is full, sets its bit on the level above.
    fn mark(&mut self, at: u64, mut bits: u64) {
        let mut index = (at / 64) as usize;
        for level in &mut self.levels {
            level[index] |= bits;
            if level[index] != u64::MAX {
                break;
            }
            bits = 1 << (index % 64);
            index /= 64;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(100))]
        #[test]
        fn behaves_as_a_list_of_flags(
            n in 1u64..9000,
            steps in prop::collection::vec((any::<u64>(), 1u64..300), 1..60),
        ) {
            let mut map = Bitmap::new(n);
            let mut flags = vec![false; n as usize];
            for (at, count) in steps {
                let at = at % n;
                let free = |range: std::ops::Range<u64>| range.clone().find(|&i| !flags[i as usize]);
                prop_assert_eq!(map.next_free(at), free(at..n).or_else(|| free(0..n)));
                let run = flags[at as usize..].iter().take(count as usize).take_while(|x| !**x);
                prop_assert_eq!(map.run(at, count), run.count() as u64);
                map.take(at, count);
                flags.iter_mut().skip(at as usize).take(count as usize).for_each(|x| *x = true);
            }
            let middle = n / 3..n / 2;
            map.free(middle.start, middle.end - middle.start);
            flags[middle.start as usize..middle.end as usize].fill(false);
            for at in [0, n / 3, n / 2, n - 1] {
                let free = |range: std::ops::Range<u64>| range.clone().find(|&i| !flags[i as usize]);
                prop_assert_eq!(map.next_free(at), free(at..n).or_else(|| free(0..n)));
            }
            map.take(0, n);
            prop_assert_eq!(map.next_free(n / 2), None);
            map.clear();
            prop_assert_eq!(map.next_free(n - 1), Some(n - 1));
        }
    }
}
