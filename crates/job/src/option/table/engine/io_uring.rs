//! Options of `io_uring`, which `io_uring_cmd` has too.

use crate::option::def::{Category, Kind, OptionDef, options_of};

const BOTH: &[&str] = &["io_uring", "io_uring_cmd"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "hipri",
        Kind::Switch,
        "Polls the device for completions in place of waiting for interrupts (`IORING_SETUP_IOPOLL`). \
         It needs `direct=1` and a device with poll queues.",
        "hipri",
    )
    .of(BOTH),
    option(
        "fixedbufs",
        Kind::Switch,
        "Registers the buffers with the kernel once, so that it need not pin their pages for every \
         I/O.",
        "fixedbufs",
    )
    .of(BOTH),
    option(
        "registerfiles",
        Kind::Switch,
        "Registers the files with the kernel once, so that it need not look them up for every I/O. \
         Where all files stay open to the end of the job that is done without being asked for, if \
         the kernel can; with this option it is an error if it cannot.",
        "registerfiles",
    )
    .of(BOTH),
    option(
        "sqthread_poll",
        Kind::Switch,
        "Has a kernel thread take I/Os from the ring, so that submitting is no system call. That \
         thread keeps a CPU busy. It implies `registerfiles`.",
        "sqthread_poll",
    )
    .of(BOTH),
    option(
        "sqthread_poll_cpu",
        Kind::COUNT,
        "The CPU on which the thread of `sqthread_poll` runs.",
        "sqthread_poll_cpu=3",
    )
    .of(BOTH),
    option(
        "nonvectored",
        Kind::int(-1, u32::MAX as u64),
        "Whether an I/O carries its address itself (1) or through a vector (0). -1 chooses by what the \
         kernel can do.",
        "nonvectored=1",
    )
    .of(BOTH)
    .default("-1"),
    option(
        "force_async",
        Kind::COUNT,
        "Has the kernel hand every so-many-th I/O to a worker thread at once, without trying it in \
         place first. 0 never does.",
        "force_async=8",
    )
    .of(BOTH),
];
