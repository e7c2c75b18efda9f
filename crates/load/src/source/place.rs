//! Where in a file the next I/O goes.

use fiord_plan::{Dir, FilePlan, JobPlan, Mix, Sequencer, Step, Strided};

use super::draws::{Draws, Rules};
use super::sizes::Sizes;
use super::strided::Zones;
use crate::rng::{Purpose, Rng};
use crate::{Displaced, Io, LoadError};

/// How a job moves through its files.
#[derive(Debug, Clone)]
pub struct Motion {
    random: bool,
    /// Added to the offset after each sequential I/O.
    skip: i64,
    /// With a skip an I/O that ends where the file ends is the file's last, unless there is more to
    /// do than the files hold: as in fio.
    stops_at_end: bool,
    /// A random offset every this many I/Os.
    nth: u32,
    identical: bool,
    percent: [u8; 3],
    /// Sequential I/O that reaches the end of a file goes on at its start once so many bytes were
    /// moved in this pass; before that the file is done, so that the others get their share.
    wraps_from: u64,
    /// Bytes in this pass; of `trimwrite` only those that are written.
    moved: u64,
    /// `trimwrite`: what was trimmed is written next.
    pairs: bool,
    /// A map that is full is emptied: the file is never done.
    refills: bool,
    /// Sequential writes to zones, which say themselves how much they take.
    zone_writes: bool,
    /// What is left at the end is written even where it holds no block.
    rests: bool,
    strided: Option<Strided>,
    rules: Rules,
    sizes: [Sizes; 3],
    /// I/Os so far.
    count: u64,
    offset_rng: Rng,
    size_rng: Rng,
    random_rng: Rng,
}

/// How far a job has come in one file.
#[derive(Debug, Clone)]
pub struct Place {
    start: u64,
    len: u64,
    /// Bytes that the file has from `start` on, where strides go on behind `len`; else `len`.
    reach: u64,
    /// By direction: where the last I/O began and ended, from `start`.
    last: [Option<u64>; 3],
    next: [u64; 3],
    draws: Draws,
    /// `trimwrite`: trimmed and to be written.
    trimmed: Option<(u64, u32)>,
    /// `zonemode=strided`.
    zones: Option<Box<Zones>>,
    /// `zonemode=zbd`: no zone takes more in this pass.
    spent: bool,
    /// `zonemode=zbd`: bytes in this pass, and with how many of them the file is done.
    moved: u64,
    enough: u64,
    /// The file was gone through, and is begun anew with the I/O that was drawn last.
    again: bool,
}

impl Motion {
    /// Of a job; `sizes` by direction; `timed`: only the clock ends the work; `one_by_one`: files
    /// wait for others to be done.
    pub fn new(job: &JobPlan, sizes: [Sizes; 3], timed: bool, one_by_one: bool) -> Self {
        let load = &job.load;
        let rng = |purpose| Rng::new(load.seed, purpose, 0);
        let skip = match load.step {
            Step::Skip(skip) if !load.random => skip,
            _ => 0,
        };
        let held = job.target.files.iter().map(|f| f.len).fold(0, u64::saturating_add);
        let zone_writes = load.zoned.is_some() && load.mix.has(Dir::Write) && !load.random;
        let wraps_from = if skip != 0 || zone_writes {
            0
        } else if !one_by_one && (timed || load.mix.has(Dir::Write)) {
            held
        } else {
            u64::MAX
        };
        Motion {
            random: load.random,
            skip,
            stops_at_end: skip > 0 && !timed && job.end.bytes <= held,
            nth: match load.step {
                Step::EveryNth(n) if load.random => n.max(1),
                _ => 1,
            },
            identical: load.sequencer == Sequencer::Identical,
            percent: load.random_percent,
            wraps_from,
            moved: 0,
            pairs: load.mix == Mix::TrimWrite,
            refills: timed && !one_by_one,
            zone_writes,
            rests: load.zoned.is_some_and(|zoned| zoned.remainders),
            strided: load.strided,
            rules: Rules::new(load, &sizes),
            sizes,
            count: 0,
            offset_rng: rng(Purpose::Offset),
            size_rng: rng(Purpose::Size),
            random_rng: rng(Purpose::Randomness),
        }
    }

