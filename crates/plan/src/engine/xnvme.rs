//! `xnvme`: jobs for it run on the engine for the kernel interface that `xnvme_async` names.
//!
//! The xNVMe library calls these kernel interfaces on behalf of fio. fiord calls them itself, so the device receives
//! the I/Os that it receives from fio, and the costs of the library are missing.

use fiord_job::option::table::IOENGINE;
use fiord_job::option::table::library::{
    HIPRI, SQTHREAD_POLL, XNVME_ADMIN, XNVME_ASYNC, XNVME_DEV_NSID, XNVME_DEV_SUBNQN, XNVME_IOVEC,
    XNVME_MEM, XNVME_SYNC, XnvmeAsync, XnvmeMem,
};

use super::nvme;
use crate::model::{Commands, EnginePlan, IoUringPlan, LibaioPlan, PassthroughPlan};
use crate::options::reading::Reading;

/// The engine that a job for `xnvme` runs on.
pub(super) fn engine(job: Reading) -> EnginePlan {
    refuse_other_drivers(job);
    let vectored = job.get(XNVME_IOVEC).unwrap_or(0) != 0;
    let ring = IoUringPlan {
        hipri: job.get(HIPRI),
        sqpoll: job.get(SQTHREAD_POLL),
        nonvectored: !vectored,
        ..IoUringPlan::default()
    };
    let (plan, has_rings, has_vectors) = match job.get(XNVME_ASYNC) {
        XnvmeAsync::IoUring => (EnginePlan::IoUring(ring), true, true),
        XnvmeAsync::IoUringCmd => {
            let commands = Commands::Nvme(nvme::options(job));
            let plan = PassthroughPlan { ring, commands };
            (EnginePlan::IoUringCmd(Box::new(plan)), true, true)
        }
        XnvmeAsync::Libaio => {
            (EnginePlan::Libaio(LibaioPlan { vectored, ..LibaioPlan::default() }), false, true)
        }
        XnvmeAsync::Posix => (EnginePlan::PosixAio, false, false),
        other => {
            let (why, instead) = refusal(other);
            job.report(job.error(XNVME_ASYNC, why).help(format!("To fix: {instead}")));
            return EnginePlan::IoUring(ring);
        }
    };
    let name = plan.def().name;
    job.report(
        job.adjusted(
            IOENGINE,
            format!(
                "fiord runs this job on its engine `{name}`: it does not use the xNVMe library"
            ),
        )
        .help(format!("To fix: write `ioengine={name}`, which means the same")),
    );
    let unused = [
        (HIPRI.def(), !has_rings && job.get(HIPRI)),
        (SQTHREAD_POLL.def(), !has_rings && job.get(SQTHREAD_POLL)),
        (XNVME_IOVEC.def(), !has_vectors && vectored),
        (XNVME_SYNC.def(), job.is_set(XNVME_SYNC)),
        (XNVME_ADMIN.def(), job.is_set(XNVME_ADMIN)),
    ];
    for (option, _) in unused.into_iter().filter(|(_, unused)| *unused) {
        let what = format!("`{}` has no effect: fiord runs this job on `{name}`", option.name);
        job.report(job.no_effect(option, what).help("To fix: leave it out"));
    }
    plan
}

/// Why fiord does not support an interface, and what to use instead.
fn refusal(word: XnvmeAsync) -> (&'static str, &'static str) {
    match word {
        XnvmeAsync::Thrpool => (
            "`xnvme_async=thrpool` makes ioctls of the NVMe driver with threads of the xNVMe library",
            "set `xnvme_async=io_uring_cmd`, which sends the same commands to /dev/ngXnY, or use \
             `ioengine=psync` with `io_submit_mode=offload`, which makes calls with threads",
        ),
        XnvmeAsync::Vfio => (
            "`xnvme_async=vfio` needs a driver in user space, which fiord does not have",
            "bind the device to the kernel's driver, and set `xnvme_async=io_uring_cmd`",
        ),
        XnvmeAsync::Nil => (
            "`xnvme_async=nil` measures the xNVMe library, which fiord does not use",
            "use `ioengine=null`, which measures fiord",
        ),
        _ => (
            "`xnvme_async=emu`, the default, makes one ioctl of the NVMe driver after another, through the xNVMe \
             library",
            "set `xnvme_async=io_uring_cmd` for /dev/ngXnY, or `xnvme_async=io_uring` or \
             `xnvme_async=libaio` for a block device or file",
        ),
    }
}

/// Refuses options of drivers in user space.
fn refuse_other_drivers(job: Reading) {
    let what = "is for drivers in user space, which fiord does not have";
    let options = [
        (XNVME_DEV_NSID.def(), job.is_set(XNVME_DEV_NSID)),
        (XNVME_DEV_SUBNQN.def(), job.is_set(XNVME_DEV_SUBNQN)),
        (XNVME_MEM.def(), matches!(job.get(XNVME_MEM), XnvmeMem::Spdk | XnvmeMem::Vfio)),
    ];
    for (option, _) in options.into_iter().filter(|(_, used)| *used) {
        let name = option.name;
        job.report(job.error(option, format!("`{name}` {what}")).help(format!(
            "To fix: leave out `{name}`, and name the kernel's device: `filename=/dev/ng0n1`"
        )));
    }
    if job.get(XNVME_MEM) == XnvmeMem::Hugepage {
        job.report(
            job.error(XNVME_MEM, "`xnvme_mem` allocates buffers with the xNVMe library")
                .help("To fix: use `iomem=mmaphuge`, which allocates them in huge pages"),
        );
    }
}
