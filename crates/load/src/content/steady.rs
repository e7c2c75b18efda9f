//! Contents that are put into a buffer once and stay, unless the job also reads: then they are put
//! back before each write, for the buffer may hold what was read.

use super::random::Lanes;
use crate::{Content, Io};

/// All zero (`zero_buffers`).
#[derive(Debug, Clone, Copy)]
pub struct Zero {
    /// Buffers are also read into.
    pub put_back: bool,
}

impl Content for Zero {
    fn prepare(&mut self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], _: &Io) {
        if self.put_back {
            buffer.fill(0);
        }
    }
}

/// Random, the same in every write from a slot (`scramble_buffers=0`); in every write of the job if
/// it also reads.
#[derive(Debug, Clone)]
pub struct Fixed {
    lanes: Lanes,
    /// Buffers are also read into.
    pub put_back: bool,
}

impl Fixed {
    /// Random bytes from `lanes`.
    pub fn new(lanes: Lanes, put_back: bool) -> Self {
        Fixed { lanes, put_back }
    }
}

impl Content for Fixed {
    fn prepare(&mut self, buffer: &mut [u8]) {
        if self.put_back {
            self.lanes.clone().fill(buffer);
        } else {
            self.lanes.fill(buffer);
        }
    }
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], _: &Io) {
        if self.put_back {
            self.lanes.clone().fill(buffer);
        }
    }
}
