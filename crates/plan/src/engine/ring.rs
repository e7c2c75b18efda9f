//! The options of an io_uring.

use fiord_job::option::table::{io_uring, pvsync2};

use crate::engine::calls::uncached;
use crate::model::IoUringPlan;
use crate::options::reading::Reading;

/// Reads the options of `io_uring`, which `io_uring_cmd` has too.
pub(crate) fn ring(job: Reading) -> IoUringPlan {
    let sqpoll = job.get(io_uring::SQTHREAD_POLL);
    IoUringPlan {
        hipri: job.get(io_uring::HIPRI),
        fixed_buffers: job.get(io_uring::FIXEDBUFS),
        register_files: job.get(io_uring::REGISTERFILES),
        sqpoll,
        // Without the polling thread there is nothing to bind; `checks` warns of that.
        sqpoll_cpu: job.get(io_uring::SQTHREAD_POLL_CPU).filter(|_| sqpoll),
        // -1, the default, uses plain reads and writes if the kernel has them (Linux 5.6).
        nonvectored: job.get(io_uring::NONVECTORED) != 0,
        uncached: uncached(job),
        nowait: job.get(pvsync2::NOWAIT),
        force_async: job.get(io_uring::FORCE_ASYNC).unwrap_or(0),
    }
}
