//! How many I/Os are in flight, and how they are batched.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};

options_of!(Category::Depth);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "iodepth",
        Kind::Int { min: 1, max: u32::MAX as u64, unit: Unit::Count },
        "How many I/Os each worker keeps in flight. Synchronous engines never have more than one.",
        "iodepth=32",
    )
    .default("1"),
    option(
        "iodepth_batch",
        Kind::COUNT,
        "How many I/Os are handed to the engine together at most. 0 stands for `iodepth`. When no \
         `iodepth_batch*` option is set, every free slot is filled and submitted at once, and whatever \
         has completed is taken.",
        "iodepth_batch=16",
    )
    .alias(&["iodepth_batch_submit"])
    .default("1")
    .under("iodepth"),
    option(
        "iodepth_batch_complete_min",
        Kind::COUNT,
        "How many completions are waited for at least when the queue is full. 0 polls without sleeping: \
         with `iodepth_batch_complete_max` when the queue is full, without it after each I/O, which keeps \
         one in flight.",
        "iodepth_batch_complete_min=16",
    )
    .alias(&["iodepth_batch_complete"])
    .default("1")
    .under("iodepth"),
    option(
        "iodepth_batch_complete_max",
        Kind::COUNT,
        "How many completions are taken at a time at most. As many as \
         `iodepth_batch_complete_min` when it is not set.",
        "iodepth_batch_complete_max=32",
    )
    .under("iodepth"),
    option(
        "iodepth_low",
        Kind::COUNT,
        "Once the queue was full, no new I/O is made until only this many are in flight. When it is \
         not set, the queue is kept full.",
        "iodepth_low=4",
    )
    .under("iodepth"),
    option(
        "serialize_overlap",
        Kind::Bool,
        "Holds an I/O back while another one that touches the same bytes is in flight.",
        "serialize_overlap=1",
    )
    .default("0")
    .under("iodepth"),
    option(
        "io_submit_mode",
        Kind::words(&[
            Word::new("inline", "the worker itself submits and completes"),
            Word::new("offload", "helper threads do, so that a slow device delays no submission"),
        ]),
        "Who hands the I/Os to the engine.",
        "io_submit_mode=offload",
    )
    .default("inline"),
];
