//! Position of the next I/O in a file.

use fiord_plan::{FilePlan, FileService, JobPlan, Mix, Sequencer, Step, Strided};
use fiord_types::{Bytes, Dir, PerDir};

use super::offsets::{RandomOffsets, Rules};
use super::sizes::Sizes;
use super::strided::StridedZones;
use crate::rng::{Purpose, Rng};
use crate::{Displaced, Io, LoadError};

/// Rules by which a job moves through its files, and its random generators.
#[derive(Debug, Clone)]
pub(super) struct OffsetGenerator {
    random: bool,
    /// Bytes added to the offset after each sequential I/O.
    skip: i64,
    /// With a skip, the I/O that ends at the end of the file is the last one of the file, unless
    /// the job transfers more than the files hold. As in fio.
    stops_at_end: bool,
    /// I/Os have holes between them. In a file that continues after the region, the file is done when the hole after
    /// an I/O reaches the end of the region. As in fio.
    holes: bool,
    /// Every n-th I/O has a random offset.
    nth: u32,
    identical: bool,
    percent: PerDir<u8>,
    /// Sequential I/O that reaches the end of a file starts over in it once the job has moved this
    /// many bytes in the pass. Before that the file is done, so that the other files get their
    /// share, unless the shares are skewed (`file_service_type=zipf`).
    wraps_from: u64,
    /// A file is done in this pass, so that the others must be done, too, before it gets I/O again.
    left: bool,
    /// Bytes moved in this pass. With `trimwrite` only the bytes written.
    moved: u64,
    /// `trimwrite`: the next write goes to the block that was trimmed.
    pairs: bool,
    /// When every block was visited, the map is cleared, so that the file is never done: only the clock ends the work, the
    /// files have skewed shares of it, or the blocks do not add up to the file.
    refills: bool,
    /// The files have skewed shares of the work (`file_service_type=zipf`), so none is done before the others.
    skewed: bool,
    /// Sequential writes to zones. The zones decide how much they take.
    zone_writes: bool,
    /// The rest at the end of a file is written even if it is shorter than a block.
    rests: bool,
    strided: Option<Strided>,
    rules: Rules,
    sizes: PerDir<Sizes>,
    /// Number of I/Os so far.
    count: u64,
    offset_rng: Rng,
    size_rng: Rng,
    random_rng: Rng,
}

/// Progress of a job in one file.
#[derive(Debug, Clone)]
pub(super) struct FileCursor {
    start: u64,
    len: u64,
    /// The file is longer than the region.
    goes_on: bool,
    /// Bytes of the file from `start` on if strided zones continue beyond `len`; otherwise `len`.
    reach: u64,
    /// Per direction: start and end of the last I/O, relative to `start`.
    last: PerDir<Option<u64>>,
    next: PerDir<u64>,
    /// `None` in a sequential job. Boxed because it is large, and a job may have a hundred thousand files.
    offsets: Option<Box<RandomOffsets>>,
    /// `trimwrite`: the block that was trimmed and will be written.
    trimmed: Option<(u64, u32)>,
    /// State of `zonemode=strided`.
    zones: Option<Box<StridedZones>>,
    /// `zonemode=zbd`: no zone takes more in this pass.
    spent: bool,
    /// `zonemode=zbd`: bytes moved in this pass, and the number of bytes at which the file is done.
    moved: u64,
    enough: u64,
    /// The last I/O is the first one of a new round through the file.
    again: bool,
}

