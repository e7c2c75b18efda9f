//! What a job knows about the erase blocks of its region: which are bad, which it has erased how often, and which parts
//! it has written since.

use std::ops::Range;

use fiord_stat::engine::{FlashCount, FlashCounts};

/// The erase blocks of a job's region.
#[derive(Debug)]
pub(super) struct EraseBlocks {
    /// First byte of the first block.
    start: u64,
    /// Size of a block in bytes.
    size: u64,
    blocks: Vec<EraseBlock>,
}

#[derive(Debug, Clone, Default)]
struct EraseBlock {
    bad: bool,
    /// The job has erased it, so that what `written` does not contain is blank.
    erased: bool,
    erases: u64,
    /// The parts that the job has written since it erased the block, as offsets in it, sorted.
    written: Vec<Range<u64>>,
}

/// What a job knows about a range that it is going to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blankness {
    /// The job has erased all of it and written none of it since.
    Blank,
    /// The job does not know.
    Unknown,
    /// The job has written a part of it since it was erased.
    Written,
}

impl EraseBlocks {
    /// The blocks that `offset .. offset + len` touches.
    pub(super) fn new(size: u64, offset: u64, len: u64) -> Self {
        let size = size.max(1);
        let start = offset - offset % size;
        let count = (offset + len - start).div_ceil(size) as usize;
        EraseBlocks { start, size, blocks: vec![EraseBlock::default(); count] }
    }

    /// Marks the blocks as bad for which `is_bad` says so; it gets the offset of each.
    ///
    /// # Errors
    ///
    /// The first error of `is_bad`.
    pub(super) fn find_bad<E>(
        &mut self,
        mut is_bad: impl FnMut(u64) -> Result<bool, E>,
    ) -> Result<(), E> {
        for (number, block) in self.blocks.iter_mut().enumerate() {
            block.bad = is_bad(self.start + number as u64 * self.size)?;
        }
        Ok(())
    }

    /// The part of each block that a range covers, as offsets in the block.
    fn parts(&self, offset: u64, len: u64) -> impl Iterator<Item = (usize, Range<u64>)> + use<> {
        let (start, size) = (self.start, self.size);
        let end = offset.saturating_add(len);
        let first = offset.saturating_sub(start) / size;
        let count = self.blocks.len();
        (first..).map_while(move |number| {
            let from = start + number * size;
            let part = offset.max(from) - from..end.saturating_sub(from).min(size);
            (from < end && (number as usize) < count).then_some((number as usize, part))
        })
    }

    /// Offset of the first bad block that a range touches.
    pub(super) fn bad_in(&self, offset: u64, len: u64) -> Option<u64> {
        let mut parts = self.parts(offset, len);
        let (number, _) = parts.find(|(number, _)| self.blocks[*number].bad)?;
        Some(self.start + number as u64 * self.size)
    }

    /// What the job knows about a range.
    pub(super) fn before(&self, offset: u64, len: u64) -> Blankness {
        let mut known = Blankness::Blank;
        for (number, part) in self.parts(offset, len) {
            let block = &self.blocks[number];
            if block.written.iter().any(|had| had.start < part.end && part.start < had.end) {
                return Blankness::Written;
            }
            if !block.erased {
                known = Blankness::Unknown;
            }
        }
        known
    }

    /// The job has written a range, or tried to.
    pub(super) fn wrote(&mut self, offset: u64, len: u64) {
        for (number, part) in self.parts(offset, len) {
            add(&mut self.blocks[number].written, part);
        }
    }

    /// The job has erased a range of whole blocks, or tried to (`done`: with success).
    pub(super) fn erased(&mut self, offset: u64, len: u64, done: bool) {
        for (number, _) in self.parts(offset, len) {
            let block = &mut self.blocks[number];
            block.erased = done;
            block.erases += u64::from(done);
            block.written.clear();
        }
    }

    /// Adds the bad blocks and the erases.
    pub(super) fn add_to(&self, counts: &mut FlashCounts) {
        for block in &self.blocks {
            counts.add(FlashCount::BadBlocks, block.bad.into());
            counts.add(FlashCount::Erases, block.erases);
            counts.add(FlashCount::ErasedBlocks, (block.erases > 0).into());
            counts.add(FlashCount::MostErases, block.erases);
        }
    }
}

/// Adds a range to sorted ranges, and joins it with those that it touches.
fn add(ranges: &mut Vec<Range<u64>>, new: Range<u64>) {
    let first = ranges.partition_point(|had| had.end < new.start);
    let last = ranges.partition_point(|had| had.start <= new.end);
    let joined = ranges[first..last]
        .iter()
        .fold(new, |all, had| all.start.min(had.start)..all.end.max(had.end));
    ranges.splice(first..last, [joined]);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of 16 bytes from offset 32 on.
    fn blocks() -> EraseBlocks {
        EraseBlocks::new(16, 40, 50)
    }

    #[test]
    fn the_blocks_are_those_that_the_region_touches() {
        let blocks = blocks();
        assert_eq!((blocks.start, blocks.blocks.len()), (32, 4));
        let parts: Vec<_> = blocks.parts(60, 20).collect();
        assert_eq!(parts, [(1, 12..16), (2, 0..16)]);
        assert_eq!(blocks.parts(90, 100).collect::<Vec<_>>(), [(3, 10..16)]);
        assert_eq!(blocks.parts(200, 1).count(), 0);
    }

    #[test]
    fn a_bad_block_is_found_where_a_range_touches_it() {
        let mut blocks = blocks();
        blocks.find_bad(|offset| Ok::<_, ()>(offset == 64)).unwrap();
        assert_eq!(blocks.bad_in(32, 32), None);
        assert_eq!(blocks.bad_in(32, 33), Some(64));
        assert_eq!(blocks.bad_in(79, 16), Some(64));
        assert_eq!(blocks.bad_in(80, 16), None);
    }

    #[test]
    fn only_what_was_erased_and_not_written_is_blank() {
        let mut blocks = blocks();
        assert_eq!(blocks.before(48, 16), Blankness::Unknown);
        blocks.erased(48, 32, true);
        assert_eq!(blocks.before(48, 32), Blankness::Blank);
        assert_eq!(blocks.before(40, 16), Blankness::Unknown);
        blocks.wrote(56, 12);
        let found = [(48, 8), (48, 9), (68, 12), (67, 1)].map(|(o, l)| blocks.before(o, l));
        assert_eq!(
            found,
            [Blankness::Blank, Blankness::Written, Blankness::Blank, Blankness::Written]
        );
        blocks.erased(48, 16, false);
        assert_eq!(blocks.before(48, 16), Blankness::Unknown);
    }

    #[test]
    fn erases_are_counted_for_each_block() {
        let mut blocks = blocks();
        blocks.erased(32, 64, true);
        blocks.erased(64, 16, true);
        blocks.erased(64, 16, true);
        blocks.erased(80, 16, false);
        let mut counts = FlashCounts::default();
        blocks.add_to(&mut counts);
        let all = [FlashCount::Erases, FlashCount::ErasedBlocks, FlashCount::MostErases];
        assert_eq!(all.map(|what| counts.get(what)), [6, 4, 3]);
    }

    #[test]
    fn touching_ranges_are_joined() {
        let mut ranges = Vec::new();
        for new in [8..12, 0..2, 14..16, 12..14, 20..22, 1..9] {
            add(&mut ranges, new);
        }
        assert_eq!(ranges, [0..16, 20..22]);
    }
}
