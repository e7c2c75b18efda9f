//! Trims of several ranges in one command (`num_range`): several blocks, drawn one after another,
//! become one I/O.

use fiord_plan::{Load, TrimRange};

use crate::{Io, Next};

/// The ranges of the last I/O, and what interrupted it.
#[derive(Debug, Clone)]
pub(super) struct Ranges {
    most: usize,
    list: Vec<TrimRange>,
    held: Option<Next>,
}

impl Ranges {
    /// State of a load; `None` if each trim has one range.
    pub(super) fn new(load: &Load) -> Option<Box<Self>> {
        let most = load.trim_ranges as usize;
        let list = Vec::with_capacity(most);
        (most > 1).then(|| Box::new(Ranges { most, list, held: None }))
    }

    /// Combines blocks that `draw` returns into an I/O of several ranges. An answer that is not a
    /// block, or a block of another file, ends the I/O and comes next.
    pub(super) fn gather(&mut self, mut draw: impl FnMut() -> Next) -> Next {
        self.list.clear();
        let mut whole: Option<Io> = None;
        while self.list.len() < self.most {
            let next = self.held.take().unwrap_or_else(&mut draw);
            match (next, &mut whole) {
                (Next::Io(io), None) => {
                    self.list.push(TrimRange { offset: io.offset, len: io.len });
                    whole = Some(io);
                }
                (Next::Io(io), Some(all)) if io.file == all.file => {
                    self.list.push(TrimRange { offset: io.offset, len: io.len });
                    all.len = all.len.saturating_add(io.len);
                }
                (aside, None) => return aside,
                (aside, Some(_)) => {
                    self.held = Some(aside);
                    break;
                }
            }
        }
        whole.map_or(Next::End, Next::Io)
    }

    /// The ranges of the last I/O.
    pub(super) fn list(&self) -> &[TrimRange] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{BlockSize, EnginePlan, JobPlan, Mix};
    use fiord_types::{Bytes, Dir};

    use crate::source::any_source;
    use crate::{Next, Source};

    /// Bytes and ranges of each I/O of a job over 1 MiB in blocks of 4 KiB, and all offsets, sorted.
    fn run(change: impl FnOnce(&mut JobPlan)) -> (Vec<(u32, usize)>, Vec<u64>) {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        job.load.mix = Mix::Trim;
        job.load.trim_ranges = 8;
        change(&mut job);
        let mut source = any_source(&job).unwrap();
        let (mut ios, mut offsets) = (Vec::new(), Vec::new());
        while let Next::Io(io) = source.next() {
            let ranges = source.ranges();
            assert_eq!(ranges.iter().map(|r| r.len).sum::<u32>(), io.len);
            assert_eq!(ranges[0].offset, io.offset);
            offsets.extend(ranges.iter().map(|r| r.offset));
            ios.push((io.len, ranges.len()));
        }
        offsets.sort_unstable();
        (ios, offsets)
    }

    #[test]
    fn every_block_is_in_one_range() {
        for random in [false, true] {
            let (ios, offsets) = run(|job| job.load.random = random);
            assert_eq!(ios, [(32768, 8); 32]);
            assert!(offsets.iter().copied().eq((0..256).map(|block| block * 4096)));
        }
    }

    #[test]
    fn the_last_blocks_make_a_smaller_command() {
        let (ios, offsets) = run(|job| job.load.trim_ranges = 3);
        assert_eq!((ios.len(), ios.last(), offsets.len()), (86, Some(&(4096, 1)), 256));
    }

    #[test]
    fn limits_count_commands_and_bytes() {
        let (ios, _) = run(|job| job.end.ios = Some(10));
        assert_eq!(ios.len(), 10);
        let (ios, _) = run(|job| job.end.bytes = Bytes(256 << 10));
        assert_eq!(ios.len(), 8);
    }

    /// As the plan asks for: without a map, which would cut them.
    #[test]
    fn ranges_of_several_sizes_have_the_requested_sizes() {
        let range = BlockSize::Range { min: 4096, max: 16384 };
        let split = BlockSize::Split(vec![(4096, 50), (16384, 50)]);
        for sizes in [range, split] {
            let (ios, _) = run(|job| {
                (job.load.random, job.load.no_map) = (true, true);
                job.load.blocks[Dir::Trim] = sizes.clone();
                job.target.files[0].len = Bytes(80 << 20);
                job.end.bytes = Bytes(80 << 20);
            });
            // 80 MiB in commands of eight ranges of 10 KiB.
            assert!(ios.len().abs_diff(1024) <= 20, "{sizes:?}: {}", ios.len());
            assert!(ios[..ios.len() - 1].iter().all(|(_, ranges)| *ranges == 8));
        }
    }
}
