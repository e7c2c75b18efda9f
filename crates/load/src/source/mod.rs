//! Sources: which I/O is next. [`with_source`] chooses the source of a job.

mod any;
mod attributes;
mod bitmap;
mod cursor;
mod cycles;
mod directions;
mod files;
mod flushes;
mod general;
pub(crate) mod laws;
mod limits;
mod mixed;
mod offsets;
mod one_each;
mod permute;
mod plain;
mod ranges;
pub(crate) mod ranks;
pub mod replay;
mod sizes;
mod sprandom;
mod spread;
mod strided;
#[cfg(test)]
mod tests;
mod write_commands;

pub use any::AnySource;
use cycles::Cycles;
use fiord_plan::{BlockSize, Distribution, FilePlan, JobPlan, Load, Mix, Step};
use fiord_types::{Bytes, Dir, FileIndex};
use flushes::Flushes;
use general::General;
use limits::Asked;
use mixed::Mixed;
use one_each::OneEach;
use plain::{Permuted, PlainRegion, Sequential, SkewedRandom, Uniform};
use spread::Skewed;

use crate::rng::{Purpose, Rng};
use crate::{LoadError, Source};

/// Code that is generic over the source of a job, whose type only [`with_source`] knows.
///
/// ```
/// use fiord_load::{Next, Source, SourceVisitor, with_source};
/// use fiord_plan::{EnginePlan, JobPlan};
///
/// /// Counts the I/Os of one loop.
/// struct Count;
///
/// impl SourceVisitor for Count {
///     type Out = usize;
///     fn visit<S: Source>(self, mut source: S) -> usize {
///         std::iter::from_fn(|| matches!(source.next(), Next::Io(_)).then_some(())).count()
///     }
/// }
///
/// assert_eq!(with_source(&JobPlan::plain(EnginePlan::Null, 16 * 4096), Count)?, 16);
/// # Ok::<(), fiord_load::LoadError>(())
/// ```
pub trait SourceVisitor {
    /// Result type.
    type Out;
    /// Called once with the source of a job, unless [`SourceVisitor::visit_general`] is.
    fn visit<S: Source>(self, source: S) -> Self::Out;
    /// Called once with the general source of a job, the slowest one, so that a visitor need not be compiled for it.
    fn visit_general(self, source: AnySource) -> Self::Out
    where
        Self: Sized,
    {
        self.visit(source)
    }
}

/// Creates the source of a job and passes it to `visitor`.
///
/// The source ends each loop at the limits of [`fiord_plan::End`] (`bytes` and `ios`), because it
/// counts what it returns. For `loops` the caller calls [`Source::restart`] after each
/// [`crate::Next::End`]; an `End` right after a restart means that nothing is left. With
/// `time_based` and a `runtime` a source never ends, and the caller stops. Runtime and ramp time
/// are the caller's business.
///
/// [`SourceVisitor::visit`] is compiled for five sources. The general source goes to [`SourceVisitor::visit_general`].
///
/// # Errors
///
/// The job has nothing to do, or its blocks and files do not fit together.
pub fn with_source<V: SourceVisitor>(job: &JobPlan, visitor: V) -> Result<V::Out, LoadError> {
    let source = any_source(job)?;
    Ok(match source {
        AnySource::Sequential(source) => visitor.visit(source),
        AnySource::Uniform(source) => visitor.visit(source),
        AnySource::SkewedRandom(source) => visitor.visit(source),
        AnySource::Permuted(source) => visitor.visit(source),
        AnySource::Mixed(source) => visitor.visit(*source),
        AnySource::General(_) | AnySource::OneEach(_) => visitor.visit_general(source),
        // The worker makes this source itself.
        AnySource::Replay(_) => return Err(LoadError::NothingFits),
        // No engine without I/O has loops of its own.
        AnySource::Cycles(_) => return Err(LoadError::NothingFits),
        AnySource::Ended => return Err(LoadError::NothingFits),
    })
}

