//! Options of `pvsync2`, and the flags of `preadv2(2)` that other engines also support.

use crate::option::def::{Category, Kind, OptionDef, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "hipri",
        Kind::Switch,
        "Polls for the completion instead of waiting for an interrupt (`RWF_HIPRI`). It needs \
         `direct=1` and a device with poll queues.",
        "hipri",
    )
    .of(&["pvsync2"]),
    option(
        "hipri_percentage",
        Kind::PERCENT,
        "The percentage of I/Os that use `hipri`.",
        "hipri_percentage=50",
    )
    .of(&["pvsync2"])
    .default("100"),
    option(
        "uncached",
        Kind::COUNT,
        "Uses the page cache but drops the pages after the I/O (`RWF_DONTCACHE`, Linux 6.14).",
        "uncached=1",
    )
    .of(&["pvsync2", "io_uring", "io_uring_cmd"]),
    option(
        "nowait",
        Kind::Bool,
        "Lets an I/O fail with `EAGAIN` if it would have to wait for a lock, memory or another \
         resource (`RWF_NOWAIT`, Linux 4.14).",
        "nowait=1",
    )
    .of(&["pvsync2", "libaio", "io_uring", "io_uring_cmd"]),
];
