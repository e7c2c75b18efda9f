//! Contents of the simulated device: the blocks that were written, and zeros elsewhere.

use std::collections::HashMap;

const BLOCK: u64 = 4096;

/// Contents by file and block number.
#[derive(Debug, Default)]
pub(super) struct Store {
    blocks: HashMap<(u32, u64), Box<[u8; BLOCK as usize]>>,
}

impl Store {
    /// Copies the bytes of a file from `offset` on to `data`.
    pub(super) fn read(&self, file: u32, offset: u64, data: &mut [u8]) {
        each_block(offset, data.len(), |block, within, range| {
            let part = &mut data[range];
            match self.blocks.get(&(file, block)) {
                Some(held) => part.copy_from_slice(&held[within..within + part.len()]),
                None => part.fill(0),
            }
        });
    }

    /// Copies `data` to a file from `offset` on.
    pub(super) fn write(&mut self, file: u32, offset: u64, data: &[u8]) {
        each_block(offset, data.len(), |block, within, range| {
            let held =
                self.blocks.entry((file, block)).or_insert_with(|| Box::new([0; BLOCK as usize]));
            let part = &data[range];
            held[within..within + part.len()].copy_from_slice(part);
        });
    }

    /// Zeroes `len` bytes of a file from `offset` on.
    pub(super) fn trim(&mut self, file: u32, offset: u64, len: u32) {
        each_block(offset, len as usize, |block, within, range| {
            if range.len() as u64 == BLOCK {
                self.blocks.remove(&(file, block));
            } else if let Some(held) = self.blocks.get_mut(&(file, block)) {
                held[within..within + range.len()].fill(0);
            }
        });
    }
}

/// Calls `each` for every block that a range touches, with the number of the block, the position of
/// the part in the block, and the position of the part in the range.
fn each_block(offset: u64, len: usize, mut each: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < len {
        let at = offset + done as u64;
        let within = (at % BLOCK) as usize;
        let part = (BLOCK as usize - within).min(len - done);
        each(at / BLOCK, within, done..done + part);
        done += part;
    }
}
