//! Which writes of an earlier run still are what their blocks contain, if that run wrote blocks more than once: the last
//! one of each block. A job that only verifies draws all writes beforehand, and counts them for each block.

use std::collections::HashMap;
use std::path::Path;

use fiord_load::{Io, Next, Source};
use fiord_plan::{JobPlan, Tracking};
use fiord_types::{Bytes, Dir, Errno};

use crate::error::{JobError, Stage};

/// Bytes of a granule for a job whose blocks are at any offset. A write that shares a granule with a later one counts as
/// overwritten.
const UNALIGNED: u64 = 512;
/// Maximum number of granules of a file. Larger files have larger granules.
const MAX_GRANULES: u64 = 1 << 30;
/// The count of a granule that was written more often. The rest is counted apart.
const MANY: u8 = u8::MAX;

/// For each block, how many writes of it are still to come.
#[derive(Debug)]
pub(super) struct LastWrites {
    /// By path: a job can have a file more than once.
    counts: Vec<FileCounts>,
    /// Index in `counts`, by file.
    places: Vec<usize>,
}

#[derive(Debug)]
struct FileCounts {
    granule: u64,
    /// Number of the first granule.
    first: u64,
    /// Writes to come, by granule.
    counts: Vec<u8>,
    /// Further writes of granules with [`MANY`].
    more: HashMap<usize, u64>,
}

impl LastWrites {
    /// Whether a job may write blocks more than once, in all of its loops.
    pub(super) fn are_needed(job: &JobPlan) -> bool {
        let tracking = job.verify.as_ref().map(|verify| verify.tracking);
        tracking.is_some_and(|tracking| tracking != Tracking::Replay) || job.end.loops > 1
    }

    /// Counts the first `most` I/Os of a direction that `source` draws in all loops of a job.
    ///
    /// # Errors
    /// There is no memory for a byte of each granule.
    pub(super) fn of(
        job: &JobPlan,
        source: &mut dyn Source,
        dir: Dir,
        most: u64,
    ) -> Result<Self, JobError> {
        let granule = match job.verify.as_ref().map(|verify| verify.tracking) {
            Some(Tracking::Map { granule }) => granule.0,
            Some(Tracking::Records) => UNALIGNED,
            _ => u64::from(job.load.blocks[dir].min()),
        };
        let mut paths: HashMap<&Path, usize> = HashMap::new();
        let mut ranges: Vec<(Bytes, Bytes)> = Vec::new();
        let mut places = Vec::new();
        for file in &job.target.files {
            let place = *paths.entry(&file.path).or_insert(ranges.len());
            places.push(place);
            match ranges.get_mut(place) {
                Some((start, end)) => {
                    (*start, *end) = ((*start).min(file.offset), (*end).max(file.end()));
                }
                None => ranges.push((file.offset, file.end())),
            }
        }
        let counts =
            ranges.iter().map(|(start, end)| FileCounts::new(granule.max(1), *start, *end));
        let mut all = LastWrites { counts: counts.collect::<Result<_, _>>()?, places };
        let mut left = most;
        for _ in 0..job.end.loops.max(1) {
            while left > 0 {
                match source.next() {
                    Next::Io(io) if io.dir == dir => {
                        left -= 1;
                        all.counts[all.places[io.file.get()]].add(&io);
                    }
                    Next::End => break,
                    _ => {}
                }
            }
            source.restart();
        }
        Ok(all)
    }

    /// Continues with the next write. Returns whether it is the last one of all its blocks.
    pub(super) fn is_last(&mut self, write: &Io) -> bool {
        self.counts[self.places[write.file.get()]].take(write)
    }
}

impl FileCounts {
    fn new(granule: u64, start: Bytes, end: Bytes) -> Result<Self, JobError> {
        let mut granule = granule;
        while (end.0 - start.0) / granule > MAX_GRANULES {
            granule *= 2;
        }
        let first = start.0 / granule;
        let len = usize::try_from(end.0.div_ceil(granule) - first).unwrap_or(usize::MAX);
        let mut counts = Vec::new();
        if counts.try_reserve_exact(len).is_err() {
            let detail = format!(
                "no memory for {len} bytes that count the writes of each block. To fix: use larger blocks, a smaller \
                 size, or verify parts of the target one after another"
            );
            return Err(JobError::new(Stage::SetUp, Errno::ENOMEM, detail));
        }
        counts.resize(len, 0);
        Ok(FileCounts { granule, first, counts, more: HashMap::new() })
    }

    fn granules(&self, write: &Io) -> std::ops::Range<usize> {
        let place = |granule: u64| usize::try_from(granule - self.first).unwrap_or(usize::MAX);
        let end = write.offset + u64::from(write.len);
        place(write.offset / self.granule)..place(end.div_ceil(self.granule))
    }

    fn add(&mut self, write: &Io) {
        for granule in self.granules(write) {
            match self.counts[granule] {
                MANY => *self.more.entry(granule).or_default() += 1,
                count => self.counts[granule] = count + 1,
            }
        }
    }

    fn take(&mut self, write: &Io) -> bool {
        let mut last = true;
        for granule in self.granules(write) {
            match self.more.get_mut(&granule) {
                Some(more) if *more > 1 => *more -= 1,
                Some(_) => {
                    self.more.remove(&granule);
                }
                None => self.counts[granule] = self.counts[granule].saturating_sub(1),
            }
            last &= self.counts[granule] == 0;
        }
        last
    }
}

#[cfg(test)]
mod tests {
    use fiord_load::IoAttributes;
    use fiord_types::FileIndex;

    use super::*;

    fn write(offset: u64, len: u32) -> Io {
        let (file, attributes) = (FileIndex(0), IoAttributes::PLAIN);
        Io { dir: Dir::Write, file, offset, len, attributes }
    }

    #[test]
    fn only_the_last_write_of_all_its_blocks_counts() {
        let mut counts = FileCounts::new(4096, Bytes(8192), Bytes(65536)).unwrap();
        let writes = [write(8192, 8192), write(12288, 4096), write(16384, 4096), write(8192, 4096)];
        writes.iter().for_each(|io| counts.add(io));
        let last: Vec<bool> = writes.iter().map(|io| counts.take(io)).collect();
        assert_eq!(last, [false, true, true, true]);
    }

    #[test]
    fn a_block_can_be_written_often() {
        let mut counts = FileCounts::new(512, Bytes(0), Bytes(4096)).unwrap();
        let io = write(512, 512);
        (0..1000).for_each(|_| counts.add(&io));
        let last: Vec<bool> = (0..1000).map(|_| counts.take(&io)).collect();
        assert_eq!(last.iter().position(|last| *last), Some(999));
    }
}
