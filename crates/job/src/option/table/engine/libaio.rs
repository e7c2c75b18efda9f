//! Options of `libaio`.

use crate::option::def::{Category, Kind, OptionDef};

const fn option(
    name: &'static str,
    kind: Kind,
    doc: &'static str,
    example: &'static str,
) -> OptionDef {
    OptionDef::new(name, kind, Category::Engine, doc, example)
}

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "userspace_reap",
        Kind::Switch,
        "Takes completions straight from the ring in memory, without a system call, wherever none has \
         to be waited for.",
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