impl OffsetGenerator {
    /// Rules of a job. `sizes`: block sizes per direction. `timed`: only the clock ends the work.
    /// `one_by_one`: a file gets I/O only when others are done.
    pub(super) fn new(job: &JobPlan, sizes: PerDir<Sizes>, timed: bool, one_by_one: bool) -> Self {
        let load = &job.load;
        let rng = |purpose| Rng::new(load.seed, purpose, 0);
        let skip = match load.step {
            Step::Skip(skip) if !load.random => skip,
            _ => 0,
        };
        let held = job.target.region().0;
        let zone_writes = load.zoned.is_some() && load.mix.has(Dir::Write) && !load.random;
        // A file that is done would leave its share of the I/O to others.
        let skewed = !one_by_one
            && job.target.files.len() > 1
            && matches!(job.target.service, FileService::Skewed(_));
        let wraps_from = if skip != 0 || zone_writes || skewed {
            0
        } else if !one_by_one && (timed || load.mix.has(Dir::Write)) {
            held
        } else {
            u64::MAX
        };
        let rules = Rules::new(load, &sizes);
        OffsetGenerator {
            random: load.random,
            skip,
            stops_at_end: skip > 0 && !timed && !skewed && job.end.bytes <= Bytes(held),
            holes: skip > 0 && !skewed,
            nth: match load.step {
                Step::EveryNth(n) if load.random => n.max(1),
                _ => 1,
            },
            identical: load.sequencer == Sequencer::Identical,
            percent: load.random_percent,
            wraps_from,
            left: false,
            moved: 0,
            pairs: load.mix == Mix::TrimWrite,
            refills: (timed || skewed) && !one_by_one || rules.off_grid_order(),
            skewed,
            zone_writes,
            rests: load.zoned.is_some_and(|zoned| zoned.remainders),
            strided: load.strided,
            rules,
            sizes,
            count: 0,
            offset_rng: rng(Purpose::Offset),
            size_rng: rng(Purpose::Size),
            random_rng: rng(Purpose::Randomness),
        }
    }

    /// Begins a pass: all files start over.
    pub(super) fn begin_pass(&mut self, cursors: &mut [FileCursor]) {
        (self.moved, self.left) = (0, false);
        self.rules.begin_pass();
        for cursor in cursors {
            cursor.next = PerDir::all(0);
            cursor.last = PerDir::all(None);
            cursor.trimmed = None;
            (cursor.spent, cursor.moved, cursor.enough) = (false, 0, u64::MAX);
            cursor.again = true;
            if let Some(offsets) = &mut cursor.offsets {
                offsets.forget(&self.rules, true);
            }
            if let Some(zones) = &mut cursor.zones {
                zones.rewind();
                cursor.draw_in_zone(&self.rules);
            }
        }
    }

    /// Offset and length of the next I/O in a file. `None` if the file is done.
    pub(super) fn next(&mut self, cursor: &mut FileCursor, dir: Dir) -> Option<(u64, u32)> {
        if cursor.spent || cursor.moved >= cursor.enough {
            return None;
        }
        if dir == Dir::Write
            && let Some(block) = cursor.trimmed.take()
        {
            self.moved += u64::from(block.1);
            if let Some(zones) = &mut cursor.zones {
                zones.count(block.1);
            }
            return Some(block);
        }
        if let Some(zones) = &mut cursor.zones
            && zones.turn(cursor.reach)
        {
            cursor.enter_zone(&self.rules);
        }
        let drawn = self.sizes[dir].draw(&mut self.size_rng);
        let min = self.sizes[dir].min();
        let at = match self.random {
            false => self.sequential(cursor, dir).map(|at| (at, drawn)),
            true => self.random(cursor, dir, drawn),
        };
        let (at, wanted) = at?;
        let reach = cursor.reach;
        let by_zone = self.zone_writes && dir == Dir::Write;
        let fit = |at| {
            // A block that would cross the end gets the smallest size.
            let room = reach.saturating_sub(at);
            let len = match u32::try_from(room) {
                _ if u64::from(wanted) <= room || by_zone => wanted,
                // Option `write_zone_remainder`.
                Ok(room) if self.rests && dir == Dir::Write && room < min => room,
                _ => min,
            };
            ((u64::from(len) <= room || by_zone) && len > 0).then_some((at, len))
        };
        let (at, len) = match fit(at) {
            Some(fits) => fits,
            None if self.skewed && !self.random && cursor.zones.is_none() => fit(0)?,
            None => return None,
        };
        self.count += 1;
        if let Some(zones) = &mut cursor.zones {
            zones.count(len);
        }
        cursor.again |= !self.random && at == 0 && cursor.last[dir].is_some();
        cursor.last[dir] = Some(at);
        cursor.next[dir] = at + u64::from(len);
        let block = (cursor.start + at, len);
        if self.pairs {
            cursor.trimmed = Some(block);
        } else {
            self.moved += u64::from(len);
        }
        Some(block)
    }

