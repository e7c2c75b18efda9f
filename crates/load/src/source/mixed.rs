//! Random reads and writes of one file with few block sizes: the mixes that most benchmarks have.
//!
//! One draw chooses the direction (its low 32 bits) and the size (its high 32 bits). Both choices
//! compare integers without branches that the processor would have to predict. A second draw
//! chooses the offset. Shares are exact to one part in 2^32. Passes and loops follow the rules of
//! [`super::limits`].

use fiord_plan::{BlockSize, Distribution, Generator, JobPlan, Mix};
use fiord_types::{Bytes, Dir, FileIndex};

use super::limits::JobLimits;
use super::permute::Permutation;
use super::sizes::Sizes;
use crate::rng::{Purpose, Rng};
use crate::{Io, IoAttributes, Next, Source};

/// Maximum number of sizes that a direction may have.
const SIZES: usize = 8;

/// State of both directions, and of each (reads, then writes).
#[derive(Debug, Clone)]
pub struct Mixed {
    start: u64,
    len: u64,
    /// A read if the draw is below this number, of 2^32.
    reads: u64,
    ways: [DirectionRules; 2],
    order: Option<Order>,
    limits: JobLimits,
    offset_rng: Rng,
    pick_rng: Rng,
    seed: u64,
    repeat: bool,
    /// The source answers [`Next::Again`] at the start of each further pass.
    reports_passes: bool,
}

/// State of one direction.
#[derive(Debug, Clone)]
struct DirectionRules {
    dir: Dir,
    /// For each size but the first: the draw, of 2^32, from which on it is chosen.
    from: [u64; SIZES - 1],
    sizes: [u32; SIZES],
    min: u32,
    align: u64,
    /// Number of possible offsets.
    places: u64,
}

impl DirectionRules {
    /// `None` if there are too many sizes, or if a block does not fit into the file.
    fn new(job: &JobPlan, dir: Dir, len: u64) -> Option<Self> {
        let load = &job.load;
        let drawn = Sizes::new(&load.blocks[dir], load.unaligned);
        let (shares, total) = drawn.shares()?;
        if shares.len() > SIZES || drawn.min() == 0 || u64::from(drawn.max()) > len {
            return None;
        }
        let (mut from, mut sizes) = ([u64::MAX; SIZES - 1], [0; SIZES]);
        for (i, (upto, size)) in shares.iter().enumerate() {
            sizes[i] = *size;
            if i + 1 < shares.len() {
                from[i] = ((u128::from(*upto) << 32) / u128::from(total)) as u64;
            }
        }
        let align = load.align[dir].max(1);
        let places = (len - u64::from(drawn.min())) / align + 1;
        Some(DirectionRules { dir, from, sizes, min: drawn.min(), align, places })
    }

    /// The size for a draw of 32 bits.
    #[inline(always)]
    fn size(&self, draw: u64) -> u32 {
        let index: usize = self.from.iter().map(|&from| usize::from(draw >= from)).sum();
        self.sizes[index]
    }
}

/// Order in which each block is visited once per pass, whatever the direction.
#[derive(Debug, Clone)]
struct Order {
    order: Permutation,
    blocks: u64,
    left: u64,
    block: u64,
    /// Number of the pass, which distinguishes the orders of the passes.
    pass: u64,
}

impl Order {
    fn new(blocks: u64, block: u32, seed: u64) -> Self {
        let order = Permutation::of_pass(blocks, seed, 0, 0);
        Order { order, blocks, left: blocks, block: block.into(), pass: 0 }
    }

    /// Begins a pass. `again`: in the same order.
    #[cold]
    fn begin(&mut self, seed: u64, again: bool) {
        if !again {
            self.pass += 1;
        }
        self.order = Permutation::of_pass(self.blocks, seed, 0, self.pass);
        self.left = self.blocks;
    }
}

