//! Jobs with fewer `openfiles` than files: a pass over their maps or zones, or a batch of `verify_backlog`, opens one file
//! after another.

use std::collections::VecDeque;

use fiord_types::FileIndex;

use crate::hook::Extra;

/// Opens the file that a pass reads.
#[derive(Debug)]
pub(super) struct FileTurns {
    /// All files are open all the time.
    stay_open: bool,
    /// Files must be flushed before they are read: the job writes.
    settles: bool,
    current: Option<FileIndex>,
    /// The job may have closed the current file since the last read.
    may_be_closed: bool,
    controls: VecDeque<Extra>,
}

impl FileTurns {
    pub(super) fn new(stay_open: bool, settles: bool) -> Self {
        let controls = VecDeque::new();
        FileTurns { stay_open, settles, current: None, may_be_closed: false, controls }
    }

    /// Whether a pass can read a file. If not, the [controls](Self::control) make it so.
    pub(super) fn enter(&mut self, file: FileIndex) -> bool {
        let entered = self.enter_between_writes(file);
        if !entered && self.settles {
            self.controls.push_back(Extra::Settle(file));
        }
        entered
    }

    /// Whether a batch of `verify_backlog` can read a file. If not, the [controls](Self::control) make it so.
    pub(super) fn enter_between_writes(&mut self, file: FileIndex) -> bool {
        if self.stay_open || self.current == Some(file) && !self.may_be_closed {
            return true;
        }
        if self.current != Some(file) {
            self.leave();
        }
        self.current = Some(file);
        self.may_be_closed = false;
        self.controls.push_back(Extra::Visit(file));
        false
    }

    /// The job continues, and may open and close files.
    pub(super) fn job_continues(&mut self) {
        self.may_be_closed = true;
    }

    /// The pass reads no more. False if there is nothing to close.
    pub(super) fn leave(&mut self) -> bool {
        let left = self.current.take();
        self.controls.extend(left.map(Extra::Leave));
        left.is_some()
    }

    /// Whether files must be opened or closed before the next read.
    pub(super) fn is_due(&self) -> bool {
        !self.controls.is_empty()
    }

    /// The next operation. No op may be in flight.
    pub(super) fn control(&mut self) -> Option<Extra> {
        self.controls.pop_front()
    }
}
