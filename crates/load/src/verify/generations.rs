//! The generations of granules that the byte of the map does not count.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cells::GranuleSpan;

/// Number of generations. One that is older by a multiple of it looks current.
pub const GENERATIONS: u16 = u16::MAX;

/// Granules of a region.
const REGION: u64 = 4096;
/// Number of tables of granules, each with its own lock.
const SHARDS: u64 = 64;
/// Adjacent granules in one table.
const RUN: u64 = 64;
/// Maximum number of entries of a table of granules. All of them together need about 36 MB.
const MAX_GRANULES: usize = 28 << 10;
/// Maximum number of entries of the table of regions.
const MAX_REGIONS: usize = 112 << 10;

type Table = Mutex<HashMap<u64, u16>>;

/// Says for each granule how many generations it had before the current count of its byte. Most granules have no
/// entry, and the tables are empty until a granule was written 251 times, trimmed or abandoned.
#[derive(Debug)]
pub(super) struct Generations {
    granules: Vec<Table>,
    /// There is an entry in a table of granules.
    has_granules: AtomicBool,
    /// Generations that all granules of a region have in addition.
    regions: Table,
    /// There is an entry in the table of regions.
    has_regions: AtomicBool,
}

impl Generations {
    pub(super) fn new() -> Self {
        Generations {
            granules: (0..SHARDS).map(|_| Table::default()).collect(),
            has_granules: AtomicBool::new(false),
            regions: Table::default(),
            has_regions: AtomicBool::new(false),
        }
    }

    fn table(&self, granule: u64) -> &Table {
        &self.granules[(granule / RUN % SHARDS) as usize]
    }

    /// Makes sure that the granule has an entry. False: there is no room.
    pub(super) fn reserve(&self, granule: u64) -> bool {
        self.add(granule, 0)
    }

    /// Adds `more` generations to the granule. Returns false if the table is full.
    pub(super) fn add(&self, granule: u64, more: u16) -> bool {
        let added = add(&mut lock(self.table(granule)), granule, more, MAX_GRANULES);
        if added {
            self.has_granules.store(true, Ordering::Release);
        }
        added
    }

    /// Adds `more` generations to the granule, if it has an entry.
    pub(super) fn add_to_existing(&self, granule: u64, more: u16) {
        add(&mut lock(self.table(granule)), granule, more, 0);
    }

    /// The granules of a range had more generations: `more` returns how many for each position. Whole regions of
    /// which a granule had more need only one entry.
    pub(super) fn add_all(&self, span: GranuleSpan, more: impl Fn(usize) -> u16) {
        let mut index = 0;
        while index < span.len() {
            let granule = span.granule(index);
            let whole = granule.is_multiple_of(REGION) && span.len() - index >= REGION as usize;
            let count = if whole { REGION as usize } else { 1 };
            let most = (index..index + count).map(&more).max().unwrap_or(0);
            if most > 0 && !(whole && self.add_to_region(granule / REGION, most)) {
                for index in (index..index + count).filter(|index| more(*index) > 0) {
                    self.add(span.granule(index), more(index));
                }
            }
            index += count;
        }
    }

    fn add_to_region(&self, region: u64, more: u16) -> bool {
        let added = add(&mut lock(&self.regions), region, more, MAX_REGIONS);
        if added {
            self.has_regions.store(true, Ordering::Release);
        }
        added
    }

    /// Appends the generations before the count of each granule. Appends nothing if there are none.
    pub(super) fn before(&self, span: GranuleSpan, list: &mut Vec<u16>) {
        let has_regions = self.has_regions.load(Ordering::Acquire);
        if !has_regions && !self.has_granules.load(Ordering::Acquire) {
            return;
        }
        let start = list.len();
        let mut index = 0;
        while index < span.len() {
            let granule = span.granule(index);
            let count = ((RUN - granule % RUN) as usize).min(span.len() - index);
            let region = match has_regions {
                true => lock(&self.regions).get(&(granule / REGION)).copied().unwrap_or(0),
                false => 0,
            };
            let table = lock(self.table(granule));
            list.extend((granule..granule + count as u64).map(|granule| {
                sum(region, if table.is_empty() { 0 } else { *table.get(&granule).unwrap_or(&0) })
            }));
            index += count;
        }
        if list[start..].iter().all(|before| *before == 0) {
            list.truncate(start);
        }
    }
}

fn lock(table: &Table) -> MutexGuard<'_, HashMap<u64, u16>> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to an entry, or makes it if there is room for it.
fn add(table: &mut HashMap<u64, u16>, key: u64, more: u16, most: usize) -> bool {
    let room = table.len() < most;
    match table.entry(key) {
        Entry::Occupied(mut entry) => *entry.get_mut() = sum(*entry.get(), more),
        Entry::Vacant(entry) if room => {
            entry.insert(more);
        }
        Entry::Vacant(_) => return false,
    }
    true
}

/// The sum of two numbers of generations.
pub(super) fn sum(one: u16, other: u16) -> u16 {
    ((u32::from(one) + u32::from(other)) % u32::from(GENERATIONS)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn before(generations: &Generations, first: usize, count: usize) -> Vec<u16> {
        let mut list = Vec::new();
        generations.before(GranuleSpan::new(first, count), &mut list);
        list
    }

    #[test]
    fn granules_and_regions_add_up() {
        let generations = Generations::new();
        assert_eq!(before(&generations, 0, 9), Vec::<u16>::new());
        generations.add_to_existing(5, 251);
        assert_eq!(before(&generations, 0, 9), Vec::<u16>::new());
        assert!(generations.reserve(5));
        generations.add_to_existing(5, 251);
        generations.add(5, 3);
        assert_eq!(before(&generations, 4, 3), [0, 254, 0]);
        assert_eq!(before(&generations, 64, 3), Vec::<u16>::new());
        // From granule 4090 to 8200, with a whole region from 4096 on.
        generations.add_all(GranuleSpan::new(4090, 4110), |index| if index < 7 { 2 } else { 0 });
        assert_eq!(before(&generations, 4089, 9), [0, 2, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(before(&generations, 8191, 2), [2, 0]);
        assert_eq!(lock(&generations.regions).len(), 1);
        generations.add(4097, GENERATIONS - 1);
        assert_eq!(before(&generations, 4097, 1), [1]);
    }

    #[test]
    fn a_full_table_takes_no_more() {
        let generations = Generations::new();
        let all = MAX_GRANULES as u64 * SHARDS;
        assert!((0..all).all(|granule| generations.add(granule, 7)));
        assert!(!generations.reserve(all));
        assert!(!generations.add(all, 1));
        assert!(generations.reserve(3));
        assert_eq!(before(&generations, all as usize - 1, 2), [7, 0]);
    }
}
