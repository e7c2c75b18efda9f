//! Recording I/Os and replaying them.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Replay);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "write_iolog",
        Kind::Text,
        "Writes every I/O of the job to this file. `read_iolog` can replay it.",
        "write_iolog=trace.log",
    )
    .later(),
    option(
        "read_iolog",
        Kind::Custom { name: "paths separated by colons", read: read::paths },
        "Replays the I/Os of this log or block trace, instead of generating I/Os. With several \
         files, each worker of the job takes one.",
        "read_iolog=trace.log",
    )
    .later(),
    option(
        "read_iolog_chunked",
        Kind::Bool,
        "Reads the log in pieces during the replay, instead of reading all of it before.",
        "read_iolog_chunked=1",
    )
    .default("0")
    .under("read_iolog")
    .later(),
    option(
        "replay_no_stall",
        Kind::Bool,
        "Replays in the recorded order but as fast as possible, without the recorded pauses.",
        "replay_no_stall=1",
    )
    .default("0")
    .under("read_iolog")
    .later(),
    option(
        "replay_redirect",
        Kind::Text,
        "Replays all I/Os on this file or device, whatever files the log names.",
        "replay_redirect=/dev/nvme0n1",
    )
    .under("read_iolog")
    .later(),
    option(
        "replay_scale",
        Kind::COUNT,
        "Divides the log's offsets by this number, so that they fit onto a smaller device.",
        "replay_scale=2",
    )
    .default("1")
    .under("read_iolog")
    .later(),
    option(
        "replay_align",
        Kind::BYTES,
        "Rounds the log's offsets to a multiple of this power of two.",
        "replay_align=4k",
    )
    .under("read_iolog")
    .later(),
    option(
        "replay_time_scale",
        Kind::Int { min: 1, max: u32::MAX as u64, unit: Unit::Percent },
        "The speed of the replay in per cent: 50 is half the recorded speed, 200 is twice the \
         recorded speed.",
        "replay_time_scale=200",
    )
    .default("100")
    .under("read_iolog")
    .later(),
    option(
        "replay_skip",
        Kind::WordList {
            words: &[
                Word::later("read", "skips reads"),
                Word::later("write", "skips writes"),
                Word::later("trim", "skips trims"),
                Word::later("sync", "skips flushes"),
            ],
            suffix: Suffix::None,
        },
        "Which types of I/O the replay skips.",
        "replay_skip=trim,sync",
    )
    .under("read_iolog")
    .later(),
    option(
        "merge_blktrace_file",
        Kind::Text,
        "Merges the block traces of `read_iolog` by time into this file and replays the merged \
         trace.",
        "merge_blktrace_file=merged.bin",
    )
    .later(),
    option(
        "merge_blktrace_scalars",
        Kind::Floats { min: 0.0, max: f64::MAX, max_len: 20 },
        "The duration of each merged trace as a percentage of its recorded duration, with one \
         number per trace: 50 doubles the speed.",
        "merge_blktrace_scalars=50:100",
    )
    .later(),
    option(
        "merge_blktrace_iters",
        Kind::Floats { min: 0.0, max: f64::MAX, max_len: 20 },
        "How many times the merged trace includes each trace, with one number per trace.",
        "merge_blktrace_iters=2:1",
    )
    .later(),
];
