//! The writes of a target, for blocks of any length at any offset.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::value::WriteValue;

/// Remembers the place, length and value of each write that is still whole. All jobs on the target share it.
///
/// A write removes the records of those that it overlaps, also in part: what is left of them cannot be checked, because
/// it has no header, or no place in a pattern. So there are at most as many records as blocks of the target.
///
/// ```
/// use fiord_load::verify::{WriteRecords, WriteValue};
///
/// let records = WriteRecords::new(100);
/// let value = WriteValue::of_number(0, 1);
/// records.insert(1000..3500, value);
/// assert_eq!(records.next(0), Some(1000..3500));
/// assert_eq!(records.value(&(1000..3500)), Some(value));
/// assert_eq!(records.remove(3000..3100), 2500);
/// assert_eq!(records.next(0), None);
/// ```
#[derive(Debug)]
pub struct WriteRecords {
    /// End and value of each write, by its start.
    writes: Mutex<BTreeMap<u64, (u64, WriteValue)>>,
    most: usize,
}

impl WriteRecords {
    /// Keeps at most `most` records. Further writes are not recorded, so they are not checked.
    #[must_use]
    pub fn new(most: usize) -> WriteRecords {
        WriteRecords { writes: Mutex::default(), most }
    }

    /// Records a write, and removes those that it overlaps.
    pub fn insert(&self, range: Range<u64>, value: WriteValue) {
        let mut writes = self.lock();
        remove(&mut writes, &range);
        if !range.is_empty() && writes.len() < self.most {
            writes.insert(range.start, (range.end, value));
        }
    }

    /// Removes the writes that a range overlaps. Returns their bytes.
    pub fn remove(&self, range: Range<u64>) -> u64 {
        remove(&mut self.lock(), &range)
    }

    /// The value of the write with exactly this range, if it is whole.
    #[must_use]
    pub fn value(&self, range: &Range<u64>) -> Option<WriteValue> {
        let writes = self.lock();
        writes.get(&range.start).filter(|(end, _)| *end == range.end).map(|(_, value)| *value)
    }

    /// The first write that begins at `from` or after it.
    #[must_use]
    pub fn next(&self, from: u64) -> Option<Range<u64>> {
        self.lock().range(from..).next().map(|(start, (end, _))| *start..*end)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, (u64, WriteValue)>> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn remove(writes: &mut BTreeMap<u64, (u64, WriteValue)>, range: &Range<u64>) -> u64 {
    let mut bytes = 0;
    while let Some((&start, &(end, _))) = writes.range(..range.end).next_back()
        && end > range.start
    {
        writes.remove(&start);
        bytes += end - start;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_that_are_overlapped_in_part_are_forgotten() {
        let records = WriteRecords::new(3);
        let value = |number| WriteValue::of_number(number, 0);
        records.insert(0..100, value(0));
        records.insert(100..200, value(1));
        records.insert(250..300, value(2));
        records.insert(400..500, value(3));
        assert_eq!(records.next(300), None, "there is no room for it");
        records.insert(199..251, value(4));
        assert_eq!((records.next(0), records.next(1)), (Some(0..100), Some(199..251)));
        assert_eq!(records.value(&(199..251)), Some(value(4)));
        assert_eq!(records.value(&(199..250)), None);
        assert_eq!(records.next(252), None);
        assert_eq!(records.remove(0..1000), 152);
        records.insert(5..5, value(5));
        assert_eq!(records.next(0), None);
    }
}
