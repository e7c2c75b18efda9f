//! Options of `pvsync2`, and the flags of `preadv2(2)` that other engines also support.

use crate::option::declare::*;

options! {
    Category::Engine;

    /// Polls for the completion instead of waiting for an interrupt (`RWF_HIPRI`). It needs
    /// `direct=1` and a device with poll queues.
    pub const HIPRI: Opt<bool> = option("hipri", SWITCH, "hipri").of(&["pvsync2"]);

    /// The percentage of I/Os that use `hipri`.
    pub const HIPRI_PERCENTAGE: Opt<u8> = option("hipri_percentage", PERCENT, "hipri_percentage=50")
        .of(&["pvsync2"])
        .default("100");

    /// Uses the page cache but drops the pages after the I/O (`RWF_DONTCACHE`, Linux 6.14).
    pub const UNCACHED: Opt<Option<u32>> = option("uncached", COUNT, "uncached=1")
        .of(&["pvsync2", "io_uring", "io_uring_cmd"]);

    /// Lets an I/O fail with `EAGAIN` if it would have to wait for a lock, memory or another
    /// resource (`RWF_NOWAIT`, Linux 4.14).
    pub const NOWAIT: Opt<bool> = option("nowait", BOOL, "nowait=1")
        .of(&["pvsync2", "libaio", "io_uring", "io_uring_cmd"]);
}
