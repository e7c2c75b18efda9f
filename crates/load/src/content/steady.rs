//! Contents that are put into a buffer once and stay.

use super::random::Lanes;
use crate::{Content, Io};

/// All zero (`zero_buffers`).
#[derive(Debug, Clone, Copy)]
pub struct Zero;

impl Content for Zero {
    fn prepare(&mut self, buffer: &mut [u8]) {
        buffer.fill(0);
    }
    #[inline]
    fn fill(&mut self, _: &mut [u8], _: &Io) {}
}

/// Random, the same in every write from a slot (`scramble_buffers=0`).
#[derive(Debug, Clone)]
pub struct Fixed {
    lanes: Lanes,
}

impl Fixed {
    /// Random bytes from `lanes`.
    pub fn new(lanes: Lanes) -> Self {
        Fixed { lanes }
    }
}

impl Content for Fixed {
    fn prepare(&mut self, buffer: &mut [u8]) {
        self.lanes.fill(buffer);
    }
    #[inline]
    fn fill(&mut self, _: &mut [u8], _: &Io) {}
}
