//! The bytes of a write. [`with_content`] picks the content for a job.

pub mod pattern;
pub mod random;
mod scramble;
mod steady;
#[cfg(test)]
mod tests;

use fiord_plan::JobPlan;
use pattern::Pattern;
use random::Refill;
use scramble::Scramble;
use steady::{Fixed, Zero};

use crate::{Content, LoadError};

/// Continues with the content of a job, whose type only [`with_content`] knows.
pub trait ContentVisitor {
    /// What comes back.
    type Out;
    /// Is called exactly once.
    fn visit<C: Content + 'static>(self, content: C) -> Self::Out;
}

/// Makes the content of a job and hands it to `visitor`.
///
/// `salt` makes the random bytes of this run different from those of other runs (the time of the
/// start, say), so that storage that finds duplicates does not find the last run's; with 0 they
/// depend on the job's seed alone. Files in a pattern must have been read into bytes before, with
/// [`pattern::with_files`].
pub fn with_content<V: ContentVisitor>(
    job: &JobPlan,
    salt: u64,
    visitor: V,
) -> Result<V::Out, LoadError> {
    let lanes = random::Lanes::new(job.load.seed ^ salt, job.identity.index as u64);
    match &job.content {
        fiord_plan::Content::Zero => Ok(visitor.visit(Zero)),
        fiord_plan::Content::Fixed => Ok(visitor.visit(Fixed::new(lanes))),
        fiord_plan::Content::Scramble => Ok(visitor.visit(Scramble::new(lanes))),
        fiord_plan::Content::Refill => Ok(visitor.visit(Refill::new(lanes))),
        fiord_plan::Content::Pattern(parts) => Ok(visitor.visit(Pattern::new(parts)?)),
    }
}
