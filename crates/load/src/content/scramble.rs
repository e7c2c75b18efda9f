//! Random bytes that are different in every write: the default.
//!
//! How they are made depends on the size of the write, because a buffer is written again and again,
//! and storage that compresses looks for repetitions in records of up to 128 KiB (the default of ZFS,
//! the most of btrfs):
//!
//! - Below 128 KiB several writes can share a record. The bytes are new: that costs no more than
//!   setting them to a value would.
//! - From 128 KiB on a write fills a record alone. Each 512 byte sector gets a mark that no other
//!   sector of the job has ever had, so no two blocks are equal, whatever block size storage looks
//!   for duplicates with. Only one cache line in eight is touched.
//!
//! In a job that also reads, a buffer may hold what was read. A signature in its first bytes tells;
//! without it the buffer is filled anew.

use super::random::Lanes;
use super::reads::Reads;
use crate::{Content, Io};

/// Bytes between two marks.
const SECTOR: usize = 512;

/// A write of this size or more fills a record of compressing storage alone.
const RECORD: usize = 128 << 10;

/// Added for each mark: odd, so all 2^64 marks are different; no mark looks like its neighbours.
const STRIDE: u64 = 0x9e37_79b9_7f4a_7c15;

/// Random bytes that differ in every write (`scramble_buffers`).
#[derive(Debug, Clone)]
pub struct Scramble {
    lanes: Lanes,
    mark: u64,
    /// Makes signatures of this job, in this run.
    secret: u64,
    reads: Reads,
}

impl Scramble {
    /// Random bytes and the first mark from `lanes`. `reads`: whether buffers are also read into.
    pub fn new(mut lanes: Lanes, reads: Reads) -> Self {
        let mark = lanes.word();
        let secret = lanes.word();
        Scramble { lanes, mark, secret, reads }
    }

    /// A number that depends on `word`, and that nobody else would write behind it.
    fn signature(&self, word: [u8; 8]) -> [u8; 8] {
        let mixed = (u64::from_le_bytes(word) ^ self.secret).wrapping_mul(STRIDE);
        (mixed ^ (mixed >> 32)).wrapping_mul(STRIDE).to_le_bytes()
    }

    /// Whether the buffer still holds what this content put there.
    fn intact(&self, buffer: &[u8]) -> bool {
        let signed = buffer.first_chunk::<16>().is_some_and(|start| {
            let (words, _) = start.as_chunks::<8>();
            words[1] == self.signature(words[0])
        });
        signed && self.reads == Reads::SameBlocks
    }

    fn sign(&mut self, buffer: &mut [u8]) {
        self.mark = self.mark.wrapping_add(STRIDE);
        if let Some(start) = buffer.first_chunk_mut::<16>() {
            let (words, _) = start.as_chunks_mut::<8>();
            words[0] = self.mark.to_le_bytes();
            words[1] = self.signature(words[0]);
        }
    }

    /// Marks lie in another cache line of each eighth sector: at the same place in all, they would
    /// fall into a few sets of the cache and push each other out.
    fn mark_sectors(&mut self, buffer: &mut [u8]) {
        let mut mark = self.mark;
        let (groups, rest) = buffer.as_chunks_mut::<{ 8 * SECTOR }>();
        for (i, group) in groups.iter_mut().enumerate() {
            let line = i % 8 * 64;
            for sector in group.as_chunks_mut::<SECTOR>().0 {
                mark = mark.wrapping_add(STRIDE);
                sector[line..line + 8].copy_from_slice(&mark.to_le_bytes());
            }
        }
        for sector in rest.chunks_mut(SECTOR) {
            mark = mark.wrapping_add(STRIDE);
            let room = sector.len().min(8);
            sector[..room].copy_from_slice(&mark.to_be_bytes()[..room]);
        }
        self.mark = mark;
    }
}

impl Content for Scramble {
    fn prepare(&mut self, buffer: &mut [u8]) {
        self.lanes.fill(buffer);
    }

    #[inline]
    fn fill(&mut self, buffer: &mut [u8], _: &Io) {
        if buffer.len() < RECORD {
            return self.lanes.fill(buffer);
        }
        if self.reads == Reads::None {
            return self.mark_sectors(buffer);
        }
        if self.intact(buffer) {
            self.mark_sectors(buffer);
        } else {
            self.lanes.fill(buffer);
        }
        self.sign(buffer);
    }
}
