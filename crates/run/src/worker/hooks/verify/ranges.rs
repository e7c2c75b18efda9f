//! Disjoint ranges of files.

use std::collections::BTreeMap;
use std::ops::Range;

use fiord_types::FileIndex;

/// A set of ranges of bytes that do not overlap, in the order of files and offsets. Adjacent ranges stay separate.
#[derive(Debug, Clone, Default)]
pub(super) struct FileRanges {
    /// The end of each range, by file and start.
    ends: BTreeMap<(FileIndex, u64), u64>,
}

impl FileRanges {
    /// Number of ranges.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Adds a range. It replaces what it overlaps.
    pub(super) fn insert(&mut self, file: FileIndex, range: Range<u64>) {
        self.remove(file, range.clone());
        if !range.is_empty() {
            self.ends.insert((file, range.start), range.end);
        }
    }

    /// Removes a range, and parts of other ranges that overlap it. Returns the number of bytes that were removed.
    pub(super) fn remove(&mut self, file: FileIndex, range: Range<u64>) -> u64 {
        let mut removed = 0;
        while let Some(found) = self.last_overlap(file, &range) {
            removed += found.end.min(range.end) - found.start.max(range.start);
            self.ends.remove(&(file, found.start));
            if found.end > range.end {
                self.ends.insert((file, range.end), found.end);
            }
            if found.start < range.start {
                self.ends.insert((file, found.start), range.start);
            }
        }
        removed
    }

    /// Whether the set contains a byte of a range.
    pub(super) fn overlaps(&self, file: FileIndex, range: &Range<u64>) -> bool {
        self.last_overlap(file, range).is_some()
    }

    /// Removes the first range within another one and returns it.
    pub(super) fn pop_within(&mut self, file: FileIndex, within: Range<u64>) -> Option<Range<u64>> {
        let ((_, start), end) = self.ends.range((file, within.start)..(file, within.end)).next()?;
        let found = *start..*end;
        self.ends.remove(&(file, found.start));
        if found.end > within.end {
            self.ends.insert((file, within.end), found.end);
        }
        Some(found.start..found.end.min(within.end))
    }

    /// The file of the first range.
    pub(super) fn first_file(&self) -> Option<FileIndex> {
        self.ends.first_key_value().map(|((file, _), _)| *file)
    }

    /// Removes the first range and returns it.
    pub(super) fn pop_first(&mut self) -> Option<(FileIndex, Range<u64>)> {
        let ((file, start), end) = self.ends.pop_first()?;
        Some((file, start..end))
    }

    /// Removes all ranges.
    pub(super) fn clear(&mut self) {
        self.ends.clear();
    }

    fn last_overlap(&self, file: FileIndex, range: &Range<u64>) -> Option<Range<u64>> {
        if range.is_empty() {
            return None;
        }
        let ((_, start), end) = self.ends.range((file, 0)..(file, range.end)).next_back()?;
        (*end > range.start).then_some(*start..*end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileIndex = FileIndex(3);

    fn all(mut ranges: FileRanges) -> Vec<Range<u64>> {
        std::iter::from_fn(|| ranges.pop_first()).map(|(_, range)| range).collect()
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
        assert_eq!((ranges.len(), ranges.pop_first()), (1, Some((FILE, 0..100))));
    }
}
