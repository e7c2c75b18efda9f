//! Recording I/Os and replaying them.

use crate::option::declare::*;

words! {
    /// The words of `replay_skip`.
    pub enum ReplaySkip {
        Read = new("read", "skips reads"),
        Write = new("write", "skips writes"),
        Trim = new("trim", "skips trims"),
        Sync = new("sync", "skips flushes: fsync and fdatasync"),
    }
}

words! {
    /// The words of `replay_beyond`.
    pub enum ReplayBeyond {
        Refuse = new("refuse", "the run does not start"),
        Scale = new(
            "scale",
            "all offsets of that file or device are reduced in proportion, so that the largest one fits"
        ),
    }
}

words! {
    /// The words of `replay_invalid`.
    pub enum ReplayInvalid {
        Stop = new("stop", "the job stops with an error"),
        Skip = new("skip", "the job skips the line, and the report counts it"),
    }
}

words! {
    /// The words of `write_iolog_at`.
    pub enum WriteIologAt {
        Issue = new("issue", "as fio: when the I/O is queued"),
        Completion = new(
            "completion",
            "when the I/O has completed, with its latency in nanoseconds and its result"
        ),
    }
}

options! {
    Category::Replay;

    /// Appends a line for every I/O of the job to this file. `read_iolog` can replay it. Jobs with
    /// the same file share it: their lines have one time line.
    pub const WRITE_IOLOG: Opt<Option<String>> =
        option("write_iolog", TEXT, "write_iolog=trace.log");

    /// When an I/O is recorded, and what its line contains. With `completion`, two fields follow
    /// the length: the latency in nanoseconds, and the number of bytes or the negative error
    /// number. fiord reads such lines; fio ignores the additional fields.
    pub const WRITE_IOLOG_AT: Opt<WriteIologAt> =
        option("write_iolog_at", one_of(), "write_iolog_at=completion")
            .default("issue")
            .under("write_iolog")
            .since("fiord");

    /// Replays the I/Os of this log or block trace, instead of generating I/Os. With several files,
    /// each worker of the job takes one. `-` is standard input. A FIFO or a UNIX socket is read
    /// while the job runs. The name of a block trace without `.blktrace.0` stands for the files of
    /// all CPUs.
    pub const READ_IOLOG: Opt<Option<Vec<String>>> = option(
        "read_iolog",
        custom("paths separated by colons", &Reader(read::paths)),
        "read_iolog=trace.log",
    );

    /// Reads the log in pieces during the replay. fiord always does that, so this option changes
    /// nothing.
    pub const READ_IOLOG_CHUNKED: Opt<bool> =
        option("read_iolog_chunked", BOOL, "read_iolog_chunked=1")
            .default("0")
            .under("read_iolog");

    /// Replays in the recorded order but as fast as possible, without the recorded pauses.
    pub const REPLAY_NO_STALL: Opt<bool> = option("replay_no_stall", BOOL, "replay_no_stall=1")
        .default("0")
        .under("read_iolog");

    /// Replays all I/Os on this file or device, whatever files the log names.
    pub const REPLAY_REDIRECT: Opt<Option<String>> =
        option("replay_redirect", TEXT, "replay_redirect=/dev/nvme0n1").under("read_iolog");

    /// Replays the I/Os of each file or device of the log on another one, in pairs `OLD:NEW`
    /// separated by commas. OLD is the path in the log, the number of a device in a block trace
    /// (`8:16`), or the name of a volume. With an empty NEW, the I/Os of OLD are skipped.
    pub const REPLAY_MAP: Opt<Option<String>> =
        option("replay_map", TEXT, "replay_map=8:0:/dev/nvme0n1,8:16:/dev/nvme1n1")
            .under("read_iolog")
            .since("fiord");

    /// Divides the log's offsets by this number, so that they fit onto a smaller device.
    pub const REPLAY_SCALE: Opt<u32> =
        option("replay_scale", COUNT, "replay_scale=2").default("1").under("read_iolog");

    /// Rounds the log's offsets down to a multiple of this power of two.
    pub const REPLAY_ALIGN: Opt<Option<Bytes>> =
        option("replay_align", BYTES, "replay_align=4k").under("read_iolog");

    /// What happens if the log has I/Os beyond the end of a device.
    pub const REPLAY_BEYOND: Opt<ReplayBeyond> =
        option("replay_beyond", one_of(), "replay_beyond=scale")
            .default("refuse")
            .under("read_iolog")
            .since("fiord");

    /// What happens at an invalid line of the log.
    pub const REPLAY_INVALID: Opt<ReplayInvalid> =
        option("replay_invalid", one_of(), "replay_invalid=skip")
            .default("stop")
            .under("read_iolog")
            .since("fiord");

    /// The speed of the replay in per cent: 50 is half the recorded speed, 200 is twice the
    /// recorded speed.
    pub const REPLAY_TIME_SCALE: Opt<u32> = option(
        "replay_time_scale",
        whole(1, u32::MAX as u64, Unit::Percent),
        "replay_time_scale=200",
    )
    .default("100")
    .under("read_iolog");

    /// Which types of I/O the replay skips.
    pub const REPLAY_SKIP: Opt<Option<Vec<ReplaySkip>>> =
        option("replay_skip", list_of(), "replay_skip=trim,sync").under("read_iolog");

    /// Merges the block traces of `read_iolog` by time into this file and replays the merged trace.
    pub const MERGE_BLKTRACE_FILE: Opt<Option<String>> =
        option("merge_blktrace_file", TEXT, "merge_blktrace_file=merged.bin");

    /// The duration of each merged trace as a percentage of its recorded duration, with one number
    /// per trace: 50 doubles the speed.
    pub const MERGE_BLKTRACE_SCALARS: Opt<Option<Vec<f64>>> =
        option("merge_blktrace_scalars", floats(0.0, f64::MAX, 20), "merge_blktrace_scalars=50:100");

    /// How many times the merged trace includes each trace, with one number per trace.
    pub const MERGE_BLKTRACE_ITERS: Opt<Option<Vec<f64>>> =
        option("merge_blktrace_iters", floats(0.0, f64::MAX, 20), "merge_blktrace_iters=2:1");
}
