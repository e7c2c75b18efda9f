//! The options of an io_uring.

use crate::engine::on;
use crate::model::IoUringPlan;
use crate::options::reading::Reading;

/// Reads the options of `io_uring`, which `io_uring_cmd` has too.
pub(crate) fn ring(job: Reading) -> IoUringPlan {
    let sqpoll = on(job, "sqthread_poll");
    IoUringPlan {
        hipri: on(job, "hipri"),
        fixed_buffers: on(job, "fixedbufs"),
        register_files: on(job, "registerfiles"),
        sqpoll,
        // Without the polling thread there is nothing to bind; `checks` warns of that.
        sqpoll_cpu: job.set_count32("sqthread_poll_cpu").filter(|_| sqpoll),
        // -1, the default, uses plain reads and writes if the kernel has them (Linux 5.6).
        nonvectored: !job.is_set("nonvectored") || job.int("nonvectored").unwrap_or(-1) != 0,
        uncached: on(job, "uncached"),
        nowait: on(job, "nowait"),
        force_async: job.set_count32("force_async").unwrap_or(0),
    }
}
