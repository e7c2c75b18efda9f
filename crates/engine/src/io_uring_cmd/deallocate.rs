//! Memory for the range lists of deallocations while the kernel reads them.

use super::command::{BlockRange, NvmeCommand};
use super::space::NamespaceBlocks;
use crate::{Op, Slot, TrimRange};

/// The range lists, one per slot.
#[derive(Debug)]
pub(super) struct RangeLists {
    lists: Vec<BlockRange>,
    /// Maximum number of ranges of a list.
    most: usize,
    /// The ranges of each slot's next trim; empty if each trim has one range.
    next: Vec<Vec<TrimRange>>,
}

impl RangeLists {
    /// Allocates lists of `most` ranges for `slots` slots.
    pub(super) fn new(slots: u32, most: u32) -> Self {
        let (slots, most) = (slots as usize, most.max(1) as usize);
        let next = if most > 1 { vec![Vec::with_capacity(most); slots] } else { Vec::new() };
        RangeLists { lists: vec![BlockRange::default(); slots * most], most, next }
    }

    /// Leaks the lists. If the kernel read a list from memory that has been reused, it would
    /// deallocate the wrong blocks.
    pub(super) fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.lists));
    }

    /// Sets the ranges of the slot's next trim.
    pub(super) fn set_ranges(&mut self, slot: Slot, ranges: &[TrimRange]) {
        if let Some(next) = self.next.get_mut(slot as usize) {
            next.clear();
            next.extend(ranges.iter().take(self.most));
        }
    }

    /// The command for a trim. The slot's list belongs to the command until it has completed.
    pub(super) fn command(&mut self, slot: Slot, space: &NamespaceBlocks, op: &Op) -> NvmeCommand {
        let first = slot as usize * self.most;
        let list = &mut self.lists[first..first + self.most];
        let one = [TrimRange { offset: op.offset, len: op.len }];
        let ranges = match self.next.get(slot as usize) {
            Some(next) if !next.is_empty() => &next[..],
            _ => &one[..],
        };
        for (place, range) in list.iter_mut().zip(ranges) {
            let (start, blocks) = space.blocks(range.offset, range.len);
            *place = BlockRange { attributes: 0, blocks, start };
        }
        NvmeCommand::deallocate(space, &list[..ranges.len()])
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::FileIndex;

    use super::*;
    use crate::{IoAttributes, OpKind};

    #[test]
    fn a_list_holds_the_ranges_that_were_set() {
        let mut lists = RangeLists::new(2, 3);
        let op = Op {
            kind: OpKind::Trim,
            file: FileIndex(0),
            offset: 512,
            len: 1536,
            at: 0,
            attributes: IoAttributes::PLAIN,
        };
        let range = |offset, len| TrimRange { offset, len };
        lists.set_ranges(1, &[range(512, 512), range(8192, 1024)]);
        let command = lists.command(1, &NamespaceBlocks::NONE, &op);
        assert_eq!((command.cdw10, command.data_len), (1, 32));
        let expected = |start, blocks| BlockRange { attributes: 0, blocks, start };
        assert_eq!(lists.lists[3..5], [expected(1, 1), expected(16, 2)]);
        // A slot without ranges trims the range of the op.
        let command = lists.command(0, &NamespaceBlocks::NONE, &op);
        assert_eq!((command.cdw10, lists.lists[0]), (0, expected(1, 3)));
        let single = RangeLists::new(1, 1).command(0, &NamespaceBlocks::NONE, &op);
        assert_eq!((single.cdw10, single.data_len), (0, 16));
    }
}
