//! Random offsets in a file, with or without a record of the blocks that were visited.

use fiord_plan::{Distribution, Generator, Load, SpRandom};
use fiord_types::{Dir, PerDir};

use super::bitmap::Bitmap;
use super::permute::Permutation;
use super::sizes::Sizes;
use super::sprandom::Walk;
use super::spread::{Sequence, Skewed, ZonedDistribution};
use crate::LoadError;
use crate::rng::{Purpose, Rng};

/// Rules that hold for the random offsets in all files of a job.
#[derive(Debug, Clone)]
pub(super) struct Rules {
    kind: Kind,
    /// `random_generator=lfsr` with blocks that are longer or shorter than the distance of their offsets. Each offset is drawn
    /// once, then all of them again, because their blocks do not add up to the file.
    off_grid_order: bool,
    /// Per direction: the smallest block, and the number that offsets are multiples of.
    min: PerDir<u64>,
    align: PerDir<u64>,
    /// Bytes of one place of a map: a divisor of the smallest blocks of all directions in use. If such a map would be too large,
    /// the smallest of them.
    unit: u64,
    seed: u64,
    repeat: bool,
    distribution: Distribution,
    sequence: Option<Sequence>,
    sprandom: Option<SpRandom>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Any offset at any time.
    Free,
    /// Each block once per pass, in a computed order. All directions share the order.
    Shared,
    /// Each block once per pass, in a computed order for each direction, because their blocks have
    /// different sizes.
    PerDirection,
    /// Each block once per pass, recorded in a map, because block sizes vary.
    Mapped,
}

impl Rules {
    /// Rules of a load. `sizes`: block sizes per direction.
    pub(super) fn new(load: &Load, sizes: &PerDir<Sizes>) -> Self {
        let used = || directions(load);
        let min = PerDir::from_fn(|dir| u64::from(sizes[dir].min()));
        let align = load.align.map(|align| align.max(1));
        let aligned = used().all(|dir| align[dir] == min[dir]);
        let fixed = used().all(|dir| sizes[dir].fixed());
        let first = used().next();
        let grid = |dir: Dir| (min[dir], align[dir]);
        let same = used().all(|dir| Some(grid(dir)) == first.map(grid));
        let off_grid_order = load.generator == Generator::Lfsr && !aligned;
        let kind = if (load.no_map || !aligned) && !off_grid_order {
            Kind::Free
        } else if !fixed && load.generator != Generator::Lfsr {
            Kind::Mapped
        } else if same {
            Kind::Shared
        } else {
            Kind::PerDirection
        };
        let smallest = used().map(|dir| min[dir]).min().unwrap_or(1).max(1);
        let divisor = used().map(|dir| min[dir]).fold(smallest, divisor);
        let unit = if divisor * MAX_GROWTH >= smallest { divisor } else { smallest };
        let distribution = load.distribution.clone();
        let sequence = match &distribution {
            Distribution::Sequence { blocks, stride } => Some(Sequence::new(blocks, *stride)),
            _ => None,
        };
        let (seed, repeat) = (load.seed, load.repeat);
        Rules {
            kind,
            off_grid_order,
            min,
            align,
            unit,
            seed,
            repeat,
            distribution,
            sequence,
            sprandom: load.sprandom,
        }
    }

    /// Whether a file gets another round when all its offsets were drawn.
    pub(super) fn off_grid_order(&self) -> bool {
        self.off_grid_order
    }

    pub(super) fn begin_pass(&mut self) {
        if let Some(sequence) = &mut self.sequence {
            sequence.rewind();
        }
    }

    /// Number of possible offsets of a direction in a range of `len` bytes; `None` if no block
    /// fits.
    #[inline]
    fn places(&self, dir: Dir, len: u64) -> Option<u64> {
        Some(len.checked_sub(self.min[dir])? / self.align[dir] + 1)
    }

    /// Distributions of the offsets in a file, per direction. `None` if all offsets are equally
    /// likely.
    fn spread(&self, len: u64, index: usize) -> Option<Memory> {
        let places = |dir: Dir| self.places(dir, len).unwrap_or(1);
        match &self.distribution {
            Distribution::Even => None,
            Distribution::Skewed(skew) => {
                let new = |dir| Skewed::new(*skew, places(dir), self.seed, index as u64);
                let reads = new(Dir::Read);
                // Directions with equally many blocks share the tables of the distribution.
                let like_reads = |dir| match reads.blocks() == places(dir) {
                    true => reads.clone(),
                    false => new(dir),
                };
                let all = PerDir::new(reads.clone(), like_reads(Dir::Write), like_reads(Dir::Trim));
                Some(Memory::Skewed(Box::new(all)))
            }
            Distribution::Zoned(zones) => {
                let new =
                    |dir| ZonedDistribution::new(&zones[dir], len, places(dir), self.align[dir]);
                Some(Memory::Zoned(Box::new(PerDir::from_fn(new))))
            }
            Distribution::Sequence { .. } => Some(Memory::Sequence),
        }
    }
}

