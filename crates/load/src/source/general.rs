//! The source for everything that is not plain: mixes, several files, several block sizes, flushes.

use fiord_plan::{Dir, FileService, JobPlan, Mix, TrimRange};

use super::directions::Directions;
use super::files::Files;
use super::flushes::Flushes;
use super::limits::Limits;
use super::place::{Motion, Place};
use super::ranges::Ranges;
use super::sizes::Sizes;
use super::tags::Tags;
use crate::rng::{Purpose, Rng};
use crate::{Displaced, Io, LoadError, Next, Source, Tag};

/// Any load.
#[derive(Debug, Clone)]
pub struct General {
    limits: Limits,
    flushes: Flushes,
    files: Files,
    directions: Directions,
    motion: Motion,
    places: Vec<Place>,
    file_rng: Rng,
    direction_rng: Rng,
    /// Where I/Os carry something beside their place.
    tags: Option<Box<Tags>>,
    /// Where trims have several ranges.
    ranges: Option<Box<Ranges>>,
    /// The caller closes all files before each loop.
    reopens: bool,
    /// Files without a map are done when as many bytes as they have were moved in this pass; only
    /// where another file waits for that.
    quota: Option<Vec<u64>>,
    /// I/Os in this pass.
    moved: u64,
    repeat: bool,
    seed: u64,
    /// Bytes of the last I/O as it was drawn. With zones it counts once it is [`Source::placed`].
    drawn: u32,
    zoned: bool,
    /// [`Next::Again`] is said before the first I/O to a file that is begun anew.
    tells: bool,
    /// That I/O.
    first: Option<Io>,
}

impl General {
    /// Of a job.
    pub fn new(job: &JobPlan) -> Result<Self, LoadError> {
        let load = &job.load;
        let mut sizes = std::array::from_fn(|i| Sizes::new(&load.blocks[i], load.unaligned));
        if load.mix == Mix::TrimWrite {
            // What is written is what was trimmed.
            sizes[Dir::Write as usize] = sizes[Dir::Trim as usize].clone();
        }
        check(job, &sizes)?;
        let largest = used(load.mix).map(|d| sizes[d as usize].max()).max().unwrap_or(0);
        let smallest = used(load.mix).map(|d| sizes[d as usize].min()).min().unwrap_or(0);
        let limits = Limits::new(job, smallest, largest);
        let mut file_rng = Rng::new(load.seed, Purpose::File, 0);
        let files = Files::new(job, &mut file_rng);
        let count = job.target.files.len();
        let one_by_one = job.target.service == FileService::Sequential && count > 1
            || (job.target.open_files as usize) < count;
        let motion = Motion::new(job, sizes, limits.timed(), one_by_one);
        // `sprandom` knows by itself when it is done.
        let drawn = load.random && load.sprandom.is_none();
        // Where other jobs fill its zones too, a job goes through them more than once.
        let laps = load.zoned.is_some() && load.mix.has(Dir::Write) && count > 1;
        let quota = one_by_one && (drawn || load.strided.is_some()) || laps && !load.random;
        let mut places = Vec::with_capacity(count);
        for (index, file) in job.target.files.iter().enumerate() {
            places.push(Place::new(&motion, file, index)?);
        }
        Ok(General {
            limits,
            flushes: Flushes::new(load, count),
            files,
            directions: Directions::new(load.mix),
            places,
            motion,
            file_rng,
            direction_rng: Rng::new(load.seed, Purpose::Direction, 0),
            tags: Tags::new(load),
            ranges: Ranges::new(load),
            reopens: job.target.unlink_each_loop,
            quota: quota.then(|| vec![0; count]),
            moved: 0,
            repeat: load.repeat,
            seed: load.seed,
            drawn: 0,
            zoned: load.zoned.is_some(),
            tells: job.drops_cache_each_pass(),
            first: None,
        })
    }

    /// All files once more. False when the work of this loop is done.
    #[cold]
    fn another_pass(&mut self) -> bool {
        // Every file holds a block, so a pass without an I/O is one too many.
        if self.moved == 0 || !self.limits.another_pass() {
            return false;
        }
        self.moved = 0;
        if self.repeat {
            self.file_rng = Rng::new(self.seed, Purpose::File, 0);
        }
        self.files.begin_pass(&mut self.file_rng);
        self.motion.begin_pass(&mut self.places);
        if let Some(quota) = &mut self.quota {
            quota.fill(0);
        }
        true
    }

