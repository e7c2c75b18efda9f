//! The contents of a job's writes, including files that its pattern names.

use std::fs::File;
use std::io::Read;

use fiord_job::option::value::PatternPart;
use fiord_load::AnyContent;
use fiord_load::content::pattern::with_files;
use fiord_plan::{ContentPlan, JobPlan, Shape};
use fiord_types::{Dir, Errno};

use crate::error::{JobError, Stage};

/// Creates the generator of `content` for the writes of a job; see [`AnyContent::instead`] for `salt`.
pub(crate) fn content_of(
    job: &JobPlan,
    content: &ContentPlan,
    salt: u64,
) -> Result<AnyContent, JobError> {
    let largest = job.load.blocks[Dir::Write].max();
    let read = |path: &str| first_bytes(path, largest);
    let made = match content {
        ContentPlan::Pattern(parts) => {
            AnyContent::instead(job, &ContentPlan::Pattern(with_files(parts, read)?), salt)
        }
        ContentPlan::Shaped(shape) => {
            AnyContent::instead(job, &ContentPlan::Shaped(with_pattern_files(job, shape)?), salt)
        }
        _ => AnyContent::instead(job, content, salt),
    };
    made.map_err(|e| JobError::new(Stage::FillBuffers, None, e.to_string()))
}

/// Replaces the files that the pattern of compressible bytes names by their first bytes.
pub(crate) fn with_pattern_files(job: &JobPlan, shape: &Shape) -> Result<Shape, JobError> {
    let mut shape = shape.clone();
    if let Some(compress) = &mut shape.compress {
        compress.pattern = whole_pattern(&compress.pattern, job.load.blocks[Dir::Write].max())?;
    }
    Ok(shape)
}

/// Replaces the files that a pattern names by their first `most` bytes.
pub(crate) fn whole_pattern(
    parts: &[PatternPart],
    most: u32,
) -> Result<Vec<PatternPart>, JobError> {
    with_files(parts, |path| first_bytes(path, most))
}

/// Reads the first `most` bytes of a file that a pattern names. The file may be long, or endless.
fn first_bytes(path: &str, most: u32) -> Result<Vec<u8>, JobError> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(u64::from(most)).read_to_end(&mut bytes))
        .map_err(|e| JobError::new(Stage::ReadPattern, Errno::of(&e), "").at(path))?;
    Ok(bytes)
}