/// Maximum growth of a map compared with one of the smallest block, because blocks of different directions share no grid.
const MAX_GROWTH: u64 = 16;

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// The directions that draw offsets. With `trimwrite` the writes follow the trims and draw none.
pub(super) fn directions(load: &Load) -> impl Iterator<Item = Dir> + use<> {
    let mix = load.mix;
    let follows = move |dir| mix == fiord_plan::Mix::TrimWrite && dir == Dir::Write;
    mix.dirs().filter(move |&dir| !follows(dir))
}

/// Random offsets of one file.
#[derive(Debug, Clone)]
pub(super) struct RandomOffsets {
    memory: Memory,
    len: u64,
    /// Number of the random stream, which distinguishes the orders of files and passes.
    stream: u64,
    /// What the last draw visited for the first time, as far as it can be given back.
    last: Last,
}

/// What a draw visited for the first time.
#[derive(Debug, Clone, Copy)]
enum Last {
    Nothing,
    /// A block of the computed order of its direction.
    Block(u64),
    /// Units `from .. to` of the map, and the unit at which the block begins.
    Units {
        from: u64,
        to: u64,
        start: u64,
    },
}

#[derive(Debug, Clone)]
enum Memory {
    None,
    Order(Option<Order>),
    /// Boxed, because it is large and rarely used, and a job may have a hundred thousand files.
    Orders(Box<PerDir<Option<Order>>>),
    Map(Bitmap),
    /// One distribution per direction.
    Skewed(Box<PerDir<Skewed>>),
    Zoned(Box<PerDir<ZonedDistribution>>),
    Sequence,
    Walk(Box<Walk>),
}

/// A computed order and the number of blocks that are left in it.
#[derive(Debug, Clone)]
struct Order {
    order: Permutation,
    left: u64,
    /// A block that was drawn and given back. It is drawn next.
    returned: Option<u64>,
}

impl Order {
    /// Gives back the block that was drawn last. It is drawn next.
    fn put_back(&mut self, block: u64) {
        (self.returned, self.left) = (Some(block), self.left + 1);
    }
}

impl RandomOffsets {
    /// Random offsets in the file with this index, whose region has `len` bytes.
    ///
    /// # Errors
    ///
    /// There is not enough memory for `sprandom`.
    pub(super) fn new(rules: &Rules, len: u64, index: usize) -> Result<Self, LoadError> {
        let even = || match rules.kind {
            Kind::Free => Memory::None,
            Kind::Shared => Memory::Order(None),
            Kind::PerDirection => Memory::Orders(Box::default()),
            Kind::Mapped => Memory::Map(Bitmap::new(len / rules.unit)),
        };
        let memory = match rules.sprandom {
            Some(plan) => {
                let rng = Rng::new(rules.seed, Purpose::Offset, index as u64);
                Memory::Walk(Box::new(Walk::new(plan, len, rules.unit as u32, rng)?))
            }
            None => rules.spread(len, index).unwrap_or_else(even),
        };
        Ok(RandomOffsets { memory, len, stream: index as u64, last: Last::Nothing })
    }

    /// Forgets all visits, and changes the length of the range to `len` bytes, at most its original
    /// length.
    pub(super) fn reach(&mut self, rules: &Rules, len: u64) {
        self.len = len;
        self.forget(rules, false);
    }

