//! What kind of I/O a job does: direction, order, randomness, flushing.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::IoType);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "direct",
        Kind::Bool,
        "Goes past the page cache (`O_DIRECT`). Sizes and offsets must then suit the device's block \
         size. The opposite of `buffered`.",
        "direct=1",
    )
    .default("0"),
    option(
        "buffered",
        Kind::Bool,
        "Goes through the page cache. The opposite of `direct`; the later of the two counts.",
        "buffered=0",
    )
    .default("1"),
    option(
        "atomic",
        Kind::Bool,
        "Asks for writes that are either there in full or not at all after a crash (`RWF_ATOMIC`, \
         Linux 6.11), on engines that can pass the flag on.",
        "atomic=1",
    )
    .default("0"),
    option(
        "rw",
        Kind::Words {
            words: &[
                Word::new("read", "sequential reads"),
                Word::new("write", "sequential writes"),
                Word::new("trim", "sequential trims"),
                Word::new("randread", "random reads"),
                Word::new("randwrite", "random writes"),
                Word::new("randtrim", "random trims"),
                Word::new("rw", "sequential reads and writes mixed"),
                Word::alias("readwrite", "rw"),
                Word::new("randrw", "random reads and writes mixed"),
                Word::new("trimwrite", "each block is trimmed and then written, in sequence"),
                Word::new("randtrimwrite", "each block is trimmed and then written, at random"),
            ],
            suffix: Suffix::Step,
        },
        "The direction and order of the I/O. A number after a colon means, for a random load, how many \
         I/Os are done before a new offset is drawn (see `rw_sequencer`), and for a sequential one, \
         how many bytes are skipped after each I/O.",
        "rw=randread:8",
    )
    .alias(&["readwrite"])
    .default("read"),
    option(
        "rw_sequencer",
        Kind::words(&[
            Word::new("sequential", "the I/Os after the first follow it in sequence"),
            Word::new("identical", "they all go to the same offset"),
        ]),
        "What happens between two random offsets when `rw` has a number after a colon.",
        "rw_sequencer=identical",
    )
    .default("sequential"),
    option(
        "rwmixread",
        Kind::PERCENT,
        "The share of reads in a mixed load, in per cent.",
        "rwmixread=70",
    )
    .default("50"),
    option(
        "rwmixwrite",
        Kind::PERCENT,
        "The share of writes in a mixed load, in per cent. When it does not add up to 100 with \
         `rwmixread`, the later of the two counts.",
        "rwmixwrite=30",
    )
    .default("50"),
    option(
        "unified_rw_reporting",
        Kind::words(&[
            Word::new("none", "each direction apart"),
            Word::new("mixed", "only the sum of all directions"),
            Word::new("both", "each apart, then the sum"),
            Word::alias("0", "none"),
            Word::alias("1", "mixed"),
            Word::alias("2", "both"),
        ]),
        "Whether reads, writes and trims are reported apart, added up, or both.",
        "unified_rw_reporting=both",
    )
    .default("none"),
    option(
        "randrepeat",
        Kind::Bool,
        "Uses the same random sequence in every run. With 0 each run draws a new one.",
        "randrepeat=0",
    )
    .alias(&["allrandrepeat"])
    .default("1")
    .under("rw"),
    option(
        "randseed",
        Kind::Custom { name: "number", read: read::seed },
        "The number from which all random choices follow. When it is not set, `randrepeat` decides.",
        "randseed=42",
    )
    .default("0x89")
    .under("rw"),
    option(
        "fallocate",
        Kind::words(&[
            Word::new("none", "no space is reserved"),
            Word::new("native", "`fallocate(2)` where the file system has it"),
            Word::new("posix", "`posix_fallocate(3)`"),
            Word::new("keep", "`fallocate(2)` without changing the file's size"),
            Word::new("truncate", "only the size is set"),
            Word::alias("0", "none"),
            Word::alias("1", "posix"),
        ]),
        "How space is reserved when a file is laid out.",
        "fallocate=none",
    )
    .default("native"),
    option(
        "fadvise_hint",
        Kind::words(&[
            Word::new("0", "tell it nothing"),
            Word::new("1", "random or sequential, as the job is"),
            Word::new("random", "`POSIX_FADV_RANDOM`"),
            Word::new("sequential", "`POSIX_FADV_SEQUENTIAL`"),
            Word::new("noreuse", "`POSIX_FADV_NOREUSE`"),
        ]),
        "What the kernel is told about how the files will be used.",
        "fadvise_hint=0",
    )
    .default("1"),
    option(
        "write_hint",
        Kind::words(&[
            Word::new("none", "no lifetime"),
            Word::new("short", "soon overwritten"),
            Word::new("medium", "kept for a while"),
            Word::new("long", "kept for long"),
            Word::new("extreme", "kept longest"),
        ]),
        "Tells the kernel how long written data is expected to live (`F_SET_RW_HINT`).",
        "write_hint=short",
    ),
    option(
        "random_distribution",
        Kind::Words {
            words: &[
                Word::new("random", "every block is as likely as any other"),
                Word::new("zipf", "few blocks get most of the I/O: `zipf:THETA[:CENTRE]`"),
                Word::new("pareto", "the same by another law: `pareto:POWER[:CENTRE]`"),
                Word::new("normal", "a bell around a centre: `normal:DEVIATION[:CENTRE]`"),
                Word::new("zoned", "shares of the I/O to shares of the range: `zoned:60/10:40/90`"),
                Word::new("zoned_abs", "shares of the I/O to sizes: `zoned_abs:60/20g:40/100g`"),
                Word::new("sequence", "these block numbers over and over: `sequence:2,0,1`"),
            ],
            suffix: Suffix::Text,
        },
        "How random offsets are spread over the range.",
        "random_distribution=zipf:1.2",
    )
    .default("random"),
    option(
        "random_sequence_stride",
        Kind::Bool,
        "Moves the block numbers of `random_distribution=sequence` on by the length of the sequence \
         after each pass, in place of repeating them.",
        "random_sequence_stride=1",
    )
    .default("0")
    .since("3.42"),
    option(
        "percentage_random",
        Kind::Ints { min: 0, max: 100, unit: Unit::Percent },
        "The share of a random load that really is random; the rest follows in sequence. Up to three \
         values, for reads, writes and trims.",
        "percentage_random=80,100",
    )
    .default("100,100,100"),
    option(
        "norandommap",
        Kind::Switch,
        "Draws each random offset afresh, without remembering which blocks were visited: some come up \
         several times and some never.",
        "norandommap",
    )
    .under("rw"),
    option(
        "softrandommap",
        Kind::Bool,
        "Goes on without a random map when there is no memory for one.",
        "softrandommap=1",
    )
    .default("0")
    .under("norandommap")
    .accepted("the random map is not a block of memory whose allocation could fail"),
    option(
        "random_generator",
        Kind::words(&[
            Word::new("tausworthe", "32 bits a draw, 64 for targets of more than 2³² blocks"),
            Word::new("lfsr", "a shift register: every block once, without any memory"),
            Word::new("tausworthe64", "64 bits a draw"),
        ]),
        "Where random offsets come from.",
        "random_generator=lfsr",
    )
    .default("tausworthe"),
    option(
        "sprandom",
        Kind::Bool,
        "Preconditions a flash drive in one pass: writes its whole physical capacity in an order that \
         leaves the share of stale blocks which random writes would have left in the long run.",
        "sprandom=1",
    )
    .default("0")
    .under("rw")
    .since("3.42"),
    option(
        "spr_num_regions",
        Kind::COUNT,
        "Into how many regions `sprandom` divides the drive. More regions come closer to the steady \
         state.",
        "spr_num_regions=400",
    )
    .default("100")
    .under("sprandom")
    .since("3.42"),
    option(
        "spr_op",
        Kind::Floats { min: 0.0, max: 1.0, max_len: 1 },
        "The drive's over-provisioning for `sprandom`: spare capacity as a fraction between 0 and 1.",
        "spr_op=0.28",
    )
    .default("0.15")
    .under("sprandom")
    .since("3.42"),
    option(
        "spr_cs",
        Kind::BYTES,
        "The drive's write cache for `sprandom`. When it is not 0, blocks are made stale one region \
         later, after the cache has let go of them.",
        "spr_cs=64m",
    )
    .default("0")
    .under("sprandom")
    .since("3.42"),
    option(
        "fsync",
        Kind::COUNT,
        "Calls `fsync(2)` after every so many writes. 0 never does.",
        "fsync=32",
    )
    .default("0"),
    option(
        "fdatasync",
        Kind::COUNT,
        "Calls `fdatasync(2)` after every so many writes. 0 never does.",
        "fdatasync=1",
    )
    .default("0"),
    option(
        "write_barrier",
        Kind::COUNT,
        "Makes every so-many-th write a barrier: those before it are finished first, and those after \
         it wait for it. 0 never does.",
        "write_barrier=64",
    )
    .default("0"),
    option(
        "sync_file_range",
        Kind::WordList {
            words: &[
                Word::new("wait_before", "first wait for writeback that is under way"),
                Word::new("write", "start writeback of dirty pages"),
                Word::new("wait_after", "wait for it to end"),
            ],
            suffix: Suffix::Int,
        },
        "Calls `sync_file_range(2)` with these flags over what was written since the last call, after \
         as many writes as the number after the colon says.",
        "sync_file_range=wait_before,write:8",
    ),
    option(
        "overwrite",
        Kind::Bool,
        "Makes sure that a file to be written is there in full before the run, so that no write has \
         to extend it.",
        "overwrite=1",
    )
    .default("0"),
    option(
        "end_fsync",
        Kind::Bool,
        "Flushes every file when the job's writes are done. The time counts.",
        "end_fsync=1",
    )
    .default("0"),
    option(
        "end_syncfs",
        Kind::Bool,
        "Flushes the whole file system once (`syncfs(2)`) when the job's writes are done.",
        "end_syncfs=1",
    )
    .default("0")
    .since("3.42"),
    option(
        "fsync_on_close",
        Kind::Bool,
        "Flushes a file whenever the job closes it, not only at its end. The time counts.",
        "fsync_on_close=1",
    )
    .default("0"),
    option(
        "invalidate",
        Kind::Bool,
        "Drops what the page cache holds of a file before the run and, where the job goes through the file \
         more than once (`loops`, `time_based`, `io_size`), before each pass. With 0 a job may find its \
         data in memory. Direct I/O leaves nothing there, so that once is enough.",
        "invalidate=0",
    )
    .default("1"),
    option(
        "sync",
        Kind::words(&[
            Word::new("none", "writes may stay in caches"),
            Word::alias("0", "none"),
            Word::new("sync", "each write is on the medium with its metadata (`O_SYNC`)"),
            Word::alias("1", "sync"),
            Word::new("dsync", "each write is on the medium (`O_DSYNC`)"),
        ]),
        "Whether each write has to reach stable storage before it counts as done.",
        "sync=dsync",
    )
    .default("none"),
];
