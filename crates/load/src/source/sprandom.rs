//! `sprandom`: writes every block once and some of them again, so that a single pass leaves a flash
//! drive in the state that long random writing would leave it in.
//!
//! # The state of a drive under random writes
//!
//! A drive whose flash holds α = 1 + `spr_op` times its capacity is written at random, uniformly, for a
//! long time. It reclaims the flash that was written longest ago. (Uniform random writes age all flash
//! alike, so the result is nearly the same if it reclaims the flash with the least valid data.) Then the
//! share of valid blocks falls with the age of the flash. At the position x between the flash that is
//! reclaimed next (0) and the flash that was written last (1) it is
//!
//! > valid(x) = v^(1-x),
//!
//! because every write makes one valid block stale, wherever it is. The share v that is still valid when
//! the flash is reclaimed follows from the fact that all flash together holds every logical block once,
//! that is ∫ valid(x) dx = 1/α:
//!
//! > v = exp(-α (1 - v)),   0 < v < 1/α.
//!
//! In closed form v = -W(-α e^-α) / α with Lambert's W, and the write amplification is 1 / (1 - v). See
//! Xiang and Kurkoski, *An Improved Analytic Expression for Write Amplification in NAND Flash*,
//! arXiv:1110.4245 (who find 2.36 at α = 1.3 where a simulated drive has 2.35), and Desnoyers,
//! *Analytic Modeling of SSD Write Performance*, SYSTOR 2012, for reclaiming in order of age. SanDisk
//! showed that writing the physical capacity of a drive once is enough to reach this state, and how:
//! *Sprandom*, SNIA Developer Conference 2025.
//!
//! # The pass
//!
//! The pass makes α times as many writes as the drive has blocks, in regions of equal length. An empty
//! drive fills its flash in the order of the writes, so a region of writes becomes a region of flash.
//! The source chooses at random which blocks of a region must be stale in the end, and writes them again
//! in the next region (with `spr_cs` in the region after that). A region begins with new blocks and ends
//! with the chosen ones, in the order in which they were chosen. Two writes of the same block are
//! therefore far apart: if a region of R writes has S chosen blocks, the chosen block of rank i has
//! S - i - 1 writes after it in its region, and R - S + i writes before it in the next one. A block is
//! never in flight twice, and rarely in the cache of the drive.
//!
//! The number of stale blocks of each region is exact, and so is their sum: every block is written at
//! least once, and the last write is the last one that the flash has room for.
//!
//! # Cost
//!
//! The order of new blocks is computed ([`Permutation`]). The source stores only the blocks that are
//! chosen and not yet written again: 4 bytes per block (5 if there are more than 2^32), at most the
//! stale blocks of the first two regions (with `spr_cs` the first three). For blocks of 4 KiB,
//! `spr_op=0.15` and 100 regions that is 6 MB per TB.

use std::collections::VecDeque;

use fiord_plan::SpRandom;

use super::permute::Permutation;
use crate::LoadError;
use crate::rng::Rng;

/// Number of blocks of each region that become stale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StaleCurve {
    /// Share of valid blocks of the first region in the end.
    valid: f64,
    /// Number of all writes, and of those that become stale.
    writes: u64,
    stale: u64,
    regions: u64,
    /// Regions with stale blocks. The last regions have none, because no later region could write
    /// them again.
    aging: u64,
}

impl StaleCurve {
    /// The curve for a file with `blocks` blocks and `writes` writes.
    pub(super) fn new(plan: SpRandom, blocks: u64, writes: u64) -> Self {
        let regions = u64::from(plan.regions).clamp(1, writes.max(1));
        let last = if plan.late { 2 } else { 1 };
        StaleCurve {
            valid: valid(writes as f64 / blocks.max(1) as f64),
            writes,
            stale: writes.saturating_sub(blocks),
            regions,
            aging: regions.saturating_sub(last).max(1),
        }
    }

    /// Number of writes before a region.
    fn before(&self, region: u64) -> u64 {
        let sum = u128::from(self.writes) * u128::from(region) / u128::from(self.regions);
        sum.min(u128::from(self.writes)) as u64
    }

