//! Recording I/Os and replaying them.

use crate::option::declare::*;

words! {
    /// The words of `replay_skip`.
    pub enum ReplaySkip {
        Read = later("read", "skips reads"),
        Write = later("write", "skips writes"),
        Trim = later("trim", "skips trims"),
        Sync = later("sync", "skips flushes"),
    }
}

options! {
    Category::Replay;

    /// Writes every I/O of the job to this file. `read_iolog` can replay it.
    pub const WRITE_IOLOG: Opt<Option<String>> =
        option("write_iolog", TEXT, "write_iolog=trace.log").later();

    /// Replays the I/Os of this log or block trace, instead of generating I/Os. With several files,
    /// each worker of the job takes one.
    pub const READ_IOLOG: Opt<Option<Vec<String>>> = option(
        "read_iolog",
        custom("paths separated by colons", &Reader(read::paths)),
        "read_iolog=trace.log",
    )
    .later();

    /// Reads the log in pieces during the replay, instead of reading all of it before.
    pub const READ_IOLOG_CHUNKED: Opt<bool> =
        option("read_iolog_chunked", BOOL, "read_iolog_chunked=1")
            .default("0")
            .under("read_iolog")
            .later();

    /// Replays in the recorded order but as fast as possible, without the recorded pauses.
    pub const REPLAY_NO_STALL: Opt<bool> = option("replay_no_stall", BOOL, "replay_no_stall=1")
        .default("0")
        .under("read_iolog")
        .later();

    /// Replays all I/Os on this file or device, whatever files the log names.
    pub const REPLAY_REDIRECT: Opt<Option<String>> =
        option("replay_redirect", TEXT, "replay_redirect=/dev/nvme0n1").under("read_iolog").later();

    /// Divides the log's offsets by this number, so that they fit onto a smaller device.
    pub const REPLAY_SCALE: Opt<u32> = option("replay_scale", COUNT, "replay_scale=2")
        .default("1")
        .under("read_iolog")
        .later();

    /// Rounds the log's offsets to a multiple of this power of two.
    pub const REPLAY_ALIGN: Opt<Option<Bytes>> = option("replay_align", BYTES, "replay_align=4k")
        .under("read_iolog")
        .later();

    /// The speed of the replay in per cent: 50 is half the recorded speed, 200 is twice the
    /// recorded speed.
    pub const REPLAY_TIME_SCALE: Opt<u32> = option(
        "replay_time_scale",
        whole(1, u32::MAX as u64, Unit::Percent),
        "replay_time_scale=200",
    )
    .default("100")
    .under("read_iolog")
    .later();

    /// Which types of I/O the replay skips.
    pub const REPLAY_SKIP: Opt<Option<Vec<ReplaySkip>>> =
        option("replay_skip", list_of(), "replay_skip=trim,sync").under("read_iolog").later();

    /// Merges the block traces of `read_iolog` by time into this file and replays the merged trace.
    pub const MERGE_BLKTRACE_FILE: Opt<Option<String>> =
        option("merge_blktrace_file", TEXT, "merge_blktrace_file=merged.bin").later();

    /// The duration of each merged trace as a percentage of its recorded duration, with one number
    /// per trace: 50 doubles the speed.
    pub const MERGE_BLKTRACE_SCALARS: Opt<Option<Vec<f64>>> =
        option("merge_blktrace_scalars", floats(0.0, f64::MAX, 20), "merge_blktrace_scalars=50:100")
            .later();

    /// How many times the merged trace includes each trace, with one number per trace.
    pub const MERGE_BLKTRACE_ITERS: Opt<Option<Vec<f64>>> =
        option("merge_blktrace_iters", floats(0.0, f64::MAX, 20), "merge_blktrace_iters=2:1")
            .later();
}
