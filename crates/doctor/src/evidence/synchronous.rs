//! Which jobs have one I/O in flight at a time.

use fiord_plan::{EnginePlan, FileKind, JobPlan};

/// Returns the name of the job's engine if it has only one I/O in flight at a time on the job's files.
pub(crate) fn synchronous(job: &JobPlan) -> Option<&'static str> {
    // On block devices, `sg` sends its command with an ioctl, which waits. On character devices, it
    // writes and reads messages.
    let ioctl = matches!(job.engine, EnginePlan::Sg(_))
        && job.target.files.iter().any(|file| file.kind == FileKind::Block);
    (ioctl || job.engine.is_synchronous()).then(|| job.engine.name())
}
