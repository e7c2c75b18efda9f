//! Which jobs have one I/O in flight at a time.

use fiord_job::option::engine::QUEUEING_ENGINE;
use fiord_job::option::table::{IODEPTH, IOENGINE};
use fiord_plan::{DepthSupport, FileKind, JobPlan};
use fiord_stat::claim::ClaimedSetting;

use crate::evidence::setting::set;

/// Returns the remedy for a job on files that does not reach its depth.
pub(crate) fn queue(depth: u32) -> (String, Vec<ClaimedSetting>) {
    let [engine, deep] = [set(IOENGINE, QUEUEING_ENGINE), set(IODEPTH, depth)];
    let remedy = format!("use {engine} with {deep}, or numjobs={depth} with iodepth=1");
    (remedy, vec![engine, deep])
}

/// Returns the name of the job's engine if it has only one I/O in flight at a time on the job's files.
pub(crate) fn synchronous(job: &JobPlan) -> Option<&'static str> {
    let engine = job.engine.def();
    let waits = engine.in_flight == DepthSupport::ManyOnCharDevice
        && job.target.files.iter().any(|file| file.kind == FileKind::Block);
    (waits || engine.is_synchronous()).then_some(engine.name)
}
