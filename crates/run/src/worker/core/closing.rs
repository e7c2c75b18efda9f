//! The end of a job that trims and then writes each block (`trimwrite`). Whatever ends it, it writes the blocks that it has
//! trimmed.

use fiord_load::{Io, Next};
use fiord_plan::Mix;
use fiord_types::Dir;

use super::JobState;
use crate::error::Stage;

impl JobState<'_> {
    /// Whether the job writes each block that it trims.
    pub(crate) fn has_pairs(&self) -> bool {
        self.job.load.mix == Mix::TrimWrite
    }

    /// The loop has ended. Whether it continues until the blocks that it has trimmed are written: true at most once. An
    /// error that ended the job is kept meanwhile.
    #[cold]
    #[inline(never)]
    pub(crate) fn wind_down(&mut self) -> bool {
        if self.winding_down {
            self.error = self.ended_by.take().or(self.error.take());
            return false;
        }
        if !self.has_pairs() {
            return false;
        }
        self.ended_by = self.error.take();
        (self.winding_down, self.closing, self.deadline) = (true, true, u64::MAX);
        true
    }

    /// Whether an operation that was held back is not issued any more, because the job begins nothing new.
    pub(crate) fn drops(&mut self, held: &Next) -> bool {
        let Next::Io(io) = held else { return false };
        let pair = self.has_pairs();
        if !self.closing || pair && io.dir == Dir::Write {
            return false;
        }
        self.dropped_trim = pair.then_some(*io);
        true
    }

    /// Whether the block of this write was not trimmed: the job dropped the trim, or the trim failed and ended the job.
    /// The block is not written then.
    pub(crate) fn is_untrimmed(&self, write: &Io) -> bool {
        let dropped = self.dropped_trim.as_ref();
        if dropped.is_some_and(|trim| trim.file == write.file && trim.offset == write.offset) {
            return true;
        }
        self.ended_by.as_ref().is_some_and(|error| {
            error.stage == Stage::Trim
                && error.offset == Some(write.offset)
                && error.file.as_deref() == Some(self.files.path(write.file))
        })
    }
}
