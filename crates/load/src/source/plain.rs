//! The plain sources: one file, one direction, one block size, nothing special. A handful of
//! instructions for each I/O, because most benchmarks are one of these.

use fiord_plan::Dir;

use super::permute::Permutation;
use super::spread::Skewed;
use crate::rng::Rng;
use crate::{Io, Next, Source, Tag};

/// What the plain sources need to know.
#[derive(Debug, Clone, Copy)]
pub struct Region {
    /// Which way.
    pub dir: Dir,
    /// Index of the file.
    pub file: u32,
    /// First byte.
    pub start: u64,
    /// Whole blocks in the region, at least 1.
    pub blocks: u64,
    /// Bytes of a block, at least 1.
    pub block: u32,
    /// I/Os in one loop.
    pub ios: u64,
    /// [`Next::Again`] is said where the region is begun anew.
    pub tells: bool,
}

impl Region {
    #[inline]
    fn io(&self, offset: u64) -> Next {
        Next::Io(Io { dir: self.dir, file: self.file, offset, len: self.block, tag: Tag::PLAIN })
    }
}

/// One block after the other; from the start again when the region is used up.
#[derive(Debug, Clone)]
pub struct Sequential {
    region: Region,
    offset: u64,
    end: u64,
    /// I/Os up to the end of the pass where that is told, else of the loop.
    left: u64,
    /// I/Os of the loop after those.
    rest: u64,
}

impl Sequential {
    /// From the start of the region.
    pub fn new(region: Region) -> Self {
        let end = region.start + region.blocks * u64::from(region.block);
        let left = if region.tells { region.ios.min(region.blocks) } else { region.ios };
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
    #[inline]
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
        (self.left, self.rest) = if self.region.tells { (0, ios) } else { (ios, 0) };
        self.offset = self.region.start;
    }
}

/// Every block once, in random order; then every block once again.
#[derive(Debug, Clone)]
pub struct Permuted {
    region: Region,
    order: Permutation,
    left: u64,
    /// Draws the order of the next pass; `None`: the same order again (`randrepeat`).
    rng: Option<Rng>,
    /// Blocks left in this pass.
    pass: u64,
}

impl Permuted {
    /// Draws the first order. `repeat`: every pass has the same order.
    pub fn new(region: Region, mut rng: Rng, repeat: bool) -> Self {
        let order = Permutation::new(region.blocks, &mut rng);
        let rng = (!repeat).then_some(rng);
        Permuted { region, order, left: region.ios, rng, pass: region.blocks }
    }

    #[cold]
    fn new_pass(&mut self) {
        match &mut self.rng {
            Some(rng) => self.order = Permutation::new(self.region.blocks, rng),
            None => self.order.rewind(),
        }
        self.pass = self.region.blocks;
    }
}

impl Source for Permuted {
    #[inline]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        if self.pass == 0 {
            self.new_pass();
            if self.region.tells {
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

/// Any block at any time (`norandommap`).
#[derive(Debug, Clone)]
pub struct Uniform {
    region: Region,
    rng: Rng,
    left: u64,
}

impl Uniform {
    /// Draws from `rng`.
    pub fn new(region: Region, rng: Rng) -> Self {
        Uniform { region, rng, left: region.ios }
    }
}

impl Source for Uniform {
    #[inline]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        self.left -= 1;
        let block = self.rng.below(self.region.blocks);
        self.region.io(self.region.start + block * u64::from(self.region.block))
    }

    /// Goes on drawing: a loop over the same numbers would visit the same blocks.
    fn restart(&mut self) {
        self.left = self.region.ios;
    }
}

/// Any block at any time, some more often than others (`random_distribution=zipf`, `pareto`,
/// `normal`).
#[derive(Debug, Clone)]
pub struct Uneven {
    region: Region,
    skewed: Skewed,
    rng: Rng,
    left: u64,
}

impl Uneven {
    /// Draws from `rng`.
    pub fn new(region: Region, skewed: Skewed, rng: Rng) -> Self {
        Uneven { region, skewed, rng, left: region.ios }
    }
}

impl Source for Uneven {
    #[inline]
    fn next(&mut self) -> Next {
        if self.left == 0 {
            return Next::End;
        }
        self.left -= 1;
        let block = self.skewed.draw(&mut self.rng);
        self.region.io(self.region.start + block * u64::from(self.region.block))
    }

    /// Goes on drawing.
    fn restart(&mut self) {
        self.left = self.region.ios;
    }
}
