//! Options of `io_uring` and `io_uring_cmd`.

use crate::option::declare::*;

const BOTH: &[&str] = &["io_uring", "io_uring_cmd"];

options! {
    Category::Engine;

    /// Polls the device for completions instead of waiting for interrupts (`IORING_SETUP_IOPOLL`).
    /// It needs `direct=1` and a device with poll queues.
    pub const HIPRI: Opt<bool> = option("hipri", SWITCH, "hipri").of(BOTH);

    /// Registers the buffers with the kernel once, so that the kernel does not pin their pages for
    /// every I/O.
    pub const FIXEDBUFS: Opt<bool> = option("fixedbufs", SWITCH, "fixedbufs").of(BOTH);

    /// Registers the files with the kernel once, so that the kernel does not look them up for every
    /// I/O. Without this option, fiord still registers the files if all of them stay open until the
    /// end of the job and the kernel supports it. With it, missing kernel support is an error.
    pub const REGISTERFILES: Opt<bool> = option("registerfiles", SWITCH, "registerfiles").of(BOTH);

    /// Lets a kernel thread take I/Os from the ring, so that submission needs no system call. This
    /// thread keeps a CPU busy; it sleeps after a second without I/O, and the report says how many
    /// system calls woke it. The option implies `registerfiles`.
    pub const SQTHREAD_POLL: Opt<bool> = option("sqthread_poll", SWITCH, "sqthread_poll").of(BOTH);

    /// The CPU on which the kernel thread of `sqthread_poll` runs.
    pub const SQTHREAD_POLL_CPU: Opt<Option<u32>> =
        option("sqthread_poll_cpu", COUNT, "sqthread_poll_cpu=3").of(BOTH);

    /// Whether a request holds the buffer address itself (1) or points to a vector (0). -1 chooses
    /// what the kernel supports.
    pub const NONVECTORED: Opt<i64> =
        option("nonvectored", int(-1, u32::MAX as u64), "nonvectored=1").of(BOTH).default("-1");

    /// Lets the kernel pass every N-th I/O directly to a worker thread, without first trying to
    /// complete it inline. 0 means never.
    pub const FORCE_ASYNC: Opt<Option<u32>> = option("force_async", COUNT, "force_async=8")
        .of(BOTH);
}
