//! The cycles of a job whose engine does no I/O.

use fiord_plan::JobPlan;
use fiord_types::{Dir, FileIndex};

use crate::{Io, IoAttributes, Next};

/// Cycles until `number_ios`, or without end. A cycle counts as a read of 0 bytes.
#[derive(Debug, Clone)]
pub struct Cycles {
    /// Cycles of one loop.
    each: u64,
    left: u64,
}

impl Cycles {
    pub(super) fn new(job: &JobPlan) -> Self {
        let timed = job.end.time_based && job.end.runtime.is_some();
        let each = job.end.ios.filter(|_| !timed).unwrap_or(u64::MAX);
        Cycles { each, left: each }
    }

    pub(super) fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        if self.left < u64::MAX {
            self.left -= 1;
        }
        let (file, attributes) = (FileIndex(0), IoAttributes::PLAIN);
        Next::Io(Io { dir: Dir::Read, file, offset: 0, len: 0, attributes })
    }

    /// The next loop begins.
    pub(super) fn restart(&mut self) {
        self.left = self.each;
    }
}
