//! Reads the data of an earlier run, zone after zone.

use fiord_load::{Io, IoAttributes};
use fiord_plan::JobPlan;
use fiord_types::{Bytes, Dir, FileIndex};

/// Reads the data of an earlier run, zone after zone.
#[derive(Debug, Default)]
pub(crate) struct ZoneWalk {
    /// File, start and end of each range with data.
    ranges: Vec<(FileIndex, Bytes, Bytes)>,
    /// Range and offset in it of the next read.
    at: (usize, u64),
    /// Bytes of a read, and their divisor.
    most: u64,
    least: u64,
}

impl ZoneWalk {
    /// `ranges`: start and end of the data of each zone.
    pub(crate) fn new(job: &JobPlan, ranges: Vec<(FileIndex, Bytes, Bytes)>) -> Self {
        let interval = job.verify.as_ref().and_then(|verify| verify.interval);
        let most = u64::from(job.load.blocks[Dir::Write].max());
        let least = interval.map_or(most, |interval| interval.0).max(1);
        ZoneWalk { ranges, at: (0, 0), most, least }
    }

    /// The pass begins.
    pub(crate) fn begin(&mut self) {
        self.at = (0, 0);
    }

    /// The next read.
    pub(crate) fn next(&mut self) -> Option<Io> {
        loop {
            let (range, position) = self.at;
            let &(file, start, end) = self.ranges.get(range)?;
            let room = (end - start).0 - position;
            // The rest of a zone may be shorter than an interval.
            let len = room.min(self.most) / self.least * self.least;
            if len == 0 {
                self.at = (range + 1, 0);
                continue;
            }
            self.at.1 = position + len;
            let (offset, attributes) = (start.0 + position, IoAttributes::PLAIN);
            return Some(Io { dir: Dir::Read, file, offset, len: len as u32, attributes });
        }
    }
}
