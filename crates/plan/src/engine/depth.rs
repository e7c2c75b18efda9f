//! The queue depth and batch sizes: `iodepth` and related options.

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{
    IO_SUBMIT_MODE, IODEPTH, IODEPTH_BATCH, IODEPTH_BATCH_COMPLETE_MAX, IODEPTH_BATCH_COMPLETE_MIN,
    IODEPTH_LOW, IoSubmitMode,
};

use crate::model::{Depth, EnginePlan};
use crate::options::reading::Reading;

/// The largest queue depth. Each I/O in flight has a buffer of the largest block size.
const DEEPEST: u32 = 1 << 20;

/// Reads `iodepth` and related options. Batch sizes above the depth are reduced to it.
pub(crate) fn depth(job: Reading, engine: &EnginePlan) -> Depth {
    let mut depth = job.get(IODEPTH);
    if depth > DEEPEST {
        job.report(
            job.error(IODEPTH, format!("value out of range: `iodepth={depth}` ({DEEPEST} max)"))
                .help(format!("To fix: write at most {DEEPEST}: devices queue far fewer I/Os")),
        );
        depth = DEEPEST;
    }
    let offload = job.get(IO_SUBMIT_MODE) == IoSubmitMode::Offload;
    if depth > 1 && engine.def().is_synchronous() && !offload {
        job.report(
            job.adjusted(
                IODEPTH,
                "both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1",
            )
            .help("To fix: use `ioengine=io_uring` or `libaio` for more I/Os at once, or more `numjobs`"),
        );
    }
    const THREADS: u32 = 4096;
    if depth > THREADS && engine.def().is_synchronous() && offload {
        job.report(
            job.error(
                IODEPTH,
                format!(
                    "`io_submit_mode=offload` needs {depth} threads, one for each I/O in flight"
                ),
            )
            .help(format!(
                "To fix: set `iodepth` to at most {THREADS}, or use `ioengine=io_uring`"
            )),
        );
    }
    let low = job.get(IODEPTH_LOW).filter(|low| *low > 0 && *low < depth);
    match batches(job, depth) {
        None => Depth { depth, batch: None, complete_min: None, complete_max: None, low },
        Some(POLL) => {
            if depth > 1 && !engine.def().is_synchronous() {
                job.report(one_at_a_time(job, depth));
            }
            let (submit, min, max) = POLL;
            let [batch, complete_min, complete_max] = [submit, min, max].map(Some);
            Depth { depth, batch, complete_min, complete_max, low: Some(0) }
        }
        Some((submit, min, max)) => {
            let [batch, complete_min, complete_max] = [submit, min, max].map(Some);
            Depth { depth, batch, complete_min, complete_max, low }
        }
    }
}

/// Submit, minimum and maximum of `iodepth_batch_complete_min=0` without a maximum: the job submits
/// one I/O and polls for its completion before it issues the next one.
const POLL: (u32, u32, u32) = (1, 0, 1);

/// The number of I/Os to submit at once, and the smallest and largest number of completions to
/// reap. `None` if the job sets none of the options. An option that the job does not set then has
/// fio's default: one I/O, one completion, and a maximum equal to the minimum.
fn batches(job: Reading, depth: u32) -> Option<(u32, u32, u32)> {
    let submit = job.explicit(IODEPTH_BATCH).map(|submit| submit.min(depth));
    let min = job.explicit(IODEPTH_BATCH_COMPLETE_MIN).map(|min| min.min(depth));
    let max = job.get(IODEPTH_BATCH_COMPLETE_MAX).map(|max| max.min(depth));
    if [submit, min, max].iter().all(Option::is_none) {
        return None;
    }
    let max = max.filter(|max| *max > 0);
    match (submit.unwrap_or(1), min.unwrap_or(1), max) {
        (_, 0, None) => Some(POLL),
        (submit, min, max) => Some((submit, min, max.unwrap_or(min).max(min))),
    }
}

fn one_at_a_time(job: Reading, depth: u32) -> Diagnostic {
    let what = format!(
        "`iodepth_batch_complete_min=0` without `iodepth_batch_complete_max` keeps one I/O in flight, \
         not {depth}"
    );
    job.warning(IODEPTH_BATCH_COMPLETE_MIN, what)
        .help(format!("To fix: add `iodepth_batch_complete_max={depth}` to poll at the full depth"))
}
