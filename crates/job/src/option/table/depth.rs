//! The number of I/Os in flight, and the batches in which they are submitted and completed.

use crate::option::declare::*;

words! {
    /// The words of `io_submit_mode`.
    pub enum IoSubmitMode {
        Inline = new("inline", "the worker itself submits and completes I/Os"),
        Offload = new(
            "offload",
            "helper threads submit and complete I/Os, so that a slow device does not delay \
             submission",
        ),
    }
}

options! {
    Category::Depth;

    /// How many I/Os each worker keeps in flight. Synchronous engines have at most one.
    pub const IODEPTH: Opt<u32> = option("iodepth", int(1, u32::MAX as u64), "iodepth=32")
        .default("1");

    /// The largest number of I/Os per submission. 0 means `iodepth`. If no `iodepth_batch*` option
    /// is set, the worker fills and submits every free slot at once and takes all completed I/Os.
    pub const IODEPTH_BATCH: Opt<u32> = option("iodepth_batch", COUNT, "iodepth_batch=16")
        .alias(&["iodepth_batch_submit"])
        .default("1")
        .under("iodepth");

    /// The smallest number of completions that the worker waits for. 0 polls without sleeping: when
    /// the queue is full if `iodepth_batch_complete_max` is set, and otherwise after each I/O,
    /// which keeps one I/O in flight.
    pub const IODEPTH_BATCH_COMPLETE_MIN: Opt<u32> =
        option("iodepth_batch_complete_min", COUNT, "iodepth_batch_complete_min=16")
            .alias(&["iodepth_batch_complete"])
            .default("1")
            .under("iodepth");

    /// The largest number of completions that the worker takes at a time. The default is
    /// `iodepth_batch_complete_min`.
    pub const IODEPTH_BATCH_COMPLETE_MAX: Opt<Option<u32>> =
        option("iodepth_batch_complete_max", COUNT, "iodepth_batch_complete_max=32")
            .under("iodepth");

    /// When the queue has been full, the worker issues new I/Os only after the number in flight has
    /// fallen to this. Without it, the worker keeps the queue full.
    pub const IODEPTH_LOW: Opt<Option<u32>> = option("iodepth_low", COUNT, "iodepth_low=4")
        .under("iodepth");

    /// Delays an I/O while another I/O to the same bytes is in flight, unless both are reads.
    pub const SERIALIZE_OVERLAP: Opt<bool> =
        option("serialize_overlap", BOOL, "serialize_overlap=1").default("0").under("iodepth");

    /// Which thread passes I/Os to the engine.
    pub const IO_SUBMIT_MODE: Opt<IoSubmitMode> =
        option("io_submit_mode", one_of(), "io_submit_mode=offload").default("inline");
}
