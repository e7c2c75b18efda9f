//! Which fields of a header must be those of the write. The defaults are those of fio 3.42, by experiment.

use fiord_job::option::table::{
    EXPERIMENTAL_VERIFY, IO_SIZE, NORANDOMMAP, SOFTRANDOMMAP, VERIFY_HEADER_SEED,
    VERIFY_WRITE_SEQUENCE,
};

use crate::load::blocks::off_grid;
use crate::model::{Backlog, JobPlan, Step, VerifyPass};
use crate::options::reading::Reading;

/// Whether the seed of each header must be that of the write (`verify_header_seed`).
pub(super) fn check_seed(
    job: Reading,
    plan: &JobPlan,
    pass: VerifyPass,
    backlog: Option<&Backlog>,
) -> bool {
    if job.is_set(VERIFY_HEADER_SEED) {
        return job.get(VERIFY_HEADER_SEED);
    }
    let earlier_run = matches!(pass, VerifyPass::Reads | VerifyPass::Only);
    let resets = plan.load.zoned.is_some_and(|zoned| zoned.resets.is_some());
    !(earlier_run || resets || backlog.is_some() || may_overlap(job, plan))
}

/// Whether the number of each header must be that of the write (`verify_write_sequence`).
pub(super) fn check_number(job: Reading, plan: &JobPlan, pass: VerifyPass) -> bool {
    if !plan.knows_write_numbers(pass) {
        return false;
    }
    if job.is_set(VERIFY_WRITE_SEQUENCE) {
        return job.get(VERIFY_WRITE_SEQUENCE);
    }
    let concurrent = !plan.engine.def().is_synchronous() && plan.depth.depth > 1;
    let unordered = has_no_map(job, plan) && concurrent;
    let regenerates = job.get(EXPERIMENTAL_VERIFY) && may_overlap(job, plan);
    !(pass == VerifyPass::Only || unordered || regenerates)
}

/// Whether fio regards the writes of a job as possibly overlapping. It ignores uneven distributions.
fn may_overlap(job: Reading, plan: &JobPlan) -> bool {
    let region = plan.target.region();
    let steps = !matches!(plan.load.step, Step::None | Step::EveryNth(1));
    has_no_map(job, plan)
        || job.get(SOFTRANDOMMAP)
        || steps
        || job.is_set(IO_SIZE) && plan.end.bytes > region
}

/// Whether the job works without a map of the blocks that it has written, by its options alone.
fn has_no_map(job: Reading, plan: &JobPlan) -> bool {
    let load = &plan.load;
    job.get(NORANDOMMAP) || load.random && off_grid(&load.align, &load.blocks, load.mix)
}
