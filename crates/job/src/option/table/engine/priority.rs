//! Options that set I/O priorities for a part of the I/Os.

use crate::option::def::{Category, Kind, OptionDef, Unit, options_of};

const ENGINES: &[&str] = &["libaio", "io_uring", "io_uring_cmd"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "cmdprio_percentage",
        Kind::Ints { min: 0, max: 100, unit: Unit::Percent },
        "The percentage of I/Os that get the priority of `cmdprio_class` and `cmdprio`. Up to two \
         values, for reads and writes.",
        "cmdprio_percentage=10,5",
    )
    .of(ENGINES),
    option(
        "cmdprio_class",
        Kind::Ints { min: 1, max: 3, unit: Unit::Count },
        "The priority class of the I/Os that `cmdprio_percentage` selects: 1 real time, 2 best \
         effort, 3 idle. Up to two values, for reads and writes.",
        "cmdprio_class=1,2",
    )
    .of(ENGINES),
    option(
        "cmdprio_hint",
        Kind::Ints { min: 0, max: 1023, unit: Unit::Count },
        "The priority hint of the I/Os that `cmdprio_percentage` selects. Up to two values, for \
         reads and writes.",
        "cmdprio_hint=1",
    )
    .of(ENGINES)
    .since("3.42"),
    option(
        "cmdprio",
        Kind::Ints { min: 0, max: 7, unit: Unit::Count },
        "The priority, within their class, of the I/Os that `cmdprio_percentage` selects, from 0 \
         (highest) to 7 (lowest). Up to two values, for reads and writes.",
        "cmdprio=0,4",
    )
    .of(ENGINES),
    option(
        "cmdprio_bssplit",
        Kind::Text,
        "The percentage of I/Os with a priority for each block size, as `size/percentage`. Class, \
         level and hint may follow after further slashes.",
        "cmdprio_bssplit=4k/10/1/0:64k/5/2/4",
    )
    .of(ENGINES),
];
