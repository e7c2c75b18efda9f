//! Where the range lists of deallocations lie while the kernel reads them.

use super::command::{NvmeCommand, Range};
use super::space::Space;
use crate::{Op, Slot};

/// The lists, one a slot.
#[derive(Debug)]
pub struct RangeLists {
    lists: Vec<Range>,
}

impl RangeLists {
    /// For this many slots.
    pub fn new(slots: u32) -> Self {
        RangeLists { lists: vec![Range::default(); slots as usize] }
    }

    /// The command for a trim; its list is the slot's until the command has ended.
    pub fn command(&mut self, slot: Slot, space: &Space, op: &Op) -> NvmeCommand {
        let (start, blocks) = space.blocks(op.offset, op.len);
        let list = &mut self.lists[slot as usize..=slot as usize];
        list[0] = Range { attributes: 0, blocks, start };
        NvmeCommand::deallocate(space, list)
    }
}