impl Mixed {
    /// The source of a job that uses no feature of the general source. `None` if the job has more
    /// sizes, files or maps than this source supports.
    pub fn new(job: &JobPlan) -> Option<Self> {
        let load = &job.load;
        let Mix::ReadWrite { read_percent: percent @ 1..100 } = load.mix else { return None };
        let [file] = &job.target.files[..] else { return None };
        if !load.random || load.distribution != Distribution::Even {
            return None;
        }
        if load.no_map && load.generator == Generator::Lfsr {
            return None;
        }
        let whole = |dir: Dir| load.random_percent[dir] == 100;
        if !whole(Dir::Read) || !whole(Dir::Write) {
            return None;
        }
        let ways = [
            DirectionRules::new(job, Dir::Read, file.len.0)?,
            DirectionRules::new(job, Dir::Write, file.len.0)?,
        ];
        let order = match (&load.blocks[Dir::Read], &load.blocks[Dir::Write]) {
            _ if load.no_map => None,
            (BlockSize::Fixed(a), BlockSize::Fixed(b))
                if a == b && ways.iter().all(|way| way.align == u64::from(*a)) =>
            {
                Some(Order::new(file.len / Bytes::from(*a), *a, load.seed))
            }
            _ => return None,
        };
        let smallest = ways.iter().map(|way| way.min).min()?;
        let largest = ways.iter().flat_map(|way| way.sizes).max()?;
        Some(Mixed {
            start: file.offset.0,
            len: file.len.0,
            reads: (u64::from(percent) << 32) / 100,
            ways,
            order,
            limits: JobLimits::new(job, smallest, largest),
            offset_rng: Rng::new(load.seed, Purpose::Offset, 0),
            pick_rng: Rng::new(load.seed, Purpose::Direction, 0),
            seed: load.seed,
            repeat: load.repeat,
            reports_passes: job.drops_cache_each_pass(),
        })
    }

    /// Begins another pass when all blocks were visited. Returns `false` if the work of this loop
    /// is done.
    #[cold]
    #[inline(never)]
    fn another_pass(&mut self) -> bool {
        // If only the clock ends the work, the map is cleared and each pass has another order.
        let again = !self.limits.timed();
        if again && !self.limits.another_pass() {
            return false;
        }
        if let Some(order) = &mut self.order {
            order.begin(self.seed, again && self.repeat);
        }
        true
    }

    #[inline(always)]
    fn next_in(&mut self, asked: Option<Dir>) -> Next {
        let used_up = self.order.as_ref().is_some_and(|order| order.left == 0);
        if self.limits.reached() || (used_up && !self.another_pass()) {
            return Next::End;
        }
        if used_up && self.reports_passes {
            return Next::Again(FileIndex(0));
        }
        let draw = self.pick_rng.draw();
        let way = match asked {
            None => usize::from(draw & 0xffff_ffff >= self.reads),
            Some(dir) => usize::from(dir != Dir::Read),
        };
        let way = &self.ways[way];
        let (at, len) = match &mut self.order {
            None => {
                let at = self.offset_rng.below(way.places) * way.align;
                // A block that would cross the end gets the smallest size.
                let wanted = way.size(draw >> 32);
                let fits = u64::from(wanted) <= self.len - at;
                (at, if fits { wanted } else { way.min })
            }
            Some(order) => {
                order.left -= 1;
                (order.order.draw() * order.block, way.min)
            }
        };
        self.limits.count(way.dir, len);
        Next::Io(Io {
            dir: way.dir,
            file: FileIndex(0),
            offset: self.start + at,
            len,
            attributes: IoAttributes::PLAIN,
        })
    }
}

impl Source for Mixed {
    #[inline]
    fn next(&mut self) -> Next {
        self.next_in(None)
    }

    #[inline]
    fn next_of(&mut self, dir: Dir) -> Next {
        self.next_in(Some(dir))
    }

    fn restart(&mut self) {
        self.limits.restart();
    }
}
