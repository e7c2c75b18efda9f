//! Where the range lists of deallocations lie while the kernel reads them.

use super::command::{NvmeCommand, Range};
use super::space::Space;
use crate::{Op, Slot, TrimRange};

/// The lists, one a slot.
#[derive(Debug)]
pub struct RangeLists {
    lists: Vec<Range>,
    /// Room of a list.
    most: usize,
    /// Bytes of each range of a slot's next trim, where it has several.
    told: Vec<Vec<TrimRange>>,
}

impl RangeLists {
    /// For this many slots, with room for so many ranges each.
    pub fn new(slots: u32, most: u32) -> Self {
        let (slots, most) = (slots as usize, most.max(1) as usize);
        let told = if most > 1 { vec![Vec::with_capacity(most); slots] } else { Vec::new() };
        RangeLists { lists: vec![Range::default(); slots * most], most, told }
    }

    /// Never gives the lists back: the kernel may still be reading them. A deallocation that is read
    /// from memory of someone else takes away the wrong blocks.
    pub fn leak(&mut self) {
        std::mem::forget(std::mem::take(&mut self.lists));
    }

    /// The ranges of the slot's next trim.
    pub fn tell(&mut self, slot: Slot, ranges: &[TrimRange]) {
        if let Some(told) = self.told.get_mut(slot as usize) {
            told.clear();
            told.extend(ranges.iter().take(self.most));
        }
    }

    /// The command for a trim; its list is the slot's until the command has ended.
    pub fn command(&mut self, slot: Slot, space: &Space, op: &Op) -> NvmeCommand {
        let first = slot as usize * self.most;
        let list = &mut self.lists[first..first + self.most];
        let one = [TrimRange { offset: op.offset, len: op.len }];
        let ranges = match self.told.get(slot as usize) {
            Some(told) if !told.is_empty() => &told[..],
            _ => &one[..],
        };
        for (place, range) in list.iter_mut().zip(ranges) {
            let (start, blocks) = space.blocks(range.offset, range.len);
            *place = Range { attributes: 0, blocks, start };
        }
        NvmeCommand::deallocate(space, &list[..ranges.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OpKind, Tag};

    #[test]
    fn a_list_has_the_ranges_that_were_told() {
        let mut lists = RangeLists::new(2, 3);
        let op = Op { kind: OpKind::Trim, file: 0, offset: 512, len: 1536, at: 0, tag: Tag::PLAIN };
        let range = |offset, len| TrimRange { offset, len };
        lists.tell(1, &[range(512, 512), range(8192, 1024)]);
        let command = lists.command(1, &Space::NONE, &op);
        assert_eq!((command.cdw10, command.data_len), (1, 32));
        let expected = |start, blocks| Range { attributes: 0, blocks, start };
        assert_eq!(lists.lists[3..5], [expected(1, 1), expected(16, 2)]);
        // A slot that was told nothing trims what the op says.
        let command = lists.command(0, &Space::NONE, &op);
        assert_eq!((command.cdw10, lists.lists[0]), (0, expected(1, 3)));
        let single = RangeLists::new(1, 1).command(0, &Space::NONE, &op);
        assert_eq!((single.cdw10, single.data_len), (0, 16));
    }
}
