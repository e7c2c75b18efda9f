//! Layout of random and compressible bytes in a block.
//!
//! A block is divided into chunks. Each chunk begins with random bytes and ends with compressible
//! ones (zeros, or the pattern from its start). The number of random bytes follows from the
//! requested share, minus what a compressor spends to encode a repetition, so that the compressed
//! size matches the request and is not slightly larger. Rounding is carried over from chunk to
//! chunk.

use std::ops::Range;

use fiord_plan::Compress;

use super::duplicates::BLOCK;
use super::pattern::RepeatedPattern;
use crate::{Content, LoadError};

/// Minimum size of a chunk in bytes. Below it LZ4 and zstd differ too much for one layout to suit both,
/// because what they spend to encode a repetition is no longer small compared with the repetition.
const MIN_CHUNK: usize = 256;

/// A shorter run of compressible bytes saves a compressor nothing.
const WORTHWHILE: usize = 8;

/// Where the random bytes of each chunk end, and what follows them.
#[derive(Debug, Clone)]
pub struct CompressibleLayout {
    /// Share of random bytes, in per cent.
    random: usize,
    chunk: usize,
    pattern: Option<RepeatedPattern>,
    /// The compressible bytes of the longest chunk so far, without the values of `%o`; empty if they are zeros.
    tile: Vec<u8>,
    /// Where the compressible bytes of the last buffer were. Most buffers have one length, so this is seldom computed.
    runs: Vec<Range<usize>>,
    /// Length in bytes of the last buffer.
    laid_out: usize,
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
            chunk => chunk.clamp(MIN_CHUNK, most),
        };
        let pattern = if compress.pattern.is_empty() {
            None
        } else {
            Some(RepeatedPattern::new(&compress.pattern, true)?)
        };
        let random = 100 - usize::from(compress.percent.min(100));
        let (tile, runs) = (Vec::new(), Vec::new());
        Ok(CompressibleLayout { random, chunk, pattern, tile, runs, laid_out: 0 })
    }

    /// Length in bytes of as many whole chunks as fit into `most`, at least one.
    #[must_use]
    pub fn chunks_of(&self, most: usize) -> usize {
        if self.chunk < most { most / self.chunk * self.chunk } else { self.chunk }
    }

    /// Puts the compressible bytes into a buffer of random bytes. `offset` is the offset of the
    /// I/O; `mark` returns random bits.
    pub fn lay(&mut self, buffer: &mut [u8], offset: u64, mut mark: impl FnMut() -> u64) {
        if self.laid_out != buffer.len() {
            self.lay_out(buffer.len());
        }
        for run in &self.runs {
            let rest = &mut buffer[run.clone()];
            match &self.pattern {
                None => rest.fill(0),
                Some(pattern) => {
                    rest.copy_from_slice(&self.tile[..rest.len()]);
                    pattern.put_offset(rest, offset);
                }
            }
        }
        if self.random > 0 {
            mark_blocks(buffer, self.chunk, self.random, &mut mark);
        }
    }

    /// Computes where the compressible bytes of a buffer of `len` bytes are.
    #[inline(never)]
    fn lay_out(&mut self, len: usize) {
        self.laid_out = len;
        self.runs.clear();
        // Bytes that still have to be compressible, in hundredths of a byte.
        let mut owed = 0;
        let mut at = 0;
        while at < len {
            let chunk = self.chunk.min(len - at);
            at += chunk;
            owed += chunk * (100 - self.random);
            let run = run_of(chunk, owed / 100);
            if run > 0 {
                owed %= 100;
                self.runs.push(at - run..at);
            }
        }
        let longest = self.chunk.min(len);
        if let Some(pattern) = &mut self.pattern
            && self.tile.len() < longest
        {
            self.tile.resize(longest, 0);
            pattern.prepare(&mut self.tile);
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

#[cfg(test)]
mod tests {
    use fiord_job::option::value::PatternPart;
    use fiord_types::Bytes;

    use super::*;

    fn layout(percent: u8, chunk: u64, pattern: &[u8]) -> CompressibleLayout {
        let pattern = match pattern {
            [] => vec![],
            bytes => vec![PatternPart::Bytes(bytes.to_vec()), PatternPart::Offset],
        };
        let compress = Compress { percent, chunk: Bytes(chunk), pattern };
        CompressibleLayout::new(&compress, usize::MAX).unwrap()
    }

    fn laid(layout: &mut CompressibleLayout, len: usize) -> Vec<u8> {
        let mut buffer = vec![0xaa; len];
        layout.lay(&mut buffer, 0x1122_3344_5566, || 0xbbbb_bbbb_bbbb_bbbb);
        buffer
    }

    #[test]
    fn buffers_may_have_different_lengths() {
        for (percent, chunk, pattern) in [
            (50, 512, &b""[..]),
            (30, 0, b""),
            (50, 700, b"abc"),
            (99, 0, b"abcdef"),
            (100, 512, b""),
        ] {
            let mut one = layout(percent, chunk, pattern);
            for len in [4096, 4096, 1000, 4096, 1, 300, 0, 5000, 4096] {
                let expected = laid(&mut layout(percent, chunk, pattern), len);
                assert_eq!(laid(&mut one, len), expected, "{percent} % of {len} bytes");
            }
        }
    }

    #[test]
    fn each_chunk_ends_with_its_compressible_bytes() {
        let buffer = laid(&mut layout(50, 512, b""), 1024);
        let zeros = |chunk: &[u8]| chunk.iter().rev().take_while(|byte| **byte == 0).count();
        // Half of the chunk, and what a compressor spends to encode that.
        assert_eq!(buffer.chunks(512).map(zeros).collect::<Vec<_>>(), [261, 261]);
        assert_eq!(buffer.iter().filter(|byte| **byte == 0xaa).count(), 2 * (512 - 261));
        let pattern = laid(&mut layout(50, 512, b"abcd"), 512);
        assert_eq!(pattern[512 - 261..][..16], *b"abcd\x66\x55\x44\x33\x22\x11\0\0abcd");
    }
}
