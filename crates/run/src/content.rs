//! A job's contents, with the files that its pattern names read in.

use fiord_load::AnyContent;
use fiord_load::content::pattern::with_files;
use fiord_plan::{Content, JobPlan};

use crate::error::JobError;

/// Makes the content of a job; see [`AnyContent::of`] for `salt`.
pub(crate) fn content_of(job: &JobPlan, salt: u64) -> Result<AnyContent, JobError> {
    let made = if let Content::Pattern(parts) = &job.content {
        let read = |path: &str| {
            std::fs::read(path).map_err(|e| {
                JobError::new("reading buffer_pattern", e.raw_os_error().unwrap_or(0), "").at(path)
            })
        };
        let content = Content::Pattern(with_files(parts, read)?);
        AnyContent::of(&JobPlan { content, ..job.clone() }, salt)
    } else {
        AnyContent::of(job, salt)
    };
    made.map_err(|e| JobError::new("filling buffers", 0, e.to_string()))
}
