//! Finds the blocks with the most I/Os in constant memory (Space-Saving).
//!
//! Metwally, Agrawal, El Abbadi: "Efficient computation of frequent and top-k elements in data streams" (2005). A block
//! with more than 1/`KEPT` of all I/Os is always among those kept.

use std::collections::HashMap;

/// Blocks that are kept.
const KEPT: usize = 1024;

/// The blocks with the most I/Os.
#[derive(Debug, Clone, Default)]
pub struct HotBlocks {
    /// A heap with the smallest count first.
    heap: Vec<HotBlock>,
    places: HashMap<u64, usize>,
}

/// A block, and how many I/Os it got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HotBlock {
    hash: u64,
    /// I/Os, at most `over` too many.
    count: u64,
    over: u64,
}

impl HotBlock {
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }
    /// I/Os, with an error of at most half of what may be counted too much.
    #[must_use]
    pub fn heat(&self) -> f64 {
        self.count as f64 - self.over as f64 / 2.0
    }
}

impl HotBlocks {
    /// Counts an I/O.
    pub fn add(&mut self, hash: u64) {
        if let Some(&place) = self.places.get(&hash) {
            self.heap[place].count += 1;
            self.sink(place);
        } else if self.heap.len() < KEPT {
            let place = self.heap.len();
            self.heap.push(HotBlock { hash, count: 1, over: 0 });
            self.places.insert(hash, place);
            self.rise(place);
        } else {
            let least = self.heap[0];
            self.places.remove(&least.hash);
            self.heap[0] = HotBlock { hash, count: least.count + 1, over: least.count };
            self.places.insert(hash, 0);
            self.sink(0);
        }
    }

    /// Blocks that certainly got at least `least` I/Os.
    pub fn at_least(&self, least: u64) -> impl Iterator<Item = HotBlock> + '_ {
        self.heap.iter().copied().filter(move |block| block.count - block.over >= least)
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.heap.swap(a, b);
        for place in [a, b] {
            self.places.insert(self.heap[place].hash, place);
        }
    }

    fn rise(&mut self, mut place: usize) {
        while place > 0 && self.heap[place].count < self.heap[(place - 1) / 2].count {
            self.swap(place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&mut self, mut place: usize) {
        loop {
            let children = (2 * place + 1..self.heap.len()).take(2);
            let Some(least) = children.min_by_key(|child| self.heap[*child].count) else { return };
            if self.heap[least].count >= self.heap[place].count {
                return;
            }
            self.swap(place, least);
            place = least;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_blocks_are_found_among_many_others() {
        let mut hot = HotBlocks::default();
        for number in 0..50_000u64 {
            hot.add(if number % 10 == 0 { 7 } else { number + 100 });
            if number % 50 == 0 {
                hot.add(9);
            }
        }
        let mut found: Vec<_> = hot.at_least(700).map(|block| block.hash).collect();
        found.sort_unstable();
        assert_eq!(found, [7, 9]);
        let seven = hot.at_least(700).find(|block| block.hash == 7).unwrap();
        assert!(seven.count - seven.over <= 5_000 && 5_000 <= seven.count, "{seven:?}");
    }
}
