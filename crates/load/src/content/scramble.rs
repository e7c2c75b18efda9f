//! Random bytes, made once, and made different before each write: the default.
//!
//! Each 512 byte sector begins with a number that no other sector of the job has ever had, so no two
//! blocks that are written are equal, whatever block size the storage looks for duplicates with.
//! Only one cache line in eight is touched.

use super::random::Lanes;
use crate::{Content, Io};

/// Bytes between two marks.
const SECTOR: usize = 512;

/// Added for each mark: odd, so all 2^64 marks are different; no mark looks like its neighbours.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random bytes with a different mark in every sector of every write (`scramble_buffers`).
#[derive(Debug, Clone)]
pub struct Scramble {
    lanes: Lanes,
    mark: u64,
}

impl Scramble {
    /// Random bytes and the first mark from `lanes`.
    pub fn new(mut lanes: Lanes) -> Self {
        let mark = lanes.word();
        Scramble { lanes, mark }
    }
}

impl Content for Scramble {
    fn prepare(&mut self, buffer: &mut [u8]) {
        self.lanes.fill(buffer);
    }

    #[inline]
    fn fill(&mut self, buffer: &mut [u8], _: &Io) {
        let mut mark = self.mark;
        for sector in buffer.chunks_mut(SECTOR) {
            mark = mark.wrapping_add(STRIDE);
            match sector.first_chunk_mut::<8>() {
                Some(start) => *start = mark.to_le_bytes(),
                None => sector.copy_from_slice(&mark.to_be_bytes()[..sector.len()]),
            }
        }
        self.mark = mark;
    }
}
