//! I/O priorities for single I/Os.

use crate::option::def::{Category, Kind, OptionDef, Unit, options_of};

const ENGINES: &[&str] = &["libaio", "io_uring", "io_uring_cmd"];

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option(
        "cmdprio_percentage",
        Kind::Ints { min: 0, max: 100, unit: Unit::Percent },
        "The share of I/Os that are issued with a priority of their own. Up to two values, for reads \
         and writes.",
        "cmdprio_percentage=10,5",
    )
    .of(ENGINES),
    option(
        "cmdprio_class",
        Kind::Ints { min: 1, max: 3, unit: Unit::Count },
        "The priority class of those I/Os: 1 real time, 2 best effort, 3 idle. Up to two values, for \
         reads and writes.",
        "cmdprio_class=1,2",
    )
    .of(ENGINES),
    option(
        "cmdprio_hint",
        Kind::Ints { min: 0, max: 1023, unit: Unit::Count },
        "The priority hint of those I/Os. Up to two values, for reads and writes.",
        "cmdprio_hint=1",
    )
    .of(ENGINES)
    .since("3.42"),
    option(
        "cmdprio",
        Kind::Ints { min: 0, max: 7, unit: Unit::Count },
        "The priority of those I/Os within their class, from 0 (first) to 7 (last). Up to two values, \
         for reads and writes.",
        "cmdprio=0,4",
    )
    .of(ENGINES),
    option(
        "cmdprio_bssplit",
        Kind::Text,
        "The share of I/Os with a priority for each block size, as `size/percentage`, with class, \
         level and hint after further slashes when they differ.",
        "cmdprio_bssplit=4k/10/1/0:64k/5/2/4",
    )
    .of(ENGINES),
];
