//! Which jobs use the page cache.

use fiord_plan::JobPlan;

/// Returns whether the reads and writes of a job go through the page cache, according to its options.
pub(crate) fn through_cache(job: &JobPlan) -> bool {
    job.engine.def().access.uses_page_cache(job.target.open.direct)
}