    /// The last I/O, drawn with `drawn` bytes, was made as `io` (`zonemode=zbd`). If it became
    /// shorter, the rest of its blocks can be drawn again.
    pub(super) fn placed(&mut self, cursor: &mut FileCursor, io: &Io, drawn: u32) {
        let at = io.offset.saturating_sub(cursor.start);
        cursor.last[io.dir] = Some(at);
        cursor.next[io.dir] = at + u64::from(io.len);
        cursor.moved += u64::from(io.len);
        cursor.give_back(&self.rules, io.dir, io.len);
        if !self.pairs {
            self.moved = self.moved.saturating_sub(u64::from(drawn)) + u64::from(io.len);
        }
    }

    /// The last I/O, drawn with `drawn` bytes, was not made.
    pub(super) fn displaced(
        &mut self,
        cursor: &mut FileCursor,
        io: &Io,
        drawn: u32,
        why: Displaced,
    ) {
        if !self.pairs {
            self.moved = self.moved.saturating_sub(u64::from(drawn));
        }
        match why {
            Displaced::Exchanged => cursor.give_back(&self.rules, io.dir, 0),
            Displaced::Filled if cursor.moved == 0 => cursor.give_back(&self.rules, io.dir, 0),
            Displaced::Filled => cursor.spent = true,
            Displaced::Over => cursor.spent = true,
            Displaced::Passed { lap } if io.offset > cursor.start => {
                cursor.enough = lap;
                cursor.next[io.dir] = 0;
            }
            Displaced::Passed { .. } => cursor.spent = true,
        }
    }

    /// A file is done, and gets no I/O before the next pass.
    pub(super) fn file_done(&mut self) {
        self.left = true;
    }

    /// Whether sequential I/O at the end of a file starts over in it.
    fn wraps(&self) -> bool {
        self.wraps_from == 0 || !self.left && self.moved >= self.wraps_from
    }

    fn sequential(&self, cursor: &FileCursor, dir: Dir) -> Option<u64> {
        let mut at = cursor.next[dir];
        if self.stops_at_end && at >= cursor.len && cursor.zones.is_none() {
            return None;
        }
        if self.skip != 0 {
            at = self.skipped(cursor, at);
        }
        if let Some(zones) = &cursor.zones {
            // If the file ends within the zone, the file is done.
            let at = if at >= zones.end() { zones.start() } else { at };
            return (at < cursor.reach).then_some(at);
        }
        match at < cursor.len {
            true => Some(at),
            // The caller, which places the write, knows whether other jobs filled some of the zones: see
            // `Displaced::Passed`.
            false if self.zone_writes && dir == Dir::Write => Some(cursor.len),
            false if self.holes && cursor.goes_on => None,
            false => self.wraps().then_some(0),
        }
    }

    /// Where the I/O begins that would begin at `at` without the skip. The first one of a file or zone does not skip. A skip
    /// backwards beyond the start continues at the end.
    fn skipped(&self, cursor: &FileCursor, at: u64) -> u64 {
        let start = cursor.zones.as_ref().map_or(0, |zones| zones.start());
        match at.checked_add_signed(self.skip) {
            _ if at == start => at,
            Some(next) if next >= start => next,
            _ => cursor.end().saturating_add_signed(self.skip).max(start),
        }
    }

