//! Options of `io_uring` and `io_uring_cmd`.

use crate::option::def::{Category, Kind, OptionDef, options_of};

const BOTH: &[&str] = &["io_uring", "io_uring_cmd"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "hipri",
        Kind::Switch,
        "Polls the device for completions instead of waiting for interrupts \
         (`IORING_SETUP_IOPOLL`). It needs `direct=1` and a device with poll queues.",
        "hipri",
    )
    .of(BOTH),
    option(
        "fixedbufs",
        Kind::Switch,
        "Registers the buffers with the kernel once, so that the kernel does not pin their pages \
         for every I/O.",
        "fixedbufs",
    )
    .of(BOTH),
    option(
        "registerfiles",
        Kind::Switch,
        "Registers the files with the kernel once, so that the kernel does not look them up for \
         every I/O. Without this option, fiord still registers the files if all of them stay open \
         until the end of the job and the kernel supports it. With it, missing kernel support is \
         an error.",
        "registerfiles",
    )
    .of(BOTH),
    option(
        "sqthread_poll",
        Kind::Switch,
        "Lets a kernel thread take I/Os from the ring, so that submission needs no system call. \
         This thread keeps a CPU busy. It implies `registerfiles`.",
        "sqthread_poll",
    )
    .of(BOTH),
    option(
        "sqthread_poll_cpu",
        Kind::COUNT,
        "The CPU on which the kernel thread of `sqthread_poll` runs.",
        "sqthread_poll_cpu=3",
    )
    .of(BOTH),
    option(
        "nonvectored",
        Kind::int(-1, u32::MAX as u64),
        "Whether a request holds the buffer address itself (1) or points to a vector (0). -1 \
         chooses what the kernel supports.",
        "nonvectored=1",
    )
    .of(BOTH)
    .default("-1"),
    option(
        "force_async",
        Kind::COUNT,
        "Lets the kernel pass every N-th I/O directly to a worker thread, without first trying to \
         complete it inline. 0 means never.",
        "force_async=8",
    )
    .of(BOTH),
];
