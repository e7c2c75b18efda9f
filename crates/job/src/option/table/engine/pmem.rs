//! Options of engines for persistent memory.

use crate::option::declare::*;

options! {
    Category::Engine;

    /// Lets `libpmem` use a file that is not in persistent memory. The CPU executes the same instructions, but the data
    /// stays in the page cache and is not durable. It corresponds to PMDK's environment variable
    /// `PMEM_IS_PMEM_FORCE=1`. Use it to try a job without persistent memory.
    pub const PMEM_FORCE: Opt<bool> = option("pmem_force", BOOL, "pmem_force=1")
        .default("0")
        .of(&["libpmem"])
        .since("fiord");
}