    fn random(&mut self, cursor: &mut FileCursor, dir: Dir, len: u32) -> Option<(u64, u32)> {
        if !self.draws_now(dir) {
            let len = self.sizes[dir].draw_sequential(len, &mut self.size_rng);
            if self.identical && self.nth > 1 {
                if let Some(last) = cursor.last[dir] {
                    return Some((last, len));
                }
            } else if cursor.next[dir] + u64::from(self.sizes[dir].min()) <= cursor.end() {
                return Some((cursor.next[dir], len));
            } else if self.wraps() {
                return Some((0, len));
            }
        }
        let zone = cursor.zones.as_ref().map_or(0, |zones| zones.start());
        let offsets = cursor.offsets.as_mut()?;
        let mut drawn = offsets.draw(&mut self.rules, dir, len, &mut self.offset_rng);
        // A zone that lies completely in the file is visited again until enough bytes were moved.
        let again = self.refills || cursor.zones.as_ref().is_some_and(|z| z.end() <= cursor.reach);
        if drawn.is_none() && again {
            cursor.again = true;
            offsets.forget(&self.rules, false);
            self.rules.begin_pass();
            drawn = offsets.draw(&mut self.rules, dir, len, &mut self.offset_rng);
        }
        drawn.map(|(at, len)| (zone + at, len))
    }

    /// Whether the next I/O gets a random offset.
    #[inline]
    fn draws_now(&mut self, dir: Dir) -> bool {
        if self.nth > 1 && !self.count.is_multiple_of(u64::from(self.nth)) {
            return false;
        }
        match self.percent[dir] {
            100.. => true,
            percent => self.random_rng.below(100) < u64::from(percent),
        }
    }
}

impl FileCursor {
    /// Position at the start of the file with this index.
    ///
    /// # Errors
    ///
    /// [`RandomOffsets::new`] fails.
    pub(super) fn new(
        generator: &OffsetGenerator,
        file: &FilePlan,
        index: usize,
    ) -> Result<Self, LoadError> {
        let zones = generator.strided.map(|plan| Box::new(StridedZones::new(plan, file.len.0)));
        let room = zones.as_ref().map_or(file.len, |zones| Bytes(zones.room(file.reach().0)));
        let offsets = match generator.random {
            true => Some(Box::new(RandomOffsets::new(&generator.rules, room.0, index)?)),
            false => None,
        };
        Ok(FileCursor {
            start: file.offset.0,
            len: file.len.0,
            goes_on: file.size_now.max(file.size_needed).is_some_and(|size| size > file.len),
            reach: file.reach().0,
            last: PerDir::all(None),
            next: PerDir::all(0),
            offsets,
            trimmed: None,
            zones,
            spent: false,
            moved: 0,
            enough: u64::MAX,
            again: false,
        })
    }

    /// Begins the present zone.
    #[cold]
    fn enter_zone(&mut self, rules: &Rules) {
        if let Some(zones) = &self.zones {
            self.next = PerDir::all(zones.start());
            self.last = PerDir::all(None);
            self.draw_in_zone(rules);
        }
    }

    /// Restricts random offsets to the present zone.
    fn draw_in_zone(&mut self, rules: &Rules) {
        if let (Some(zones), Some(offsets)) = (&self.zones, &mut self.offsets) {
            offsets.reach(rules, zones.room(self.reach));
        }
    }

    /// Takes back what the last draw marked as visited, except for the first `made` bytes.
    fn give_back(&mut self, rules: &Rules, dir: Dir, made: u32) {
        if let Some(offsets) = &mut self.offsets {
            offsets.give_back(rules, dir, made);
        }
    }

    /// Where sequential I/O ends: at the end of the zone, or of the file.
    #[inline]
    fn end(&self) -> u64 {
        self.zones.as_ref().map_or(self.len, |zones| zones.end().min(self.reach))
    }

    /// Length of the region in bytes.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Whether the last I/O is the first one of a new round through the file. Returns `true` once
    /// per round.
    #[inline]
    pub(super) fn begun_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// Whether a block was trimmed and not yet written.
    #[inline]
    pub(super) fn trimmed(&self) -> bool {
        self.trimmed.is_some()
    }
}
