//! Options of `libaio`.

use crate::option::def::{Category, Kind, OptionDef, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "userspace_reap",
        Kind::Switch,
        "Takes completions directly from the ring in memory, without a system call, when the job \
         does not have to wait for them.",
        "userspace_reap",
    )
    .of(&["libaio"]),
    option(
        "libaio_vectored",
        Kind::Bool,
        "Submits vectored reads and writes.",
        "libaio_vectored=1",
    )
    .of(&["libaio"])
    .since("3.42"),
];