    /// Whether a file got all that a pass gives it, where no map says so.
    #[inline]
    fn full(&self, file: u32) -> bool {
        let place = &self.places[file as usize];
        let moved = |quota: &Vec<u64>| quota[file as usize];
        self.quota.as_ref().is_some_and(|q| moved(q) >= place.len() && !place.trimmed())
    }

    #[inline]
    fn issued(&mut self, io: &Io) {
        self.limits.count(io.dir, io.len);
        self.flushes.count(io);
        self.files.count(&mut self.file_rng);
        self.moved += 1;
        if let Some(quota) = &mut self.quota
            && !(io.dir == Dir::Trim && matches!(self.directions, Directions::TrimWrite))
        {
            quota[io.file as usize] += u64::from(io.len);
        }
    }
}

impl General {
    /// What is next; an I/O of a mix goes in the direction that is asked for, if one is.
    #[inline(always)]
    fn next_in(&mut self, asked: Option<Dir>) -> Next {
        if self.tells
            && let Some(io) = self.first.take()
        {
            return Next::Io(io);
        }
        loop {
            if self.limits.reached() {
                return Next::End;
            }
            if let Some(flush) = self.flushes.take() {
                return flush;
            }
            let Some(file) = self.files.current() else {
                if self.another_pass() {
                    continue;
                }
                return Next::End;
            };
            if !self.full(file) {
                if self.files.must_open(file) {
                    // Its pages are dropped as it is opened.
                    self.places[file as usize].begun_again();
                    return Next::Open(file);
                }
                let place = &mut self.places[file as usize];
                let dir = match (self.directions, asked) {
                    (Directions::Mix(_), Some(dir)) => dir,
                    (directions, _) => directions.draw(place.trimmed(), &mut self.direction_rng),
                };
                if let Some((offset, len)) = self.motion.next(place, dir) {
                    let mut io = Io { dir, file, offset, len, tag: Tag::PLAIN };
                    if let Some(tags) = &mut self.tags {
                        io.tag = tags.of(&io);
                    }
                    if self.zoned {
                        self.drawn = len;
                    } else {
                        self.issued(&io);
                    }
                    if self.tells && self.places[file as usize].begun_again() {
                        self.first = Some(io);
                        return Next::Again(file);
                    }
                    return Next::Io(io);
                }
            }
            if self.files.finish(&mut self.file_rng) {
                return Next::Close(file);
            }
        }
    }
}

impl General {
    /// The next trim of several ranges.
    #[cold]
    fn gathered(&mut self) -> Next {
        let Some(mut ranges) = self.ranges.take() else { return self.next_in(None) };
        let next = ranges.gather(|| self.next_in(None));
        self.ranges = Some(ranges);
        next
    }
}

impl Source for General {
    fn next(&mut self) -> Next {
        if self.ranges.is_some() {
            return self.gathered();
        }
        self.next_in(None)
    }

    fn next_of(&mut self, dir: Dir) -> Next {
        if self.ranges.is_some() {
            return self.gathered();
        }
        self.next_in(Some(dir))
    }

    fn ranges(&self) -> &[TrimRange] {
        self.ranges.as_ref().map_or(&[], |ranges| ranges.list())
    }

    fn placed(&mut self, io: &Io) {
        self.motion.placed(&mut self.places[io.file as usize], io, self.drawn);
        self.issued(io);
    }

    fn displaced(&mut self, io: &Io, why: Displaced) {
        let drawn = self.drawn;
        self.motion.displaced(&mut self.places[io.file as usize], io, drawn, why);
    }

    fn restart(&mut self) {
        self.limits.restart();
        if self.reopens {
            self.files.all_closed();
        }
    }
}

/// The directions of a mix.
fn used(mix: Mix) -> impl Iterator<Item = Dir> {
    [Dir::Read, Dir::Write, Dir::Trim].into_iter().filter(move |&dir| mix.has(dir))
}

/// Some file must hold a block of every direction, or the source would never find a place.
fn check(job: &JobPlan, sizes: &[Sizes; 3]) -> Result<(), LoadError> {
    let len = job.target.files.iter().map(|f| f.len).max().ok_or(LoadError::NoFile)?;
    if used(job.load.mix).all(|dir| u64::from(sizes[dir as usize].min()) > len) {
        return Err(LoadError::NothingFits);
    }
    for dir in used(job.load.mix) {
        let block = sizes[dir as usize].min();
        if block == 0 {
            return Err(LoadError::NoBlockSize);
        }
        if u64::from(block) > len {
            return Err(LoadError::TooSmall { len, block });
        }
    }
    Ok(())
}
