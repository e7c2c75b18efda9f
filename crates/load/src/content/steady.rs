//! Contents that are put into a buffer once and stay there. If the job also reads into the buffers,
//! they are put back before each write.

use super::random::Lanes;
use crate::{Content, Io};

/// All zeros (`zero_buffers`).
#[derive(Debug, Clone, Copy)]
pub struct Zero {
    /// The job also reads into the buffers.
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

/// Random bytes that are the same in every write from a slot (`scramble_buffers=0`), or in every
/// write of the job if it also reads.
#[derive(Debug, Clone)]
pub struct Fixed {
    lanes: Lanes,
    /// The job also reads into the buffers.
    pub put_back: bool,
}

impl Fixed {
    /// Draws the random bytes from `lanes`.
    #[must_use]
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
