//! The bytes of writes. [`AnyContent::of`] chooses the content of a job.

pub mod checked;
pub mod compress;
pub mod duplicates;
pub mod pattern;
pub mod random;
pub mod scramble;
pub mod shape;
#[cfg(test)]
mod shape_tests;
pub mod steady;
#[cfg(test)]
mod tests;

use checked::Checked;
use fiord_job::option::engine::EngineAccess;
use fiord_plan::{BlockSize, JobPlan};
use fiord_types::Dir;
use pattern::RepeatedPattern;
use random::Refill;
use scramble::Scramble;
use shape::Shaped;
use steady::{Fixed, Zero};

use crate::{Content, Io, LoadError};

/// The content of a job.
///
/// One type for all contents, so that the inner loop is not compiled for each of them. The branch
/// costs nothing compared with filling a buffer.
#[derive(Debug, Clone)]
pub enum AnyContent {
    Zero(Zero),
    Fixed(Fixed),
    Scramble(Scramble),
    Refill(Refill),
    Pattern(RepeatedPattern),
    Shaped(Box<Shaped>),
    Checked(Box<Checked>),
}

impl AnyContent {
    /// Creates the content of a job. For `salt` see [`AnyContent::instead`].
    ///
    /// # Errors
    ///
    /// The pattern of the job is empty, or a file of the pattern was not read.
    pub fn of(job: &JobPlan, salt: u64) -> Result<Self, LoadError> {
        Self::instead(job, &job.content, salt)
    }

    /// Creates `content` for the writes of a job, in place of the job's own content.
    ///
    /// `salt` (for example the start time) makes the random bytes of this run different from those
    /// of other runs, so that storage with deduplication does not find the bytes of the last run.
    /// With 0 they depend only on the seed of the job. The files of a pattern must have been read
    /// before, with [`pattern::with_files`].
    ///
    /// # Errors
    ///
    /// The pattern is empty, or a file of the pattern was not read.
    pub fn instead(
        job: &JobPlan,
        content: &fiord_plan::ContentPlan,
        salt: u64,
    ) -> Result<Self, LoadError> {
        let lanes = random::Lanes::new(job.load.seed ^ salt, job.identity.index.0 as u64);
        // Reads of the job overwrite the buffers.
        let put_back = job.load.mix.has(Dir::Read) && job.load.mix.has(Dir::Write);
        let content = match content {
            fiord_plan::ContentPlan::Zero => AnyContent::Zero(Zero { put_back }),
            fiord_plan::ContentPlan::Fixed => AnyContent::Fixed(Fixed::new(lanes, put_back)),
            fiord_plan::ContentPlan::Scramble
                if job.engine.def().access == EngineAccess::Stream =>
            {
                AnyContent::Scramble(Scramble::of_stream(lanes))
            }
            fiord_plan::ContentPlan::Scramble => {
                let sizes = &job.load.blocks[Dir::Write];
                let one_size = matches!(sizes, BlockSize::Fixed(_));
                AnyContent::Scramble(Scramble::new(lanes, put_back, one_size))
            }
            fiord_plan::ContentPlan::Refill => AnyContent::Refill(Refill::new(lanes)),
            fiord_plan::ContentPlan::Pattern(parts) => {
                AnyContent::Pattern(RepeatedPattern::new(parts, put_back)?)
            }
            fiord_plan::ContentPlan::Shaped(shape) => {
                AnyContent::Shaped(Box::new(Shaped::new(shape, lanes, salt)?))
            }
        };
        Ok(if job.crc { AnyContent::Checked(Box::new(Checked::new(content))) } else { content })
    }

    /// Whether [`Content::fill`] takes so long for a buffer of this length that its time must be measured.
    #[inline]
    #[must_use]
    pub fn takes_time(&self, len: usize) -> bool {
        match self {
            AnyContent::Scramble(c) => !c.is_quick(len),
            other => other.touches(),
        }
    }

    /// Whether [`Content::fill`] changes the buffer at all.
    #[inline]
    #[must_use]
    pub fn touches(&self) -> bool {
        match self {
            AnyContent::Zero(c) => c.put_back,
            AnyContent::Fixed(c) => c.put_back,
            AnyContent::Pattern(c) => c.touches(),
            AnyContent::Scramble(_)
            | AnyContent::Refill(_)
            | AnyContent::Shaped(_)
            | AnyContent::Checked(_) => true,
        }
    }
}

impl Content for AnyContent {
    fn prepare(&mut self, buffer: &mut [u8]) {
        match self {
            AnyContent::Zero(c) => c.prepare(buffer),
            AnyContent::Fixed(c) => c.prepare(buffer),
            AnyContent::Scramble(c) => c.prepare(buffer),
            AnyContent::Refill(c) => c.prepare(buffer),
            AnyContent::Pattern(c) => c.prepare(buffer),
            AnyContent::Shaped(c) => c.prepare(buffer),
            AnyContent::Checked(c) => c.prepare(buffer),
        }
    }

    #[inline(always)]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        match self {
            AnyContent::Scramble(c) => c.fill(buffer, io),
            others => others.fill_else(buffer, io),
        }
    }
}

impl AnyContent {
    /// Contents other than the default one, in a function of their own to keep their code out of
    /// its path.
    #[inline(never)]
    fn fill_else(&mut self, buffer: &mut [u8], io: &Io) {
        match self {
            AnyContent::Scramble(c) => c.fill(buffer, io),
            AnyContent::Zero(c) => c.fill(buffer, io),
            AnyContent::Fixed(c) => c.fill(buffer, io),
            AnyContent::Refill(c) => c.fill(buffer, io),
            AnyContent::Pattern(c) => c.fill(buffer, io),
            AnyContent::Shaped(c) => c.fill(buffer, io),
            AnyContent::Checked(c) => c.fill(buffer, io),
        }
    }
}
