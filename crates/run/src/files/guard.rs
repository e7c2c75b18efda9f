//! Which of a job's files the run may write, create and remove. The layout and the worker apply the same rules.

use fiord_plan::JobPlan;
use fiord_sys::file::FileGuard;

/// The rules for writing, creating and removing a job's files.
pub(crate) fn guard(job: &JobPlan) -> FileGuard {
    let how = &job.target.open;
    let guard = if how.generated { FileGuard::generated() } else { FileGuard::target() };
    guard.allow_system(how.allow_mounted_write)
}