    /// All files are before us again.
    pub fn begin_pass(&mut self, places: &mut [Place]) {
        self.moved = 0;
        self.rules.begin_pass();
        for place in places {
            place.next = [0; 3];
            place.last = [None; 3];
            place.trimmed = None;
            (place.spent, place.moved, place.enough) = (false, 0, u64::MAX);
            place.again = true;
            place.draws.forget(&self.rules, true);
            if let Some(zones) = &mut place.zones {
                zones.rewind();
                place.draws.reach(&self.rules, zones.room(place.reach));
            }
        }
    }

    /// Offset and length of the next I/O in a file. `None`: the file is done.
    pub fn next(&mut self, place: &mut Place, dir: Dir) -> Option<(u64, u32)> {
        if place.spent || place.moved >= place.enough {
            return None;
        }
        if dir == Dir::Write
            && let Some(block) = place.trimmed.take()
        {
            self.moved += u64::from(block.1);
            if let Some(zones) = &mut place.zones {
                zones.count(block.1);
            }
            return Some(block);
        }
        if let Some(zones) = &mut place.zones
            && zones.turn(place.reach)
        {
            place.enter_zone(&self.rules);
        }
        let d = dir as usize;
        let drawn = self.sizes[d].draw(&mut self.size_rng);
        let min = self.sizes[d].min();
        let at = match self.random {
            false => self.sequential(place, d).map(|at| (at, drawn)),
            true => self.random(place, dir, drawn),
        };
        let (at, wanted) = at?;
        // A block that would cross the end is as small as one can be.
        let room = place.reach.saturating_sub(at);
        let by_zone = self.zone_writes && dir == Dir::Write;
        let len = match u32::try_from(room) {
            _ if u64::from(wanted) <= room || by_zone => wanted,
            // `write_zone_remainder`.
            Ok(room) if self.rests && dir == Dir::Write && room < min => room,
            _ => min,
        };
        if u64::from(len) > room && !by_zone || len == 0 {
            return None;
        }
        self.count += 1;
        if let Some(zones) = &mut place.zones {
            zones.count(len);
        }
        place.again |= !self.random && at == 0 && place.last[d].is_some();
        place.last[d] = Some(at);
        place.next[d] = at + u64::from(len);
        let block = (place.start + at, len);
        if self.pairs {
            place.trimmed = Some(block);
        } else {
            self.moved += u64::from(len);
        }
        Some(block)
    }

    /// The last I/O, drawn with so many bytes, goes elsewhere (`zonemode=zbd`). Where it became
    /// smaller, the rest is drawn again.
    pub fn placed(&mut self, place: &mut Place, io: &Io, drawn: u32) {
        let d = io.dir as usize;
        let at = io.offset.saturating_sub(place.start);
        place.last[d] = Some(at);
        place.next[d] = at + u64::from(io.len);
        place.moved += u64::from(io.len);
        place.draws.give_back(&self.rules, io.dir, io.len);
        if !self.pairs {
            self.moved = self.moved.saturating_sub(u64::from(drawn)) + u64::from(io.len);
        }
    }

    /// The last I/O, drawn with so many bytes, is not made.
    pub fn displaced(&mut self, place: &mut Place, io: &Io, drawn: u32, why: Displaced) {
        if !self.pairs {
            self.moved = self.moved.saturating_sub(u64::from(drawn));
        }
        match why {
            Displaced::Exchanged => place.draws.give_back(&self.rules, io.dir, 0),
            Displaced::Over => place.spent = true,
            Displaced::Passed { lap } if io.offset > place.start => {
                place.enough = lap;
                place.next[io.dir as usize] = 0;
            }
            Displaced::Passed { .. } => place.spent = true,
        }
    }

