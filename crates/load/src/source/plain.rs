//! Plain sources: one file, one direction, one block size, no further option. They take only a few
//! instructions per I/O, because most benchmarks use one of them.

use fiord_types::{Dir, FileIndex};

use super::permute::Permutation;
use super::spread::Skewed;
use crate::rng::Rng;
use crate::{Io, IoAttributes, Next, Source};

/// What a plain source needs to know of its job.
#[derive(Debug, Clone, Copy)]
pub struct PlainRegion {
    /// Direction of all I/Os.
    pub dir: Dir,
    pub file: FileIndex,
    /// First byte.
    pub start: u64,
    /// Number of whole blocks in the region, at least 1.
    pub blocks: u64,
    /// Length of a block in bytes, at least 1.
    pub block: u32,
    /// Number of I/Os in one loop.
    pub ios: u64,
    /// The source answers [`Next::Again`] when it starts over in the region.
    pub reports_passes: bool,
}

impl PlainRegion {
    #[inline(always)]
    fn io(&self, offset: u64) -> Next {
        Next::Io(Io {
            dir: self.dir,
            file: self.file,
            offset,
            len: self.block,
            attributes: IoAttributes::PLAIN,
        })
    }
}

/// Consecutive blocks. After the last block of the region it starts over.
#[derive(Debug, Clone)]
pub struct Sequential {
    region: PlainRegion,
    offset: u64,
    end: u64,
    /// I/Os left in this pass if the source reports the end of each pass; otherwise in this loop.
    left: u64,
    /// I/Os of the loop after those.
    rest: u64,
}

impl Sequential {
    /// Starts at the first block of the region.
    pub fn new(region: PlainRegion) -> Self {
        let end = region.start + region.blocks * u64::from(region.block);
        let left = if region.reports_passes { region.ios.min(region.blocks) } else { region.ios };
        Sequential { region, offset: region.start, end, left, rest: region.ios - left }
    }

    /// A pass or the loop has ended.
    #[cold]
    fn ended(&mut self) -> Next {
        if self.rest == 0 {
            return Next::End;
        }
        self.left = self.rest.min(self.region.blocks);
        self.rest -= self.left;
        Next::Again(self.region.file)
    }
}

impl Source for Sequential {
    #[inline(always)]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return self.ended();
        }
        self.left -= 1;
        let offset = self.offset;
        let after = offset + u64::from(self.region.block);
        self.offset = if after == self.end { self.region.start } else { after };
        self.region.io(offset)
    }

    fn restart(&mut self) {
        let ios = self.region.ios;
        (self.left, self.rest) = if self.region.reports_passes { (0, ios) } else { (ios, 0) };
        self.offset = self.region.start;
    }
}

/// Every block once, in random order; then every block once again.
#[derive(Debug, Clone)]
pub struct Permuted {
    region: PlainRegion,
    order: Permutation,
    left: u64,
    seed: u64,
    /// All passes have the same order (`randrepeat`).
    repeat: bool,
    /// Number of the pass.
    number: u64,
    /// Blocks left in this pass.
    pass: u64,
}

impl Permuted {
    /// Draws the first order. `repeat`: every pass has the same order.
    pub fn new(region: PlainRegion, seed: u64, repeat: bool) -> Self {
        let order = Permutation::of_pass(region.blocks, seed, 0, 0);
        Permuted { region, order, left: region.ios, seed, repeat, number: 0, pass: region.blocks }
    }

    #[cold]
    fn new_pass(&mut self) {
        if self.repeat {
            self.order.rewind();
        } else {
            self.number += 1;
            self.order = Permutation::of_pass(self.region.blocks, self.seed, 0, self.number);
        }
        self.pass = self.region.blocks;
    }
}

impl Source for Permuted {
    #[inline(always)]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        if self.pass == 0 {
            self.new_pass();
            if self.region.reports_passes {
                return Next::Again(self.region.file);
            }
        }
        self.left -= 1;
        self.pass -= 1;
        self.region.io(self.region.start + self.order.draw() * u64::from(self.region.block))
    }

    fn restart(&mut self) {
        self.left = self.region.ios;
        self.pass = 0;
    }
}

/// Any block at any time, all equally likely (`norandommap`).
#[derive(Debug, Clone)]
pub struct Uniform {
    region: PlainRegion,
    rng: Rng,
    left: u64,
}

impl Uniform {
    /// Draws from `rng`.
    pub fn new(region: PlainRegion, rng: Rng) -> Self {
        Uniform { region, rng, left: region.ios }
    }
}

impl Source for Uniform {
    #[inline(always)]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        self.left -= 1;
        let block = self.rng.below(self.region.blocks);
        self.region.io(self.region.start + block * u64::from(self.region.block))
    }

    /// Continues to draw. A loop with the same numbers would visit the same blocks.
    fn restart(&mut self) {
        self.left = self.region.ios;
    }
}

/// Any block at any time, some more likely than others (`random_distribution=zipf`, `pareto`,
/// `normal`).
#[derive(Debug, Clone)]
pub struct SkewedRandom {
    region: PlainRegion,
    skewed: Skewed,
    rng: Rng,
    left: u64,
}

impl SkewedRandom {
    /// Draws from `rng`.
    pub fn new(region: PlainRegion, skewed: Skewed, rng: Rng) -> Self {
        SkewedRandom { region, skewed, rng, left: region.ios }
    }
}

impl Source for SkewedRandom {
    #[inline(always)]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        self.left -= 1;
        let block = self.skewed.draw(&mut self.rng);
        self.region.io(self.region.start + block * u64::from(self.region.block))
    }

    /// Continues to draw.
    fn restart(&mut self) {
        self.left = self.region.ios;
    }
}
