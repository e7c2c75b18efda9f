//! The time of events: it does not decrease, and it makes no implausible leaps.

use fiord_types::Nanos;

use super::error::{RowProblem, TraceNotes};

/// Checks the times of a trace.
#[derive(Debug)]
pub(super) struct Timeline {
    /// The latest time that was read.
    read: Option<Nanos>,
    /// The latest time that an event got.
    placed: Nanos,
    longest_gap: Nanos,
}

impl Timeline {
    pub(super) fn new(longest_gap: Nanos) -> Self {
        Timeline { read: Some(Nanos::ZERO), placed: Nanos::ZERO, longest_gap }
    }

    /// A timeline that begins at the first time that is checked.
    pub(super) fn floating(longest_gap: Nanos) -> Self {
        Timeline { read: None, placed: Nanos::ZERO, longest_gap }
    }

    /// Checks a time before the event with it enters a window.
    #[inline]
    pub(super) fn check(&mut self, time: Nanos) -> Result<(), RowProblem> {
        let read = self.read.unwrap_or(time);
        let gap = time.saturating_sub(read);
        if gap > self.longest_gap {
            return Err(RowProblem::Gap { gap, most: self.longest_gap });
        }
        self.read = Some(read.max(time));
        Ok(())
    }

    /// The time that an event at `time` gets: `time`, or the latest time so far, if that is later.
    #[inline]
    pub(super) fn place(&mut self, time: Nanos, notes: &mut TraceNotes) -> Nanos {
        if time < self.placed {
            notes.backwards += 1;
            notes.furthest_back = notes.furthest_back.max(self.placed - time);
        }
        self.placed = self.placed.max(time);
        self.placed
    }

    /// The latest time that was read.
    pub(super) fn latest_read(&self) -> Nanos {
        self.read.unwrap_or(Nanos::ZERO)
    }
}
