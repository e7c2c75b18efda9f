//! `sprandom`: every block once and some again, so that one pass leaves a flash drive as random
//! writes would have left it in the long run.
//!
//! # The state of a drive under random writes
//!
//! A drive whose flash holds α = 1 + `spr_op` times what it offers is written at random, evenly, for
//! ever. It reclaims the flash that was written longest ago (and, as even random writes age all flash
//! alike, nearly the same when it reclaims the flash with the least valid data). Then the share of
//! valid blocks falls with age: of flash at the share x of the way from the next to be reclaimed
//! (0) to the last written (1),
//!
//! > valid(x) = v^(1-x),
//!
//! as every write makes one of the valid blocks stale, wherever it is. What is left when it is
//! reclaimed, v, follows from the fact that all flash together holds every logical block once, that
//! is ∫ valid(x) dx = 1/α:
//!
//! > v = exp(-α (1 - v)),   0 < v < 1/α.
//!
//! In closed form v = -W(-α e^-α) / α with Lambert's W, and the write amplification is 1 / (1 - v):
//! Xiang and Kurkoski, *An Improved Analytic Expression for Write Amplification in NAND Flash*,
//! arXiv:1110.4245 (who find 2.36 at α = 1.3 where a simulated drive has 2.35); the same in Desnoyers,
//! *Analytic Modeling of SSD Write Performance*, SYSTOR 2012, for reclaiming in order of age. That a
//! drive can be brought there by one write of its physical capacity, and how, was shown by SanDisk:
//! *Sprandom*, SNIA Developer Conference 2025.
//!
//! # The pass
//!
//! α times as many writes as the drive has blocks are divided into regions of equal length. An empty
//! drive fills its flash in the order of the writes, so that a region of writes becomes a region of
//! flash. Of the blocks written in a region a share, the one that must be stale in the end, is chosen
//! at random and written again in the next region (with `spr_cs` in the one after it). A region begins
//! with blocks that are new and ends with those, in the order in which they were chosen. So at least
//! as many writes as a region has lie between two writes of a block: of a region of R writes that has
//! S chosen ones, the chosen one of rank i has S - i - 1 behind it, and R - S + i writes of the next
//! region before it. It is never in flight twice, and rarely in the drive's cache.
//!
//! The number of stale blocks of each region is exact, and so is their sum: every block is written at
//! least once, and the last write is the last one that the flash has room for.
//!
//! # Cost
//!
//! The order of new blocks is computed ([`Permutation`]). Remembered is what is chosen and not yet
//! written again: 4 bytes a block (5 where there are more than 2^32), at most the stale blocks of the first two
//! regions (with `spr_cs` of the first three). For blocks of 4 KiB, `spr_op=0.15` and 100 regions
//! that is 6 MB per TB.

use std::collections::VecDeque;

use fiord_plan::SpRandom;

use super::permute::Permutation;
use crate::LoadError;
use crate::rng::Rng;

/// How many blocks of each region become stale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Curve {
    /// Valid blocks of the first region in the end, as a share.
    valid: f64,
    /// All writes, and those of them that are made stale.
    writes: u64,
    stale: u64,
    regions: u64,
    /// Regions that have stale blocks: the last ones have none behind them to write them again.
    aging: u64,
}

impl Curve {
    /// Of a file of so many blocks and so many writes.
    pub fn new(plan: SpRandom, blocks: u64, writes: u64) -> Self {
        let regions = u64::from(plan.regions).clamp(1, writes.max(1));
        let last = if plan.late { 2 } else { 1 };
        Curve {
            valid: valid(writes as f64 / blocks.max(1) as f64),
            writes,
            stale: writes.saturating_sub(blocks),
            regions,
            aging: regions.saturating_sub(last).max(1),
        }
    }

    /// Writes before a region.
    fn before(&self, region: u64) -> u64 {
        let sum = u128::from(self.writes) * u128::from(region) / u128::from(self.regions);
        sum.min(u128::from(self.writes)) as u64
    }

    /// Writes in a region.
    pub fn writes(&self, region: u64) -> u64 {
        self.before(region + 1) - self.before(region)
    }

    /// The stale blocks before a region, from the integral of 1 - v^(1-x) over the regions before it.
    fn stale_before(&self, region: u64) -> u64 {
        let sum = |region: u64| {
            let x = region as f64 / self.regions as f64;
            let rate = -self.valid.ln();
            x - self.valid * ((rate * x).exp_m1()) / rate
        };
        if region >= self.aging {
            return self.stale;
        }
        // What is left over by the last regions, less than one part in their square, goes to all.
        (self.stale as f64 * sum(region) / sum(self.aging)).round() as u64
    }

    /// The blocks written in a region that are to be written again later.
    pub fn stale(&self, region: u64) -> u64 {
        let stale = self.stale_before(region + 1).saturating_sub(self.stale_before(region));
        stale.min(self.writes(region))
    }
}

/// The share of valid blocks in the flash that is reclaimed next, of a drive that has `room` times
/// the flash that it offers: the root below 1 of ln v + α (1 - v).
pub fn valid(room: f64) -> f64 {
    // Below 1/α the function rises from -∞ to above 0. Without spare capacity nothing is stale.
    let (mut low, mut high) = (0.0, 1.0 / room);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        match middle.ln() + room * (1.0 - middle) < 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    high.min(1.0 - 1e-12)
}

