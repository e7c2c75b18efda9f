//! `block_error_percentiles`: how many trims blocks survive.

use fiord_job::option::table::BLOCK_ERROR_PERCENTILES;
use fiord_types::Dir;

use crate::model::JobPlan;
use crate::options::reading::Reading;

/// Maximum number of blocks that a job follows. Each takes four bytes of memory.
const MAX_BLOCKS: u64 = 64 << 20;

/// Refuses jobs whose blocks cannot be followed.
pub(crate) fn check(job: Reading, plan: &JobPlan) {
    if !plan.record.block_errors || !plan.load.mix.has(Dir::Trim) {
        return;
    }
    let files = plan.target.files.len();
    if files != 1 {
        let what = format!(
            "block error histogram only available with a single file per job, but {files} files provided"
        );
        let help = "To fix: use one file per job, and several jobs";
        job.report(job.error(BLOCK_ERROR_PERCENTILES, what).help(help));
        return;
    }
    if plan.load.trim_ranges > 1 {
        let what = "`block_error_percentiles` cannot tell which range of a trim failed";
        let help = "To fix: leave out `num_range`";
        job.report(job.error(BLOCK_ERROR_PERCENTILES, what).help(help));
    }
    let unit = u64::from(plan.load.blocks[Dir::Trim].min()).max(1);
    let blocks = plan.target.files[0].len.0.div_ceil(unit);
    if blocks > MAX_BLOCKS {
        let what = format!(
            "cannot calculate block histogram with {blocks} trim blocks, maximum {MAX_BLOCKS}"
        );
        let help = "To fix: set `size` to a part of the file or device, or use larger trims";
        job.report(job.error(BLOCK_ERROR_PERCENTILES, what).help(help));
    }
}