    /// Draws the offset of a block of `len` bytes, and returns it with the length that the block
    /// may have. `None` if all blocks were visited.
    #[inline]
    pub(super) fn draw(
        &mut self,
        rules: &mut Rules,
        dir: Dir,
        len: u32,
        rng: &mut Rng,
    ) -> Option<(u64, u32)> {
        let align = rules.align[dir];
        let order = match &mut self.memory {
            Memory::None => {
                let places = rules.places(dir, self.len)?;
                return Some((rng.below(places) * align, len));
            }
            Memory::Skewed(all) => {
                let at = fold(all[dir].draw(rng), rules.places(dir, self.len)?);
                return Some((at * align, len));
            }
            Memory::Zoned(all) => {
                let at = fold(all[dir].draw(rng), rules.places(dir, self.len)?);
                return Some((at * align, len));
            }
            Memory::Sequence => {
                let block = rules.sequence.as_mut()?.draw(dir);
                return (block < rules.places(dir, self.len)?).then_some((block * align, len));
            }
            Memory::Walk(walk) => return Some((walk.draw()? * align, len)),
            Memory::Map(map) => {
                let (offset, len, last) = draw_free(map, rules, (dir, self.len), len, rng)?;
                self.last = last;
                return Some((offset, len));
            }
            Memory::Order(order) => order,
            Memory::Orders(orders) => &mut orders[dir],
        };
        let order = order.get_or_insert_with(|| {
            let blocks = rules.places(dir, self.len).unwrap_or(0);
            let (file, pass) = (self.stream & u64::from(u32::MAX), self.stream >> 32);
            let own = match rules.kind {
                Kind::PerDirection => (dir as u64 + 1) << 28,
                _ => 0,
            };
            let order = Permutation::of_pass(blocks, rules.seed, file ^ own, pass);
            Order { order, left: blocks, returned: None }
        });
        order.left = order.left.checked_sub(1)?;
        let block = order.returned.take().unwrap_or_else(|| order.order.draw());
        self.last = Last::Block(block);
        Some((block * align, len))
    }

    /// Only `made` bytes of the last I/O were made: its other blocks count as not visited.
    pub(super) fn give_back(&mut self, rules: &Rules, dir: Dir, made: u32) {
        match (&mut self.memory, std::mem::replace(&mut self.last, Last::Nothing)) {
            (Memory::Map(map), Last::Units { from, to, start }) => {
                let from = from.max(start + u64::from(made).div_ceil(rules.unit));
                map.free(from, to.saturating_sub(from));
            }
            (Memory::Order(Some(order)), Last::Block(block)) if made == 0 => order.put_back(block),
            (Memory::Orders(orders), Last::Block(block)) if made == 0 => {
                if let Some(order) = &mut orders[dir] {
                    order.put_back(block);
                }
            }
            _ => {}
        }
    }

    /// Forgets all visits. `again`: the same order may come again (`randrepeat`).
    pub(super) fn forget(&mut self, rules: &Rules, again: bool) {
        self.last = Last::Nothing;
        if !(again && rules.repeat) {
            self.stream = self.stream.wrapping_add(1 << 32);
        }
        match &mut self.memory {
            Memory::None | Memory::Skewed(_) | Memory::Zoned(_) | Memory::Sequence => {}
            Memory::Walk(walk) => {
                walk.begin(Rng::new(rules.seed, Purpose::Offset, self.stream));
            }
            Memory::Order(order) => *order = None,
            Memory::Orders(orders) => **orders = PerDir::default(),
            Memory::Map(map) => {
                map.clear();
                // The range may be shorter than the map.
                map.take(self.len / rules.unit, u64::MAX);
            }
        }
    }
}

/// Maps an offset of the whole range to a range that was cut short.
#[inline]
fn fold(at: u64, places: u64) -> u64 {
    if at < places { at } else { at % places }
}

/// Draws a place for a block in a file of `file_len` bytes: a multiple of the direction's smallest block, at random, or the next
/// one with free space after that, as long as the free space there. If the direction's smallest block is longer than the
/// free space, it overlaps blocks that were visited.
fn draw_free(
    map: &mut Bitmap,
    rules: &Rules,
    (dir, file_len): (Dir, u64),
    len: u32,
    rng: &mut Rng,
) -> Option<(u64, u32, Last)> {
    let (unit, min, align) = (rules.unit, rules.min[dir], rules.align[dir]);
    // In nearly all jobs, both are the block size: each I/O then needs fewer divisions.
    let same = align == unit;
    let unit_of = |place: u64| if same { place } else { place * align / unit };
    let place_of = |unit_at: u64| if same { unit_at } else { unit_at * unit / align };
    let places = rules.places(dir, file_len)?;
    let mut first = map.next_free(unit_of(rng.below(places)))?;
    // Space after the last whole block of this direction belongs to other directions.
    if place_of(first) >= places {
        first = map.next_free(0).filter(|first| place_of(*first) < places)?;
    }
    let place = place_of(first);
    let (offset, start) = (place * align, unit_of(place));
    let wanted = (offset + u64::from(len)).div_ceil(unit) - start;
    let before = first - start;
    let free = before + map.run(first, wanted.saturating_sub(before));
    let (len, end) = if free == wanted {
        (u64::from(len), start + wanted)
    } else {
        let len = (free * unit / min * min).max(min);
        (len, (offset + len).div_ceil(unit))
    };
    let last = Last::Units { from: first, to: first + map.run(first, end - first), start };
    map.take(start, end - start);
    Some((offset, len as u32, last))
}
