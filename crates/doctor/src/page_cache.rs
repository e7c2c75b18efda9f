//! Which jobs use the page cache.

use fiord_plan::JobPlan;

/// Whether the reads and writes of a job go through the page cache, as far as its options say.
pub(crate) fn through_cache(job: &JobPlan) -> bool {
    !job.target.open.direct && !job.engine.sends_commands()
}
