//! Options of `libaio`.

use crate::option::declare::*;

options! {
    Category::Engine;

    /// Takes completions directly from the ring in memory, without a system call, when the job does
    /// not have to wait for them.
    pub const USERSPACE_REAP: Opt<bool> = option("userspace_reap", SWITCH, "userspace_reap")
        .of(&["libaio"]);

    /// Submits vectored reads and writes.
    pub const LIBAIO_VECTORED: Opt<bool> = option("libaio_vectored", BOOL, "libaio_vectored=1")
        .of(&["libaio"])
        .since("3.42");
}
