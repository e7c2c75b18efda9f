//! Layout of random and compressible bytes in a block.
//!
//! A block is divided into chunks. Each chunk begins with random bytes and ends with compressible
//! ones (zeros, or the pattern from its start). The number of random bytes follows from the
//! requested share, minus what a compressor spends to encode a repetition, so that the compressed
//! size matches the request and is not slightly larger. Rounding is carried over from chunk to
//! chunk.

use fiord_plan::Compress;

use super::duplicates::BLOCK;
use super::pattern::RepeatedPattern;
use crate::{Content, LoadError};

/// Smallest chunk in bytes. Below it LZ4 and zstd differ too much for one layout to suit both,
/// because what they spend to encode a repetition is no longer small compared with the repetition.
const SMALLEST_CHUNK: usize = 256;

/// A shorter run of compressible bytes saves a compressor nothing.
const WORTHWHILE: usize = 8;

/// Where the random bytes of each chunk end, and what follows them.
#[derive(Debug, Clone)]
pub struct CompressibleLayout {
    /// Share of random bytes, in per cent.
    random: usize,
    chunk: usize,
    pattern: Option<RepeatedPattern>,
    /// The compressible bytes of the longest chunk so far, without the values of `%o`.
    tile: Vec<u8>,
}

impl CompressibleLayout {
    /// The layout of a plan, with chunks of at most `most` bytes.
    ///
    /// # Errors
    ///
    /// The pattern is empty, or a file of the pattern was not read.
    pub fn new(compress: &Compress, most: usize) -> Result<Self, LoadError> {
        let chunk = match compress.chunk.0 as usize {
            0 => most,
            chunk => chunk.clamp(SMALLEST_CHUNK, most),
        };
        let pattern = if compress.pattern.is_empty() {
            None
        } else {
            Some(RepeatedPattern::new(&compress.pattern, true)?)
        };
        let random = 100 - usize::from(compress.percent.min(100));
        Ok(CompressibleLayout { random, chunk, pattern, tile: Vec::new() })
    }

    /// Length in bytes of as many whole chunks as fit into `most`, at least one.
    #[must_use]
    pub fn chunks_of(&self, most: usize) -> usize {
        if self.chunk < most { most / self.chunk * self.chunk } else { self.chunk }
    }

    /// Puts the compressible bytes into a buffer of random bytes. `offset` is the offset of the
    /// I/O; `mark` returns random bits.
    pub fn lay(&mut self, buffer: &mut [u8], offset: u64, mut mark: impl FnMut() -> u64) {
        let longest = self.chunk.min(buffer.len());
        if self.tile.len() < longest {
            self.tile.resize(longest, 0);
            if let Some(pattern) = &mut self.pattern {
                pattern.prepare(&mut self.tile);
            }
        }
        let CompressibleLayout { random, chunk, pattern, tile } = self;
        // Bytes that still have to be compressible, in hundredths of a byte.
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

/// Number of compressible bytes at the end of a chunk that lets a compressor save `owed` bytes. 0
/// if they are so few that the next chunk should have them.
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

/// Bytes that a compressor spends on `literals` bytes without repetition and a `run` of repeated
/// bytes: between what LZ4 (a token, two bytes of offset, another byte for lengths from 15 on and
/// for each further 255) and zstd need.
fn spent(literals: usize, run: usize) -> usize {
    2 + usize::from(literals > 14) + literals / 255 + usize::from(run > 14) + run / 255 / 4
}

/// Makes each 4 KiB different from all others: marks them with a few random bytes if the requested
/// share leaves them none.
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
