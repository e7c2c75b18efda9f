//! The general source, for every load that is not plain: mixes, several files, several block sizes,
//! flushes.

use fiord_plan::{FileService, JobPlan, Mix, TrimRange};
use fiord_types::{Bytes, Dir, FileIndex, PerDir};

use super::attributes::AttributeSource;
use super::cursor::{FileCursor, OffsetGenerator};
use super::directions::Directions;
use super::files::FilesInService;
use super::flushes::Flushes;
use super::limits::JobLimits;
use super::ranges::Ranges;
use super::sizes::Sizes;
use crate::rng::{Purpose, Rng};
use crate::{Displaced, Io, IoAttributes, LoadError, Next, Source};

/// A source for any load.
#[derive(Debug, Clone)]
pub struct General {
    limits: JobLimits,
    flushes: Flushes,
    files: FilesInService,
    directions: Directions,
    generator: OffsetGenerator,
    cursors: Vec<FileCursor>,
    file_rng: Rng,
    direction_rng: Rng,
    /// Attributes of the I/Os; `None` if all are plain.
    attributes: Option<Box<AttributeSource>>,
    /// Ranges of the trims; `None` if each trim has one range.
    ranges: Option<Box<Ranges>>,
    /// The caller closes all files before each loop.
    reopens: bool,
    /// Bytes moved per file in this pass. A file without a map is done when it has moved as many
    /// bytes as it is long. `None` unless another file waits for that.
    quota: Option<Vec<u64>>,
    /// Number of I/Os in this pass.
    moved: u64,
    repeat: bool,
    seed: u64,
    /// Length of the last I/O in bytes as it was drawn. With zones the I/O counts once it is
    /// [`Source::placed`].
    drawn: u32,
    zoned: bool,
    /// The source answers [`Next::Again`] before the first I/O of a new round through a file.
    reports_passes: bool,
    /// That first I/O, which follows the answer.
    first: Option<Io>,
}

impl General {
    /// Creates the source of a job.
    ///
    /// # Errors
    ///
    /// The job has nothing to do, or its blocks and files do not fit together.
    pub fn new(job: &JobPlan) -> Result<Self, LoadError> {
        let load = &job.load;
        let mut sizes = PerDir::from_fn(|dir| Sizes::new(&load.blocks[dir], load.unaligned));
        if load.mix == Mix::TrimWrite {
            // A write has the size of the trim before it.
            sizes[Dir::Write] = sizes[Dir::Trim].clone();
        }
        check(job, &sizes)?;
        let largest = load.mix.dirs().map(|dir| sizes[dir].max()).max().unwrap_or(0);
        let smallest = load.mix.dirs().map(|dir| sizes[dir].min()).min().unwrap_or(0);
        let limits = JobLimits::new(job, smallest, largest);
        let mut file_rng = Rng::new(load.seed, Purpose::File, 0);
        let files = FilesInService::new(job, &mut file_rng);
        let count = job.target.files.len();
        let one_by_one = job.target.service == FileService::Sequential && count > 1
            || (job.target.open_files as usize) < count;
        let generator = OffsetGenerator::new(job, sizes, limits.timed(), one_by_one);
        // `sprandom` knows when it is done.
        let drawn = load.random && load.sprandom.is_none();
        // If other jobs also fill the zones, a job visits them more than once.
        let laps = load.zoned.is_some() && load.mix.has(Dir::Write) && count > 1;
        let quota = one_by_one && (drawn || load.strided.is_some()) || laps && !load.random;
        let mut cursors = Vec::with_capacity(count);
        for (index, file) in job.target.files.iter().enumerate() {
            cursors.push(FileCursor::new(&generator, file, index)?);
        }
        Ok(General {
            limits,
            flushes: Flushes::new(load, count),
            files,
            directions: Directions::new(load.mix),
            cursors,
            generator,
            file_rng,
            direction_rng: Rng::new(load.seed, Purpose::Direction, 0),
            attributes: AttributeSource::new(load),
            ranges: Ranges::new(load),
            reopens: job.target.unlink_each_loop,
            quota: quota.then(|| vec![0; count]),
            moved: 0,
            repeat: load.repeat,
            seed: load.seed,
            drawn: 0,
            zoned: load.zoned.is_some(),
            reports_passes: job.drops_cache_each_pass(),
            first: None,
        })
    }