    fn sequential(&self, place: &Place, d: usize) -> Option<u64> {
        let mut at = place.next[d];
        if self.stops_at_end && at >= place.len && place.zones.is_none() {
            return None;
        }
        if self.skip != 0 && at != place.zones.as_ref().map_or(0, |zones| zones.start()) {
            at = match at.checked_add_signed(self.skip) {
                Some(at) => at,
                None => place.len.saturating_add_signed(self.skip),
            };
        }
        if let Some(zones) = &place.zones {
            // Where the file ends within a zone, it is done.
            let at = if at >= zones.end() { zones.start() } else { at };
            return (at < place.reach).then_some(at);
        }
        match at < place.len {
            true => Some(at),
            false => (self.moved >= self.wraps_from).then_some(0),
        }
    }

    fn random(&mut self, place: &mut Place, dir: Dir, len: u32) -> Option<(u64, u32)> {
        let d = dir as usize;
        if !self.draws_now(d) {
            if self.identical && self.nth > 1 {
                if let Some(last) = place.last[d] {
                    return Some((last, len));
                }
            } else if place.next[d] + u64::from(self.sizes[d].min()) <= place.end() {
                return Some((place.next[d], len));
            } else if self.moved >= self.wraps_from {
                return Some((0, len));
            }
        }
        let zone = place.zones.as_ref().map_or(0, |zones| zones.start());
        let mut drawn = place.draws.draw(&mut self.rules, dir, len, &mut self.offset_rng);
        // A zone that lies in the file as a whole is gone through again until enough is moved.
        let again = self.refills || place.zones.as_ref().is_some_and(|z| z.end() <= place.reach);
        if drawn.is_none() && again {
            place.again = true;
            place.draws.forget(&self.rules, false);
            self.rules.begin_pass();
            drawn = place.draws.draw(&mut self.rules, dir, len, &mut self.offset_rng);
        }
        drawn.map(|(at, len)| (zone + at, len))
    }

    /// Whether the next offset is a random one.
    #[inline]
    fn draws_now(&mut self, d: usize) -> bool {
        if self.nth > 1 && !self.count.is_multiple_of(u64::from(self.nth)) {
            return false;
        }
        match self.percent[d] {
            100.. => true,
            percent => self.random_rng.below(100) < u64::from(percent),
        }
    }
}

impl Place {
    /// At the start of the file of this index.
    ///
    /// # Errors
    /// Those of [`Draws::new`].
    pub fn new(motion: &Motion, file: &FilePlan, index: usize) -> Result<Self, LoadError> {
        let zones = motion.strided.map(|plan| Box::new(Zones::new(plan, file.len)));
        let room = zones.as_ref().map_or(file.len, |zones| zones.room(file.reach()));
        Ok(Place {
            start: file.offset,
            len: file.len,
            reach: file.reach(),
            last: [None; 3],
            next: [0; 3],
            draws: Draws::new(&motion.rules, room, index)?,
            trimmed: None,
            zones,
            spent: false,
            moved: 0,
            enough: u64::MAX,
            again: false,
        })
    }

    /// The present zone begins.
    #[cold]
    fn enter_zone(&mut self, rules: &Rules) {
        if let Some(zones) = &self.zones {
            self.next = [zones.start(); 3];
            self.last = [None; 3];
            self.draws.reach(rules, zones.room(self.reach));
        }
    }

    /// Where I/O that goes on in sequence ends: that of the zone, else of the file.
    #[inline]
    fn end(&self) -> u64 {
        self.zones.as_ref().map_or(self.len, |zones| zones.end().min(self.reach))
    }

    /// Bytes of the region.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file is begun anew with the I/O that was drawn last. It says so once.
    #[inline]
    pub fn begun_again(&mut self) -> bool {
        std::mem::take(&mut self.again)
    }

    /// Whether a block was trimmed and is not written.
    #[inline]
    pub fn trimmed(&self) -> bool {
        self.trimmed.is_some()
    }
}
