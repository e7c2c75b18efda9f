//! How many I/Os at once.

use crate::messages::Messages;
use crate::model::{Depth, EnginePlan};
use crate::reading::Reading;

/// More units than this are refused: each has a buffer of the largest block.
const DEEPEST: u32 = 1 << 20;

/// `iodepth` and its family. What exceeds the depth is cut down to it.
pub(crate) fn depth(job: Reading, engine: &EnginePlan, messages: &mut Messages) -> Depth {
    let mut depth = job.count32("iodepth").unwrap_or(1).max(1);
    if depth > DEEPEST {
        messages.push(
            job.error("iodepth", format!("value out of range: `iodepth={depth}` ({DEEPEST} max)"))
                .help(format!("the largest is {DEEPEST}; devices queue far less")),
        );
        depth = DEEPEST;
    }
    let offload = job.plain_word("io_submit_mode") == "offload";
    if depth > 1 && engine.is_synchronous() && !offload {
        messages.push(
            job.warning(
                "iodepth",
                "both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1",
            )
            .help("use `ioengine=io_uring` or `libaio` for more I/Os at once, or more `numjobs`"),
        );
    }
    const THREADS: u32 = 4096;
    if depth > THREADS && engine.is_synchronous() && offload {
        messages.push(
            job.error("iodepth", format!("`io_submit_mode=offload` makes {depth} threads"))
                .help(format!("the most is {THREADS}; use `ioengine=io_uring` for more at once")),
        );
    }
    let cut = |name: &str| job.set_count32(name).map(|n| n.min(depth));
    let batch = job.set_count32("iodepth_batch").map(|n| n.min(depth));
    let complete_min = cut("iodepth_batch_complete_min");
    let complete_max = cut("iodepth_batch_complete_max").filter(|m| *m > 0);
    let floor = complete_min.unwrap_or(0);
    Depth {
        depth,
        batch,
        complete_min,
        complete_max: complete_max.map(|m| m.max(floor)),
        low: cut("iodepth_low").filter(|l| *l > 0 && *l < depth),
    }
}
