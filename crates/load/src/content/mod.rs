//! The bytes of a write. [`AnyContent::of`] picks the content for a job.

pub mod pattern;
pub mod random;
pub mod scramble;
pub mod steady;
#[cfg(test)]
mod tests;

use fiord_plan::JobPlan;
use pattern::Pattern;
use random::Refill;
use scramble::Scramble;
use steady::{Fixed, Zero};

use crate::{Content, Io, LoadError};

/// The content of a job.
///
/// One type for all of them, so that the inner loop is not compiled for each: the branch costs
/// nothing beside what filling a buffer costs.
#[derive(Debug, Clone)]
#[allow(missing_docs)]
pub enum AnyContent {
    Zero(Zero),
    Fixed(Fixed),
    Scramble(Scramble),
    Refill(Refill),
    Pattern(Pattern),
}

impl AnyContent {
    /// Makes the content of a job.
    ///
    /// `salt` makes the random bytes of this run different from those of other runs (the time of
    /// the start, say), so that storage that finds duplicates does not find the last run's; with 0
    /// they depend on the job's seed alone. Files in a pattern must have been read into bytes
    /// before, with [`pattern::with_files`].
    pub fn of(job: &JobPlan, salt: u64) -> Result<Self, LoadError> {
        let lanes = random::Lanes::new(job.load.seed ^ salt, job.identity.index as u64);
        Ok(match &job.content {
            fiord_plan::Content::Zero => AnyContent::Zero(Zero),
            fiord_plan::Content::Fixed => AnyContent::Fixed(Fixed::new(lanes)),
            fiord_plan::Content::Scramble => AnyContent::Scramble(Scramble::new(lanes)),
            fiord_plan::Content::Refill => AnyContent::Refill(Refill::new(lanes)),
            fiord_plan::Content::Pattern(parts) => AnyContent::Pattern(Pattern::new(parts)?),
        })
    }

    /// Whether [`Content::fill`] touches the buffer at all.
    pub fn touches(&self) -> bool {
        !matches!(self, AnyContent::Zero(_) | AnyContent::Fixed(_))
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
        }
    }

    #[inline]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        match self {
            AnyContent::Scramble(c) => c.fill(buffer, io),
            AnyContent::Zero(_) | AnyContent::Fixed(_) => {}
            AnyContent::Refill(c) => c.fill(buffer, io),
            AnyContent::Pattern(c) => c.fill(buffer, io),
        }
    }
}