    /// Number of writes in a region.
    pub(super) fn writes(&self, region: u64) -> u64 {
        self.before(region + 1) - self.before(region)
    }

    /// Number of stale blocks before a region: the integral of 1 - v^(1-x) over the regions before
    /// it.
    fn stale_before(&self, region: u64) -> u64 {
        let sum = |region: u64| {
            let x = region as f64 / self.regions as f64;
            let rate = -self.valid.ln();
            x - self.valid * ((rate * x).exp_m1()) / rate
        };
        if region >= self.aging {
            return self.stale;
        }
        // The stale blocks that the last regions cannot have, a tiny share (at most the inverse
        // square of the number of regions), are spread over all regions.
        (self.stale as f64 * sum(region) / sum(self.aging)).round() as u64
    }

    /// Number of blocks written in a region that are written again later.
    pub(super) fn stale(&self, region: u64) -> u64 {
        let stale = self.stale_before(region + 1).saturating_sub(self.stale_before(region));
        stale.min(self.writes(region))
    }
}

/// Share of valid blocks in the flash that is reclaimed next, for a drive with `room` times as much
/// flash as capacity: the root below 1 of ln v + α (1 - v).
pub(super) fn valid(room: f64) -> f64 {
    // Below 1/α the function rises from -∞ to above 0. Without spare capacity no block is stale.
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
pub(super) struct Walk {
    curve: StaleCurve,
    blocks: u64,
    /// `spr_cs`: a whole region lies between a write and the write that makes it stale.
    late: bool,
    order: Permutation,
    rng: Rng,
    /// Blocks that will be written again, the oldest first.
    again: Queue,
    /// Index of the next region, and number of writes left in the present one.
    region: u64,
    left: u64,
    /// Of the writes left, the number that write chosen blocks again.
    rewrites: u64,
    /// Of the writes left, the number that will be chosen.
    choose: u64,
    /// Number of the oldest chosen blocks that may be written again, and of those chosen in the
    /// present and (with `spr_cs`) the last region, which may not be written again yet.
    ripe: u64,
    waiting: [u64; 2],
}

impl Walk {
    /// The order for a file of `len` bytes.
    ///
    /// # Errors
    ///
    /// There is not enough memory for the stale blocks of a region.
    pub(super) fn new(plan: SpRandom, len: u64, block: u32, rng: Rng) -> Result<Self, LoadError> {
        let blocks = len / u64::from(block.max(1));
        let curve = StaleCurve::new(plan, blocks, plan.writes(len, block).max(blocks));
        // A region chooses blocks before it writes others again. The share of stale blocks falls
        // from region to region; rounding may add one block to each.
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

    /// Begins a pass, in an order drawn from `rng`.
    pub(super) fn begin(&mut self, mut rng: Rng) {
        self.order = Permutation::new(self.blocks, &mut rng);
        self.rng = rng;
        self.again.clear();
        (self.region, self.left, self.ripe, self.waiting) = (0, 0, 0, [0; 2]);
    }

    /// The next block. `None` if the drive is full.
    #[inline]
    pub(super) fn draw(&mut self) -> Option<u64> {
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
        // Selects a fixed number of the remaining writes, each equally likely (Knuth, TAOCP 3.4.2,
        // algorithm S).
        if self.choose > 0 && self.rng.below(self.left) < self.choose {
            self.choose -= 1;
            self.again.put(block);
        }
        self.left -= 1;
        Some(block)
    }

    /// Number of blocks that fit into the allocated memory.
    #[cfg(test)]
    pub(super) fn remembers(&self) -> usize {
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

/// Queue of blocks, each in as few bytes as the largest block number needs.
#[derive(Debug, Clone)]
enum Queue {
    /// Block numbers below 2^32.
    Short(VecDeque<u32>),
    /// Block numbers below 2^40: their low five bytes.
    Long(VecDeque<[u8; 5]>),
    Longest(VecDeque<u64>),
}

impl Queue {
    /// A queue with room for `room` block numbers below `blocks`.
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

    /// Removes the oldest block.
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
