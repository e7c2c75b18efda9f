//! The number of I/Os in flight, and the batches in which they are submitted and completed.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};

options_of!(Category::Depth);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "iodepth",
        Kind::Int { min: 1, max: u32::MAX as u64, unit: Unit::Count },
        "How many I/Os each worker keeps in flight. Synchronous engines have at most one.",
        "iodepth=32",
    )
    .default("1"),
    option(
        "iodepth_batch",
        Kind::COUNT,
        "The largest number of I/Os per submission. 0 means `iodepth`. If no `iodepth_batch*` \
         option is set, the worker fills and submits every free slot at once and takes all \
         completed I/Os.",
        "iodepth_batch=16",
    )
    .alias(&["iodepth_batch_submit"])
    .default("1")
    .under("iodepth"),
    option(
        "iodepth_batch_complete_min",
        Kind::COUNT,
        "The smallest number of completions that the worker waits for. 0 polls without sleeping: \
         when the queue is full if `iodepth_batch_complete_max` is set, and otherwise after each \
         I/O, which keeps one I/O in flight.",
        "iodepth_batch_complete_min=16",
    )
    .alias(&["iodepth_batch_complete"])
    .default("1")
    .under("iodepth"),
    option(
        "iodepth_batch_complete_max",
        Kind::COUNT,
        "The largest number of completions that the worker takes at a time. The default is \
         `iodepth_batch_complete_min`.",
        "iodepth_batch_complete_max=32",
    )
    .under("iodepth"),
    option(
        "iodepth_low",
        Kind::COUNT,
        "When the queue has been full, the worker issues new I/Os only after the number in flight \
         has fallen to this. Without it, the worker keeps the queue full.",
        "iodepth_low=4",
    )
    .under("iodepth"),
    option(
        "serialize_overlap",
        Kind::Bool,
        "Delays an I/O while another I/O to the same bytes is in flight.",
        "serialize_overlap=1",
    )
    .default("0")
    .under("iodepth"),
    option(
        "io_submit_mode",
        Kind::words(&[
            Word::new("inline", "the worker itself submits and completes I/Os"),
            Word::new(
                "offload",
                "helper threads submit and complete I/Os, so that a slow device \
                                  does not delay submission",
            ),
        ]),
        "Which thread passes I/Os to the engine.",
        "io_submit_mode=offload",
    )
    .default("inline"),
];
