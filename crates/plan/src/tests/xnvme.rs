//! `ioengine=xnvme`: on which engine its jobs run, and what is refused.

use super::*;
use crate::model::*;

const FILE: &str = "--name=a --ioengine=xnvme --filename=f --size=1m";

#[test]
fn jobs_run_on_the_engine_for_the_interface() {
    let ring = |options: &str| match job(&Fake::empty(), &format!("{FILE} {options}")).engine {
        EnginePlan::IoUring(ring) => ring,
        other => panic!("{options}: {other:?}"),
    };
    let plain = ring("--xnvme_async=io_uring");
    assert_eq!(plain, IoUringPlan { nonvectored: true, ..IoUringPlan::default() });
    let all = ring("--xnvme_async=io_uring --hipri --sqthread_poll --xnvme_iovec=1");
    assert_eq!(all, IoUringPlan { hipri: true, sqpoll: true, ..IoUringPlan::default() });
    let of = |options: &str| job(&Fake::empty(), &format!("{FILE} {options}")).engine;
    let libaio = |vectored| EnginePlan::Libaio(LibaioPlan { vectored, ..LibaioPlan::default() });
    assert_eq!(of("--xnvme_async=libaio"), libaio(false));
    assert_eq!(of("--xnvme_async=libaio --xnvme_iovec=1"), libaio(true));
    assert_eq!(of("--xnvme_async=posix"), EnginePlan::PosixAio);
    let machine = Fake::empty().namespace("/dev/ng0n1", super::nvme::device(4096, 0));
    let line = "--name=a --ioengine=xnvme --xnvme_async=io_uring_cmd --filename=/dev/ng0n1 --bs=4k";
    assert!(matches!(job(&machine, line).engine, EnginePlan::IoUringCmd(_)));
    let sized = job(&machine, &format!("{line} --rw=randread --iodepth=8"));
    assert!(sized.target.files[0].len.0 > 0, "{:?}", sized.target.files);
}

#[test]
fn a_warning_names_the_engine_and_each_option_without_effect() {
    let first = "fiord runs this job on its engine `libaio`: it does not use the xNVMe library";
    let of = |options: &str| warned(&format!("{FILE} {options}"));
    assert_eq!(of("--xnvme_async=libaio"), [format!("job `a`: {first}")]);
    let unused =
        |name: &str| format!("job `a`: `{name}` has no effect: fiord runs this job on `libaio`");
    for (options, name) in [
        ("--hipri", "hipri"),
        ("--sqthread_poll", "sqthread_poll"),
        ("--xnvme_sync=psync", "xnvme_sync"),
        ("--xnvme_admin=block", "xnvme_admin"),
    ] {
        let warnings = of(&format!("--xnvme_async=libaio {options}"));
        assert!(warnings.contains(&unused(name)), "{options}: {warnings:?}");
    }
    let warnings = of("--xnvme_async=posix --xnvme_iovec=1");
    assert!(warnings.iter().any(|what| what.contains("`xnvme_iovec` has no effect")));
}

#[test]
fn interfaces_of_the_library_itself_are_refused() {
    for (options, what) in [
        ("", "`xnvme_async=emu`, the default, makes one ioctl"),
        ("--xnvme_async=thrpool", "with threads of the xNVMe library"),
        ("--xnvme_async=vfio", "needs a driver in user space"),
        ("--xnvme_async=nil", "measures the xNVMe library"),
        ("--xnvme_async=io_uring --xnvme_mem=spdk", "is for drivers in user space"),
        ("--xnvme_async=io_uring --xnvme_mem=hugepage", "allocates buffers with the xNVMe library"),
        ("--xnvme_async=io_uring --xnvme_dev_nsid=1", "is for drivers in user space"),
        ("--xnvme_async=io_uring --xnvme_dev_subnqn=a", "is for drivers in user space"),
    ] {
        let errors = run(&Fake::empty(), &format!("{FILE} {options}")).unwrap_err();
        assert!(errors.iter().any(|e| e.what.contains(what)), "{options}: {errors:?}");
    }
    let machine = Fake::empty().file("/data", 1 << 20);
    let line = "--name=a --ioengine=xnvme --xnvme_async=io_uring_cmd --filename=/data";
    let message = error(&machine, line);
    assert!(message.contains("generic character device of a namespace"), "{message}");
}