    /// Begins another pass over all files. Returns `false` if the work of this loop is done.
    #[cold]
    fn another_pass(&mut self) -> bool {
        // Every file holds a block, so a pass without an I/O means that nothing is left.
        if self.moved == 0 || !self.limits.another_pass() {
            return false;
        }
        self.moved = 0;
        if self.repeat {
            self.file_rng = Rng::new(self.seed, Purpose::File, 0);
        }
        self.files.begin_pass(&mut self.file_rng);
        self.generator.begin_pass(&mut self.cursors);
        if let Some(quota) = &mut self.quota {
            quota.fill(0);
        }
        true
    }

    /// Whether a file without a map has moved all bytes of this pass.
    #[inline]
    fn full(&self, file: FileIndex) -> bool {
        let cursor = &self.cursors[file];
        let moved = |quota: &Vec<u64>| quota[file];
        self.quota.as_ref().is_some_and(|q| moved(q) >= cursor.len() && !cursor.trimmed())
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
            quota[io.file] += u64::from(io.len);
        }
    }
}

impl General {
    /// The I/O of a block that was drawn. Counts it, unless a zone decides first where it goes.
    #[inline(always)]
    fn drawn_io(&mut self, dir: Dir, file: FileIndex, (offset, len): (u64, u32)) -> Next {
        let mut io = Io { dir, file, offset, len, attributes: IoAttributes::PLAIN };
        if let Some(attributes) = &mut self.attributes {
            io.attributes = attributes.of(&io);
        }
        if self.zoned {
            self.drawn = len;
        } else {
            self.issued(&io);
        }
        Next::Io(io)
    }

    /// What is next. `asked`: direction of an I/O of a mix.
    #[inline(always)]
    fn next_in(&mut self, asked: Option<Dir>) -> Next {
        if self.reports_passes
            && let Some(io) = self.first.take()
        {
            return Next::Io(io);
        }
        loop {
            if self.limits.reached() {
                return self.owed();
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
                    // Opening the file drops its cached pages.
                    self.cursors[file].begun_again();
                    return Next::Open(file);
                }
                let cursor = &mut self.cursors[file];
                let dir = match (self.directions, asked) {
                    (Directions::Mix(_), Some(dir)) => dir,
                    (directions, _) => directions.draw(cursor.trimmed(), &mut self.direction_rng),
                };
                if let Some((offset, len)) = self.generator.next(cursor, dir) {
                    let next = self.drawn_io(dir, file, (offset, len));
                    if self.reports_passes
                        && self.cursors[file].begun_again()
                        && let Next::Io(io) = next
                    {
                        self.first = Some(io);
                        return Next::Again(file);
                    }
                    return next;
                }
            }
            self.generator.file_done();
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

    #[cold]
    fn owed(&mut self) -> Next {
        if !matches!(self.directions, Directions::TrimWrite) {
            return Next::End;
        }
        for (index, cursor) in self.cursors.iter_mut().enumerate() {
            if !cursor.trimmed() {
                continue;
            }
            if let Some((offset, len)) = self.generator.next(cursor, Dir::Write) {
                return self.drawn_io(Dir::Write, FileIndex(index as u32), (offset, len));
            }
        }
        Next::End
    }

    fn ranges(&self) -> &[TrimRange] {
        self.ranges.as_ref().map_or(&[], |ranges| ranges.list())
    }

    fn placed(&mut self, io: &Io) {
        self.generator.placed(&mut self.cursors[io.file], io, self.drawn);
        self.issued(io);
    }

    fn displaced(&mut self, io: &Io, why: Displaced) {
        let drawn = self.drawn;
        self.generator.displaced(&mut self.cursors[io.file], io, drawn, why);
    }

    fn restart(&mut self) {
        self.limits.restart();
        if self.reopens {
            self.files.all_closed();
        }
    }
}

/// Checks that some file holds a block of every direction. Otherwise the source would never find an
/// offset.
///
/// # Errors
///
/// No file holds a block, or a block size is 0.
fn check(job: &JobPlan, sizes: &PerDir<Sizes>) -> Result<(), LoadError> {
    let len = job.target.files.iter().map(|f| f.len).max().ok_or(LoadError::NoFile)?;
    if job.load.mix.dirs().all(|dir| Bytes::from(sizes[dir].min()) > len) {
        return Err(LoadError::NothingFits);
    }
    for dir in job.load.mix.dirs() {
        let block = sizes[dir].min();
        if block == 0 {
            return Err(LoadError::NoBlockSize);
        }
        if Bytes::from(block) > len {
            return Err(LoadError::TooSmall { len, block });
        }
    }
    Ok(())
}
