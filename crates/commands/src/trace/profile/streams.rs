//! Which I/Os continue earlier ones.

use fiord_types::{Bytes, Dir, PerDir};

/// Streams that are remembered for each target.
const REMEMBERED: usize = 16;

/// How many I/Os are sequential.
#[derive(Debug, Clone, Default)]
pub struct Streams {
    /// Where the latest I/Os ended, the latest first.
    ends: PerDir<Vec<u64>>,
    /// I/Os that begin where the one before them in their direction ended.
    sequential: PerDir<u64>,
    /// I/Os that begin where one of the 16 before them ended.
    in_streams: PerDir<u64>,
}

impl Streams {
    #[inline]
    pub(super) fn add(&mut self, dir: Dir, offset: Bytes, len: Bytes) {
        let ends = &mut self.ends[dir];
        let end = offset.0 + len.0;
        match ends.iter().position(|end| *end == offset.0) {
            Some(stream) => {
                self.sequential[dir] += u64::from(stream == 0);
                self.in_streams[dir] += 1;
                ends[..=stream].rotate_right(1);
                ends[0] = end;
            }
            None if ends.len() < REMEMBERED => ends.insert(0, end),
            None => {
                ends.rotate_right(1);
                ends[0] = end;
            }
        }
    }

    /// I/Os in a direction that begin where the one before them ended, and those that begin where one of the 16
    /// before them ended.
    #[must_use]
    pub fn sequential(&self, dir: Dir) -> (u64, u64) {
        (self.sequential[dir], self.in_streams[dir])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interleaved_streams_are_sequential_in_streams() {
        let mut streams = Streams::default();
        for n in 0..100 {
            for stream in 0..3u64 {
                streams.add(Dir::Read, Bytes((stream << 30) + n * 4096), Bytes(4096));
            }
            streams.add(Dir::Write, Bytes(n * 512), Bytes(512));
        }
        assert_eq!(streams.sequential(Dir::Read), (0, 297));
        assert_eq!(streams.sequential(Dir::Write), (99, 99));
        assert_eq!(streams.sequential(Dir::Trim), (0, 0));
    }
}
