//! Comparisons by the device (`verify_mode=compare`): a Compare that finds a difference becomes a read, so that the data
//! of the device can be judged.

use fiord_sys::nvme::Status;
use fiord_sys::nvme::status::CodeType;

use super::command::{NvmeCommand, opcode};
use crate::Slot;
use crate::io_uring::abi::Sqe128;

/// Status code of a media error: Compare Failure (NVM 3.1.2).
const COMPARE_FAILURE: u8 = 0x85;

/// The comparisons in flight.
#[derive(Debug)]
pub(super) struct Comparisons {
    /// For each slot with a comparison in flight, the entry that reads the blocks into the slot's buffer.
    reads: Box<[Option<Sqe128<NvmeCommand>>]>,
    /// The reads that follow comparisons that failed.
    next: Vec<Sqe128<NvmeCommand>>,
}

impl Comparisons {
    pub(super) fn new(slots: u32) -> Self {
        Comparisons { reads: vec![None; slots as usize].into(), next: Vec::new() }
    }

    /// Makes a Compare of the entry of a read.
    pub(super) fn begin(&mut self, slot: Slot, read: &mut Sqe128<NvmeCommand>) {
        if let Some(place) = self.reads.get_mut(slot as usize) {
            *place = Some(*read);
            read.command.opcode = opcode::COMPARE;
        }
    }

    /// A command of a slot has completed with an error status. Whether it was a Compare that found a difference: then a
    /// read follows, and the op has not ended.
    #[cold]
    pub(super) fn reads_again(&mut self, slot: Slot, status: i32) -> bool {
        // The next op of the slot may be something other than a comparison.
        let Some(read) = self.reads.get_mut(slot as usize).and_then(Option::take) else {
            return false;
        };
        let status = Status(status as u16);
        let differs = status.code_type() == CodeType::Media && status.code() == COMPARE_FAILURE;
        if differs {
            self.next.push(read);
        }
        differs
    }

    /// The next read that follows a comparison that failed.
    pub(super) fn next_read(&mut self) -> Option<Sqe128<NvmeCommand>> {
        self.next.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_difference_becomes_a_read() {
        let mut comparisons = Comparisons::new(2);
        let read = NvmeCommand { opcode: opcode::READ, cdw10: 7, ..NvmeCommand::default() };
        let read = Sqe128 { command: read, ..Sqe128::default() };
        for (status, follows) in [(0x285, true), (0x4285, true), (0x281, false), (0x85, false)] {
            let mut sent = read;
            comparisons.begin(1, &mut sent);
            assert_eq!((sent.command.opcode, sent.command.cdw10), (opcode::COMPARE, 7));
            assert!(!comparisons.reads_again(0, status), "no comparison is in slot 0");
            assert_eq!(comparisons.reads_again(1, status), follows, "{status:#x}");
            let next = comparisons.next_read().map(|next| next.command);
            assert_eq!(next, follows.then_some(read.command));
            assert!(!comparisons.reads_again(1, status), "the read itself is not a comparison");
        }
    }
}
