//! Where in a block random and compressible bytes lie.
//!
//! A block is cut into chunks; each begins with random bytes and ends with compressible ones (zeros
//! or the pattern from its start). How many are random follows from the share asked for, less what a
//! compressor spends to say that a stretch repeats: the compressed size is what was asked for, not a
//! little more. Rounding is carried from chunk to chunk.

use fiord_plan::Compress;

use super::duplicates::BLOCK;
use super::pattern::Pattern;
use crate::{Content, LoadError};

/// Below this LZ4 and zstd differ by too much for one layout to suit both: what they spend on saying
/// that a stretch repeats is no longer small beside the stretch.
const SMALLEST_CHUNK: usize = 256;

/// A shorter run saves a compressor nothing.
const WORTHWHILE: usize = 8;

/// Where the random bytes end in each chunk, and what comes after them.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Share of random bytes, in per cent.
    random: usize,
    chunk: usize,
    pattern: Option<Pattern>,
    /// The compressible bytes of the longest chunk so far, but for `%o`.
    tile: Vec<u8>,
}

impl Layout {
    /// Of a plan; chunks are no longer than `most`.
    pub fn new(compress: &Compress, most: usize) -> Result<Self, LoadError> {
        let chunk = match compress.chunk as usize {
            0 => most,
            chunk => chunk.clamp(SMALLEST_CHUNK, most),
        };
        let pattern = if compress.pattern.is_empty() {
            None
        } else {
            Some(Pattern::new(&compress.pattern, true)?)
        };
        let random = 100 - usize::from(compress.percent.min(100));
        Ok(Layout { random, chunk, pattern, tile: Vec::new() })
    }

    /// Bytes of as many whole chunks as fit into `most`, but one at least.
    pub fn chunks_of(&self, most: usize) -> usize {
        if self.chunk < most { most / self.chunk * self.chunk } else { self.chunk }
    }

    /// Puts the compressible bytes over a buffer of random ones. `offset` is the I/O's; `mark` gives
    /// random bits.
    pub fn lay(&mut self, buffer: &mut [u8], offset: u64, mut mark: impl FnMut() -> u64) {
        let longest = self.chunk.min(buffer.len());
        if self.tile.len() < longest {
            self.tile.resize(longest, 0);
            if let Some(pattern) = &mut self.pattern {
                pattern.prepare(&mut self.tile);
            }
        }
        let Layout { random, chunk, pattern, tile } = self;
        // What is still to be compressible, in hundredths of a byte.
        let mut owed = 0;
        for chunk in buffer.chunks_mut(*chunk) {
            owed += chunk.len() * (100 - *random);
            let run = run_of(chunk.len(), owed / 100);
            if run == 0 {
                continue;
            }
            owed %= 100;
            let from = chunk.len() - run;
            let rest = &mut chunk[from..];
            rest.copy_from_slice(&tile[..run]);
            if let Some(pattern) = pattern {
                pattern.put_offset(rest, offset);
            }
        }
        if *random > 0 {
            mark_blocks(buffer, *chunk, *random, &mut mark);
        }
    }
}

/// How many bytes at the end of a chunk are compressible for a compressor to save `owed`; none if
/// that is so little that it pays to wait for the next chunk.
#[inline]
fn run_of(len: usize, owed: usize) -> usize {
    if owed >= len {
        len
    } else if owed < WORTHWHILE {
        0
    } else {
        (owed + spent(len - owed, owed)).min(len)
    }
}

/// Bytes that a compressor spends on `literals` that do not repeat and a `run` that does, between
/// what LZ4 (a token, two bytes of offset, a byte more for lengths from 15 and each 255 beyond) and
/// zstd need.
fn spent(literals: usize, run: usize) -> usize {
    2 + usize::from(literals > 14) + literals / 255 + usize::from(run > 14) + run / 255 / 4
}

/// Each 4 KiB must be told from every other, so each has a few bytes that are random even if the
/// share asked for leaves it none.
fn mark_blocks(buffer: &mut [u8], chunk: usize, share: usize, mark: &mut impl FnMut() -> u64) {
    let large = chunk > BLOCK || chunk * share / 100 < 16;
    if !large {
        return;
    }
    let room = if buffer.len() < BLOCK { 4 } else { 8 };
    for block in buffer.chunks_mut(BLOCK) {
        let room = room.min(block.len());
        block[..room].copy_from_slice(&mark().to_le_bytes()[..room]);
    }
}