/// Creates the source of a job, like [`with_source`], for a loop that is compiled only once.
///
/// # Errors
///
/// The job has nothing to do, or its blocks and files do not fit together.
pub fn any_source(job: &JobPlan) -> Result<AnySource, LoadError> {
    if !job.engine.def().does_io {
        return Ok(AnySource::Cycles(Cycles::new(job)));
    }
    if !is_special(&job.load)
        && let Some(mixed) = Mixed::new(job)
    {
        return Ok(AnySource::Mixed(Box::new(mixed)));
    }
    let Some(region) = plain_region(job) else {
        if let Some(source) = OneEach::new(job) {
            return Ok(AnySource::OneEach(source));
        }
        return Ok(AnySource::General(Box::new(General::new(job)?)));
    };
    let load = &job.load;
    if !load.random {
        return Ok(AnySource::Sequential(Sequential::new(region)));
    }
    let rng = Rng::new(load.seed, Purpose::Offset, 0);
    if let Distribution::Skewed(skew) = load.distribution {
        let skewed = Skewed::new(skew, region.blocks, load.seed, 0);
        return Ok(AnySource::SkewedRandom(SkewedRandom::new(region, skewed, rng)));
    }
    Ok(if load.no_map {
        AnySource::Uniform(Uniform::new(region, rng))
    } else {
        let timed = region.ios == u64::MAX;
        AnySource::Permuted(Permuted::new(region, load.seed, load.repeat && !timed))
    })
}

/// Whether a load uses a feature that only the general source has.
fn is_special(load: &Load) -> bool {
    load.sprandom.is_some()
        || load.zoned.is_some()
        || load.strided.is_some()
        || load.trim_ranges > 1
        || load.step != Step::None
        || Flushes::any(load)
        || attributes::any(load)
}

/// The direction and the length of all I/Os of a plain source; `None` if the job needs another source.
fn plain_block(job: &JobPlan) -> Option<(Dir, u32)> {
    let load = &job.load;
    let dir = match load.mix {
        Mix::Read => Dir::Read,
        Mix::Write => Dir::Write,
        Mix::Trim => Dir::Trim,
        Mix::ReadWrite { .. } | Mix::TrimWrite | Mix::Trace { .. } => return None,
    };
    let BlockSize::Fixed(block) = load.blocks[dir] else { return None };
    let random = load.random_percent[dir] == 100 && load.align[dir] == u64::from(block);
    let spread = matches!(load.distribution, Distribution::Even | Distribution::Skewed(_));
    let plain = !is_special(load) && spread && (!load.random || random);
    plain.then_some((dir, block))
}

/// The region of a plain source; `None` if the job needs another source.
fn plain_region(job: &JobPlan) -> Option<PlainRegion> {
    let (dir, block) = plain_block(job)?;
    let [file] = &job.target.files[..] else { return None };
    let blocks = file.len.checked_div(Bytes::from(block)).filter(|&n| n > 0)?;
    let ios = plain_ios(job, file, blocks, block)?;
    let reports_passes = job.drops_cache_each_pass();
    Some(PlainRegion {
        dir,
        file: FileIndex(0),
        start: file.offset.0,
        blocks,
        block,
        ios,
        reports_passes,
    })
}

/// I/Os of one loop; `None` if not all loops are equal. The rules are those of [`limits`].
fn plain_ios(job: &JobPlan, file: &FilePlan, blocks: u64, size: u32) -> Option<u64> {
    let block = u64::from(size);
    let end = &job.end;
    if end.time_based && end.runtime.is_some() {
        return Some(u64::MAX);
    }
    let bytes = Asked::new(job, size).bytes.0;
    let alike = bytes == file.len.0 && file.len.is_multiple_of(Bytes(block)) && end.ios.is_none();
    if end.loops > 1 && !alike {
        return None;
    }
    let whole = bytes / block;
    let pass_ended = whole >= blocks && whole.is_multiple_of(blocks);
    let load = &job.load;
    let endless = match load.random {
        true => load.no_map,
        false => load.mix == Mix::Write && file.len.is_multiple_of(Bytes(block)),
    };
    let ios = if pass_ended && !endless { whole } else { bytes.div_ceil(block) };
    Some(ios.min(end.ios.unwrap_or(u64::MAX)))
}
