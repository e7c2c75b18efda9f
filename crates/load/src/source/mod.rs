//! Which I/O is next. [`with_source`] picks the source for a job.

pub mod permute;
pub mod plain;

use fiord_plan::{BlockSize, Dir, FilePlan, JobPlan, Mix, Step};
use plain::{Permuted, Region, Sequential, Uniform};

use crate::rng::{Purpose, Rng};
use crate::{LoadError, Source};

/// Continues with the source of a job, whose type only [`with_source`] knows.
pub trait SourceVisitor {
    /// What comes back.
    type Out;
    /// Is called exactly once.
    fn visit<S: Source>(self, source: S) -> Self::Out;
}

/// Makes the source of a job and hands it to `visitor`.
///
/// The source itself ends each loop at the limits of [`fiord_plan::End`] (`bytes` and `ios`): it
/// counts what it has handed out. Runtime, ramps and `loops` are the caller's.
pub fn with_source<V: SourceVisitor>(job: &JobPlan, visitor: V) -> Result<V::Out, LoadError> {
    let Some((dir, block, file)) = plain_job(job) else {
        return Err(LoadError::NotBuilt);
    };
    let region = region(job, dir, block, file)?;
    let load = &job.load;
    if !load.random {
        return Ok(visitor.visit(Sequential::new(region)));
    }
    let rng = Rng::new(load.seed, Purpose::Offset, 0);
    Ok(if load.no_map {
        visitor.visit(Uniform::new(region, rng))
    } else {
        visitor.visit(Permuted::new(region, rng, load.repeat))
    })
}

/// Direction, block size and file when one of the plain sources will do.
fn plain_job(job: &JobPlan) -> Option<(Dir, u32, &FilePlan)> {
    let load = &job.load;
    let dir = match load.mix {
        Mix::Read => Dir::Read,
        Mix::Write => Dir::Write,
        Mix::Trim => Dir::Trim,
        Mix::ReadWrite { .. } | Mix::TrimWrite => return None,
    };
    let BlockSize::Fixed(block) = load.blocks[dir as usize] else { return None };
    let [file] = &job.target.files[..] else { return None };
    let flushes = load.fsync != 0
        || load.fdatasync != 0
        || load.write_barrier != 0
        || load.sync_file_range.is_some();
    let plain = load.step == Step::None
        && !(flushes && dir == Dir::Write)
        && !job.target.open.append
        && (!load.random
            || (load.random_percent[dir as usize] == 100
                && load.align[dir as usize] == u64::from(block)
                && !load.unaligned));
    plain.then_some((dir, block, file))
}

/// The region of a plain source.
fn region(job: &JobPlan, dir: Dir, block: u32, file: &FilePlan) -> Result<Region, LoadError> {
    if block == 0 {
        return Err(LoadError::NoBlockSize);
    }
    let blocks = file.len / u64::from(block);
    if blocks == 0 {
        return Err(LoadError::TooSmall { len: file.len, block });
    }
    let whole = job.end.bytes / u64::from(block);
    // At the end of a pass another one begins only when a whole block is still to be transferred;
    // drawing without a map has no passes.
    let pass_ended = whole >= blocks && whole.is_multiple_of(blocks);
    let by_bytes = match pass_ended && !(job.load.random && job.load.no_map) {
        true => whole,
        false => job.end.bytes.div_ceil(u64::from(block)),
    };
    let ios = job.end.ios.map_or(by_bytes, |limit| limit.min(by_bytes));
    Ok(Region { dir, file: 0, start: file.offset, blocks, block, ios })
}
