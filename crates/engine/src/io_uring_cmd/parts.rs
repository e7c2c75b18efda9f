//! Ops that are split into several commands (`nvme_split`).

use crate::{Outcome, Slot};

/// Progress of each slot's op.
#[derive(Debug, Default)]
pub(super) struct Parts {
    slots: Vec<OpProgress>,
}

#[derive(Debug, Clone, Copy)]
struct OpProgress {
    /// Number of commands that have not completed.
    left: u32,
    /// Number of bytes that the completed commands transferred, or the first failure.
    outcome: Outcome,
}

impl Parts {
    /// State for this many slots.
    pub(super) fn new(slots: u32) -> Self {
        Parts { slots: vec![OpProgress { left: 0, outcome: Outcome::ok(0) }; slots as usize] }
    }

    /// The slot's op is split into this many commands.
    pub(super) fn begin(&mut self, slot: Slot, commands: u32) {
        self.slots[slot as usize] = OpProgress { left: commands, outcome: Outcome::ok(0) };
    }

    /// One command of the slot's op has completed. Returns the outcome of the op if it was the last
    /// command.
    pub(super) fn end(&mut self, slot: Slot, part: Outcome) -> Option<Outcome> {
        let whole = &mut self.slots[slot as usize];
        whole.left = whole.left.saturating_sub(1);
        whole.outcome = match (whole.outcome.get(), part.get()) {
            (Err(_), _) => whole.outcome,
            (_, Err(_)) => part,
            (Ok(so_far), Ok(bytes)) => Outcome::ok(so_far + bytes),
        };
        (whole.left == 0).then_some(whole.outcome)
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::Errno;

    use super::*;

    #[test]
    fn the_last_part_ends_the_op() {
        let mut parts = Parts::new(2);
        parts.begin(1, 3);
        assert_eq!(parts.end(1, Outcome::ok(4096)), None);
        assert_eq!(parts.end(1, Outcome::ok(4096)), None);
        assert_eq!(parts.end(1, Outcome::ok(512)), Some(Outcome::ok(8704)));
    }

    #[test]
    fn the_first_failure_is_the_outcome_of_the_op() {
        let mut parts = Parts::new(1);
        parts.begin(0, 3);
        assert_eq!(parts.end(0, Outcome::nvme(0x4080)), None);
        assert_eq!(parts.end(0, Outcome::err(Errno::EIO)), None);
        assert_eq!(parts.end(0, Outcome::ok(512)), Some(Outcome::nvme(0x4080)));
        // The next op of the slot starts over.
        parts.begin(0, 1);
        assert_eq!(parts.end(0, Outcome::ok(1)), Some(Outcome::ok(1)));
    }
}
