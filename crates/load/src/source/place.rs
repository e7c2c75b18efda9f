//! Where in a file the next I/O goes.

use fiord_plan::{Dir, FilePlan, JobPlan, Mix, Sequencer, Step};

use super::draws::{Draws, Rules};
use super::sizes::Sizes;
use crate::rng::{Purpose, Rng};

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
    /// By direction: where the last I/O began and ended, from `start`.
    last: [Option<u64>; 3],
    next: [u64; 3],
    draws: Draws,
    /// `trimwrite`: trimmed and to be written.
    trimmed: Option<(u64, u32)>,
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
        let wraps_from = if skip != 0 {
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
        for place in places {
            place.next = [0; 3];
            place.last = [None; 3];
            place.trimmed = None;
            place.draws.forget(&self.rules, true);
        }
    }

    /// Offset and length of the next I/O in a file. `None`: the file is done.
    pub fn next(&mut self, place: &mut Place, dir: Dir) -> Option<(u64, u32)> {
        if dir == Dir::Write
            && let Some(block) = place.trimmed.take()
        {
            self.moved += u64::from(block.1);
            return Some(block);
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
        let room = place.len.saturating_sub(at);
        let len = if u64::from(wanted) <= room { wanted } else { min };
        if u64::from(len) > room || len == 0 {
            return None;
        }
        self.count += 1;
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

    fn sequential(&self, place: &Place, d: usize) -> Option<u64> {
        let mut at = place.next[d];
        if self.stops_at_end && at >= place.len {
            return None;
        }
        if at != 0 && self.skip != 0 {
            at = match at.checked_add_signed(self.skip) {
                Some(at) => at,
                None => place.len.saturating_add_signed(self.skip),
            };
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
            } else if place.next[d] + u64::from(self.sizes[d].min()) <= place.len {
                return Some((place.next[d], len));
            } else if self.moved >= self.wraps_from {
                return Some((0, len));
            }
        }
        let drawn = place.draws.draw(&self.rules, dir, len, &mut self.offset_rng);
        if drawn.is_some() || !self.refills {
            return drawn;
        }
        place.draws.forget(&self.rules, false);
        place.draws.draw(&self.rules, dir, len, &mut self.offset_rng)
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
    pub fn new(motion: &Motion, file: &FilePlan, index: usize) -> Self {
        Place {
            start: file.offset,
            len: file.len,
            last: [None; 3],
            next: [0; 3],
            draws: Draws::new(&motion.rules, file, index),
            trimmed: None,
        }
    }

    /// Bytes of the region.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether a block was trimmed and is not written.
    #[inline]
    pub fn trimmed(&self) -> bool {
        self.trimmed.is_some()
    }
}