/// The blocks of a file in the order in which they are written.
#[derive(Debug, Clone)]
pub struct Walk {
    curve: Curve,
    blocks: u64,
    /// `spr_cs`: a region lies between a write and the one that makes it stale.
    late: bool,
    order: Permutation,
    rng: Rng,
    /// Chosen to be written again, the oldest first.
    again: Queue,
    /// The next region, and writes left in the present one.
    region: u64,
    left: u64,
    /// Of the writes left: those that are of blocks chosen before.
    rewrites: u64,
    /// Of the writes left: those that are to be chosen.
    choose: u64,
    /// The oldest chosen blocks that may be written again, and those of the present and, with
    /// `spr_cs`, of the last region, which may not.
    ripe: u64,
    waiting: [u64; 2],
}

impl Walk {
    /// Through a file of this length.
    ///
    /// # Errors
    /// There is no memory for the stale blocks of a region.
    pub fn new(plan: SpRandom, len: u64, block: u32, rng: Rng) -> Result<Self, LoadError> {
        let blocks = len / u64::from(block.max(1));
        let curve = Curve::new(plan, blocks, plan.writes(len, block).max(blocks));
        // A region chooses before it takes. The share of stale blocks falls from region to region;
        // rounding may add one to each.
        let most = (0..if plan.late { 3 } else { 2 }).map(|region| curve.stale(region) + 1).sum();
        let again = Queue::new(blocks, most)?;
        let mut walk = Walk {
            curve,
            blocks,
            late: plan.late,
            order: Permutation::new(0, &mut rng.clone()),
            rng,
            again,
            region: 0,
            left: 0,
            rewrites: 0,
            choose: 0,
            ripe: 0,
            waiting: [0; 2],
        };
        walk.begin(walk.rng.clone());
        Ok(walk)
    }

    /// Begins a pass, in an order that is drawn from `rng`.
    pub fn begin(&mut self, mut rng: Rng) {
        self.order = Permutation::new(self.blocks, &mut rng);
        self.rng = rng;
        self.again.clear();
        (self.region, self.left, self.ripe, self.waiting) = (0, 0, 0, [0; 2]);
    }

    /// The next block. `None`: the drive is full.
    #[inline]
    pub fn draw(&mut self) -> Option<u64> {
        while self.left == 0 {
            self.next_region()?;
        }
        let block = match self.left > self.rewrites {
            true => self.order.draw(),
            false => {
                self.rewrites -= 1;
                self.again.take()?
            }
        };
        // So many of so many, each choice as likely as any other (Knuth, TAOCP 3.4.2, algorithm S).
        if self.choose > 0 && self.rng.below(self.left) < self.choose {
            self.choose -= 1;
            self.again.put(block);
        }
        self.left -= 1;
        Some(block)
    }

    /// Blocks that there is room to remember.
    #[cfg(test)]
    pub fn remembers(&self) -> usize {
        match &self.again {
            Queue::Short(queue) => queue.capacity(),
            Queue::Long(queue) => queue.capacity(),
            Queue::Longest(queue) => queue.capacity(),
        }
    }

    #[cold]
    fn next_region(&mut self) -> Option<()> {
        let region = self.region;
        if region >= self.curve.regions {
            return None;
        }
        self.region += 1;
        self.left = self.curve.writes(region);
        let [last, before] = self.waiting;
        match self.late {
            false => self.ripe += last,
            true => self.ripe += before,
        }
        self.choose = self.curve.stale(region);
        self.waiting = [self.choose, last];
        self.rewrites = self.ripe.min(self.left);
        self.ripe -= self.rewrites;
        Some(())
    }
}

/// Blocks that wait, each in as few bytes as its number needs.
#[derive(Debug, Clone)]
enum Queue {
    /// Below 2^32.
    Short(VecDeque<u32>),
    /// Below 2^40: the low bytes.
    Long(VecDeque<[u8; 5]>),
    Longest(VecDeque<u64>),
}

impl Queue {
    /// Of blocks below this, with room for so many.
    fn new(blocks: u64, room: u64) -> Result<Self, LoadError> {
        let (mut queue, each) = match blocks.saturating_sub(1) >> 32 {
            0 => (Queue::Short(VecDeque::new()), 4),
            1..=0xff => (Queue::Long(VecDeque::new()), 5),
            _ => (Queue::Longest(VecDeque::new()), 8),
        };
        let failed = || LoadError::SpRandomMemory { bytes: room.saturating_mul(each) };
        let room = usize::try_from(room).map_err(|_| failed())?;
        let reserved = match &mut queue {
            Queue::Short(queue) => queue.try_reserve_exact(room),
            Queue::Long(queue) => queue.try_reserve_exact(room),
            Queue::Longest(queue) => queue.try_reserve_exact(room),
        };
        reserved.map_err(|_| failed()).map(|()| queue)
    }

    #[inline]
    fn put(&mut self, block: u64) {
        let [a, b, c, d, e, ..] = block.to_le_bytes();
        match self {
            Queue::Short(queue) => queue.push_back(block as u32),
            Queue::Long(queue) => queue.push_back([a, b, c, d, e]),
            Queue::Longest(queue) => queue.push_back(block),
        }
    }

    /// The one that came first.
    #[inline]
    fn take(&mut self) -> Option<u64> {
        match self {
            Queue::Short(queue) => queue.pop_front().map(u64::from),
            Queue::Long(queue) => queue
                .pop_front()
                .map(|[a, b, c, d, e]| u64::from_le_bytes([a, b, c, d, e, 0, 0, 0])),
            Queue::Longest(queue) => queue.pop_front(),
        }
    }

    fn clear(&mut self) {
        match self {
            Queue::Short(queue) => queue.clear(),
            Queue::Long(queue) => queue.clear(),
            Queue::Longest(queue) => queue.clear(),
        }
    }
}
