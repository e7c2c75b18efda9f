//! Contents of which a requested share is compressible (`buffer_compress_percentage`), or duplicate
//! (`dedupe_percentage`), or both. New for each write.

use fiord_plan::Shape;

use super::compress::CompressibleLayout;
use super::duplicates::{BLOCK, Duplicates};
use super::random::Lanes;
use crate::{Content, Io, LoadError};

/// Random bytes with compressible ones between them, in blocks of which some are duplicates.
#[derive(Debug, Clone)]
pub struct Shaped {
    blocks: Blocks,
    duplicates: Option<Duplicates>,
    /// For parts of blocks.
    scratch: Box<[u8; BLOCK]>,
}

/// Generates blocks.
#[derive(Debug, Clone)]
struct Blocks {
    lanes: Lanes,
    layout: Option<CompressibleLayout>,
}

impl Shaped {
    /// The content of a plan. `own` provides the random bytes of this job; `shared` is the seed of
    /// those that all jobs of the run share.
    ///
    /// # Errors
    ///
    /// The pattern is empty, or a file of the pattern was not read.
    pub fn new(shape: &Shape, mut own: Lanes, shared: u64) -> Result<Self, LoadError> {
        let most = if shape.dedupe.is_some() { BLOCK } else { usize::MAX };
        let layout = match &shape.compress {
            Some(compress) => Some(CompressibleLayout::new(compress, most)?),
            None => None,
        };
        let duplicates = shape.dedupe.as_ref().map(|dedupe| {
            let contents = if dedupe.global { shared } else { own.word() };
            Duplicates::new(dedupe, own.word(), contents)
        });
        let blocks = Blocks { lanes: own, layout };
        Ok(Shaped { blocks, duplicates, scratch: Box::new([0; BLOCK]) })
    }
}

impl Blocks {
    fn new_bytes(&mut self, buffer: &mut [u8], offset: u64) {
        let Some(layout) = &mut self.layout else {
            return self.lanes.fill(buffer);
        };
        // Whole chunks, and if possible no more than the first-level cache holds.
        for piece in buffer.chunks_mut(layout.chunks_of(BLOCK)) {
            self.lanes.fill(piece);
            layout.lay(piece, offset, || self.lanes.word());
        }
    }

    fn old_bytes(&mut self, class: u64, duplicates: &Duplicates, block: &mut [u8; BLOCK]) {
        duplicates.fill(class, block);
        if let Some(layout) = &mut self.layout {
            // The mark of a duplicate block must repeat too, and no offset may be stored in the
            // block.
            layout.lay(block, 0, || duplicates.mark(class));
        }
    }

    fn block(&mut self, duplicates: &Duplicates, block: &mut [u8; BLOCK], offset: u64) {
        match duplicates.class_at(offset) {
            Some(class) => self.old_bytes(class, duplicates, block),
            None => self.new_bytes(block, offset),
        }
    }
}

impl Content for Shaped {
    fn prepare(&mut self, _buffer: &mut [u8]) {}

    /// With duplicates, the position in the file determines the contents of a 4 KiB block, so that
    /// parts written separately make up the intended block.
    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        let Some(duplicates) = &self.duplicates else {
            return self.blocks.new_bytes(buffer, io.offset);
        };
        let mut at = io.offset;
        let mut rest = buffer;
        while !rest.is_empty() {
            let within = (at % BLOCK as u64) as usize;
            let (piece, others) = rest.split_at_mut(rest.len().min(BLOCK - within));
            if let Some(whole) = piece.first_chunk_mut() {
                self.blocks.block(duplicates, whole, at);
            } else {
                self.blocks.block(duplicates, &mut self.scratch, at - within as u64);
                piece.copy_from_slice(&self.scratch[within..within + piece.len()]);
            }
            at += piece.len() as u64;
            rest = others;
        }
    }
}
