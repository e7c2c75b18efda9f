//! Which of a job's files the run may write, create and remove. The layout and the worker apply the same rules.

use fiord_plan::JobPlan;
use fiord_sys::file::Guard;

/// The rules for writing, creating and removing a job's files.
pub(crate) fn guard(job: &JobPlan) -> Guard {
    let how = &job.target.open;
    let guard = if how.generated { Guard::generated() } else { Guard::target() };
    guard.allow_system(how.allow_mounted_write)
}
