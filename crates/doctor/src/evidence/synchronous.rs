//! Which jobs have one I/O in flight at a time.

use fiord_plan::{DepthSupport, FileKind, JobPlan};

/// Returns the name of the job's engine if it has only one I/O in flight at a time on the job's files.
pub(crate) fn synchronous(job: &JobPlan) -> Option<&'static str> {
    let engine = job.engine.def();
    let waits = engine.in_flight == DepthSupport::ManyOnCharDevice
        && job.target.files.iter().any(|file| file.kind == FileKind::Block);
    (waits || engine.is_synchronous()).then_some(engine.name)
}
