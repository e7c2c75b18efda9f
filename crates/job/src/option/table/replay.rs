//! Recording I/Os and replaying them.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Replay);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "write_iolog",
        Kind::Text,
        "Writes every I/O of the job to this file, from which `read_iolog` can repeat it.",
        "write_iolog=trace.log",
    )
    .later(),
    option(
        "read_iolog",
        Kind::Custom { name: "paths separated by colons", read: read::paths },
        "Replays the I/Os of this log or block trace in place of making its own. Of several files the \
         workers of the job take one each.",
        "read_iolog=trace.log",
    )
    .later(),
    option(
        "read_iolog_chunked",
        Kind::Bool,
        "Reads the log piece by piece while it is replayed, in place of all at once before.",
        "read_iolog_chunked=1",
    )
    .default("0")
    .under("read_iolog")
    .later(),
    option(
        "replay_no_stall",
        Kind::Bool,
        "Replays as fast as it goes, in the same order, without the pauses of the original.",
        "replay_no_stall=1",
    )
    .default("0")
    .under("read_iolog")
    .later(),
    option(
        "replay_redirect",
        Kind::Text,
        "Replays everything on this file or device, whatever the log names.",
        "replay_redirect=/dev/nvme0n1",
    )
    .under("read_iolog")
    .later(),
    option(
        "replay_scale",
        Kind::COUNT,
        "Divides the offsets of the log by this, to fit them onto a smaller device.",
        "replay_scale=2",
    )
    .default("1")
    .under("read_iolog")
    .later(),
    option(
        "replay_align",
        Kind::BYTES,
        "Rounds the offsets of the log to a multiple of this power of two.",
        "replay_align=4k",
    )
    .under("read_iolog")
    .later(),
    option(
        "replay_time_scale",
        Kind::Int { min: 1, max: u32::MAX as u64, unit: Unit::Percent },
        "The speed of the replay in per cent: 50 is half as fast as the original, 200 twice as fast.",
        "replay_time_scale=200",
    )
    .default("100")
    .under("read_iolog")
    .later(),
    option(
        "replay_skip",
        Kind::WordList {
            words: &[
                Word::later("read", "leave out reads"),
                Word::later("write", "leave out writes"),
                Word::later("trim", "leave out trims"),
                Word::later("sync", "leave out flushes"),
            ],
            suffix: Suffix::None,
        },
        "Which kinds of I/O of the log are not replayed.",
        "replay_skip=trim,sync",
    )
    .under("read_iolog")
    .later(),
    option(
        "merge_blktrace_file",
        Kind::Text,
        "Merges the block traces of `read_iolog` into this one file by time, and replays that.",
        "merge_blktrace_file=merged.bin",
    )
    .later(),
    option(
        "merge_blktrace_scalars",
        Kind::Floats { min: 0.0, max: f64::MAX, max_len: 20 },
        "The duration of each merged trace in per cent of its own, one number a trace: 50 makes it \
         twice as fast.",
        "merge_blktrace_scalars=50:100",
    )
    .later(),
    option(
        "merge_blktrace_iters",
        Kind::Floats { min: 0.0, max: f64::MAX, max_len: 20 },
        "How many times each trace goes into the merged one, one number a trace.",
        "merge_blktrace_iters=2:1",
    )
    .later(),
];
