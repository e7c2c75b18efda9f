//! Disjoint ranges of files.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use fiord_types::FileIndex;

/// A set of ranges of bytes that do not overlap. Adjacent ranges stay separate.
#[derive(Debug, Clone, Default)]
pub(super) struct FileRanges {
    /// By file and start.
    ranges: BTreeMap<(FileIndex, u64), Entry>,
    /// Ranges by age: number, file and start. `None`: the first range is the one with the lowest file and offset.
    by_age: Option<BTreeSet<(u64, FileIndex, u64)>>,
    /// Number of ranges that were added.
    added: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    end: u64,
    /// Number of the range, in the order of insertion. The parts of a range keep its number.
    number: u64,
}

impl FileRanges {
    /// An empty set whose first range is the one that was added first.
    pub(super) fn oldest_first() -> Self {
        FileRanges { by_age: Some(BTreeSet::new()), ..FileRanges::default() }
    }

    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Adds a range. It replaces what it overlaps.
    pub(super) fn insert(&mut self, file: FileIndex, range: Range<u64>) {
        self.remove(file, range.clone());
        if !range.is_empty() {
            self.added += 1;
            self.put(file, range.start, Entry { end: range.end, number: self.added });
        }
    }

    /// Removes a range, and parts of other ranges that overlap it. Returns the number of bytes that were removed.
    pub(super) fn remove(&mut self, file: FileIndex, range: Range<u64>) -> u64 {
        let mut removed = 0;
        while let Some((start, entry)) = self.last_overlap(file, &range) {
            removed += entry.end.min(range.end) - start.max(range.start);
            self.take(file, start);
            if entry.end > range.end {
                self.put(file, range.end, entry);
            }
            if start < range.start {
                self.put(file, start, Entry { end: range.start, ..entry });
            }
        }
        removed
    }

    fn put(&mut self, file: FileIndex, start: u64, entry: Entry) {
        self.ranges.insert((file, start), entry);
        if let Some(by_age) = &mut self.by_age {
            by_age.insert((entry.number, file, start));
        }
    }

    fn take(&mut self, file: FileIndex, start: u64) {
        let taken = self.ranges.remove(&(file, start));
        if let (Some(by_age), Some(entry)) = (&mut self.by_age, taken) {
            by_age.remove(&(entry.number, file, start));
        }
    }

    /// Whether the set contains a byte of a range.
    pub(super) fn overlaps(&self, file: FileIndex, range: &Range<u64>) -> bool {
        self.last_overlap(file, range).is_some()
    }

    /// Whether the set contains each byte of a range, as one range.
    pub(super) fn contains(&self, file: FileIndex, range: &Range<u64>) -> bool {
        self.last_overlap(file, range)
            .is_some_and(|(start, entry)| start <= range.start && entry.end >= range.end)
    }

    /// Removes the range with the lowest offset of those that begin within another one, and returns the part within it.
    pub(super) fn pop_within(&mut self, file: FileIndex, within: Range<u64>) -> Option<Range<u64>> {
        let keys = (file, within.start)..(file, within.end);
        let ((_, start), entry) = self.ranges.range(keys).next()?;
        let found = *start..entry.end.min(within.end);
        self.remove(file, found.clone());
        Some(found)
    }

    pub(super) fn first(&self) -> Option<(FileIndex, Range<u64>)> {
        let (file, start) = match &self.by_age {
            Some(by_age) => by_age.first().map(|(_, file, start)| (*file, *start))?,
            None => *self.ranges.first_key_value()?.0,
        };
        Some((file, start..self.ranges.get(&(file, start))?.end))
    }

    /// Removes all ranges.
    pub(super) fn clear(&mut self) {
        self.ranges.clear();
        if let Some(by_age) = &mut self.by_age {
            by_age.clear();
        }
    }

    /// Start and entry of the last range that overlaps another one.
    fn last_overlap(&self, file: FileIndex, range: &Range<u64>) -> Option<(u64, Entry)> {
        if range.is_empty() {
            return None;
        }
        let keys = (file, 0)..(file, range.end);
        let ((_, start), entry) = self.ranges.range(keys).next_back()?;
        (entry.end > range.start).then_some((*start, *entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileIndex = FileIndex(3);

    fn all(mut ranges: FileRanges) -> Vec<Range<u64>> {
        let mut all = Vec::new();
        while let Some((file, range)) = ranges.first() {
            ranges.remove(file, range.clone());
            all.push(range);
        }
        all
    }

    #[test]
    fn a_range_replaces_what_it_overlaps() {
        let mut ranges = FileRanges::default();
        for range in [0..10, 10..20, 20..30] {
            ranges.insert(FILE, range);
        }
        assert_eq!(ranges.len(), 3);
        ranges.insert(FILE, 5..25);
        assert_eq!(all(ranges.clone()), [0..5, 5..25, 25..30]);
        ranges.remove(FILE, 8..12);
        assert_eq!(all(ranges.clone()), [0..5, 5..8, 12..25, 25..30]);
        assert!(ranges.overlaps(FILE, &(7..9)) && ranges.overlaps(FILE, &(10..13)));
        assert!(!ranges.overlaps(FILE, &(8..12)) && !ranges.overlaps(FileIndex(2), &(0..99)));
        ranges.insert(FILE, 0..100);
        assert_eq!((ranges.len(), ranges.first()), (1, Some((FILE, 0..100))));
    }

    #[test]
    fn the_oldest_range_can_be_the_first() {
        let mut ranges = FileRanges::oldest_first();
        for range in [20..30, 0..10, 10..20] {
            ranges.insert(FILE, range);
        }
        ranges.insert(FileIndex(0), 0..5);
        assert_eq!(all(ranges.clone()), [20..30, 0..10, 10..20, 0..5]);
        // The parts of a range keep its age; what replaces it is new.
        ranges.remove(FILE, 24..26);
        ranges.insert(FILE, 5..12);
        assert_eq!(all(ranges.clone()), [20..24, 26..30, 0..5, 12..20, 0..5, 5..12]);
        assert!(ranges.contains(FILE, &(6..12)) && !ranges.contains(FILE, &(6..13)));
        assert_eq!(ranges.pop_within(FILE, 4..8), Some(5..8));
        assert_eq!(all(ranges.clone()), [20..24, 26..30, 0..5, 12..20, 0..5, 8..12]);
        ranges.clear();
        assert_eq!((ranges.len(), ranges.first()), (0, None));
    }
}
