//! The type of a job's I/O: direction, order, randomness, flushing.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::IoType);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "direct",
        Kind::Bool,
        "Bypasses the page cache (`O_DIRECT`). Sizes and offsets must then be multiples of the \
         device's logical block size. `direct` is the opposite of `buffered`.",
        "direct=1",
    )
    .default("0"),
    option(
        "buffered",
        Kind::Bool,
        "Uses the page cache. `buffered` is the opposite of `direct`; the later of the two counts.",
        "buffered=0",
    )
    .default("1"),
    option(
        "atomic",
        Kind::Bool,
        "Requests atomic writes: after a crash, a write is either complete or has not happened \
         (`RWF_ATOMIC`, Linux 6.11). It applies to engines that can pass the flag to the kernel.",
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
                Word::new("trimwrite", "trims each block, then writes it, sequentially"),
                Word::new("randtrimwrite", "trims each block, then writes it, in random order"),
            ],
            suffix: Suffix::Step,
        },
        "The direction and order of the I/O. In a random load, a number after a colon says how \
         many I/Os follow before the job chooses a new random offset (see `rw_sequencer`). In a \
         sequential load, it says how many bytes the job skips after each I/O.",
        "rw=randread:8",
    )
    .alias(&["readwrite"])
    .default("read"),
    option(
        "rw_sequencer",
        Kind::words(&[
            Word::new("sequential", "each further I/O follows the previous one sequentially"),
            Word::new("identical", "all these I/Os go to the same offset"),
        ]),
        "What the job does between two random offsets when `rw` has a number after a colon.",
        "rw_sequencer=identical",
    )
    .default("sequential"),
    option("rwmixread", Kind::PERCENT, "The percentage of reads in a mixed load.", "rwmixread=70")
        .default("50"),
    option(
        "rwmixwrite",
        Kind::PERCENT,
        "The percentage of writes in a mixed load. If the sum of it and `rwmixread` is not 100, \
         the later option counts.",
        "rwmixwrite=30",
    )
    .default("50"),
    option(
        "unified_rw_reporting",
        Kind::words(&[
            Word::new("none", "each direction separately"),
            Word::new("mixed", "only the sum of all directions"),
            Word::new("both", "each direction separately, and the sum"),
            Word::alias("0", "none"),
            Word::alias("1", "mixed"),
            Word::alias("2", "both"),
        ]),
        "Whether the report shows reads, writes and trims separately, combined, or both.",
        "unified_rw_reporting=both",
    )
    .default("none"),
    option(
        "randrepeat",
        Kind::Bool,
        "Uses the same random sequence in every run. With 0, each run uses a new sequence.",
        "randrepeat=0",
    )
    .alias(&["allrandrepeat"])
    .default("1")
    .under("rw"),
    option(
        "randseed",
        Kind::Custom { name: "number", read: read::seed },
        "The seed of all random choices. Without it, `randrepeat` decides.",
        "randseed=42",
    )
    .default("0x89")
    .under("rw"),
    option(
        "fallocate",
        Kind::words(&[
            Word::new("none", "reserves no space"),
            Word::new("native", "`fallocate(2)` where the file system supports it"),
            Word::new("posix", "`posix_fallocate(3)`"),
            Word::new("keep", "`fallocate(2)` without changing the file size"),
            Word::new("truncate", "only sets the file size"),
            Word::alias("0", "none"),
            Word::alias("1", "posix"),
        ]),
        "How fiord reserves space when it lays out a file.",
        "fallocate=none",
    )
    .default("native"),
    option(
        "fadvise_hint",
        Kind::words(&[
            Word::new("0", "gives no advice"),
            Word::new("1", "random or sequential, to match the job"),
            Word::new("random", "`POSIX_FADV_RANDOM`"),
            Word::new("sequential", "`POSIX_FADV_SEQUENTIAL`"),
            Word::new("noreuse", "`POSIX_FADV_NOREUSE`"),
        ]),
        "The advice about the access pattern that fiord gives the kernel for each file.",
        "fadvise_hint=0",
    )
    .default("1"),
    option(
        "write_hint",
        Kind::words(&[
            Word::new("none", "no lifetime"),
            Word::new("short", "overwritten soon"),
            Word::new("medium", "kept for a while"),
            Word::new("long", "kept for a long time"),
            Word::new("extreme", "kept longest"),
        ]),
        "Tells the kernel how long written data is expected to stay valid (`F_SET_RW_HINT`).",
        "write_hint=short",
    ),
    option(
        "random_distribution",
        Kind::Words {
            words: &[
                Word::new("random", "all blocks have the same probability"),
                Word::new("zipf", "few blocks get most of the I/O: `zipf:THETA[:CENTRE]`"),
                Word::new(
                    "pareto",
                    "few blocks get most of the I/O, by a power law: \
                                     `pareto:POWER[:CENTRE]`",
                ),
                Word::new("normal", "a bell curve around a centre: `normal:DEVIATION[:CENTRE]`"),
                Word::new(
                    "zoned",
                    "percentages of the I/O for percentages of the range: \
                                    `zoned:60/10:40/90`",
                ),
                Word::new(
                    "zoned_abs",
                    "percentages of the I/O for ranges of bytes: \
                                        `zoned_abs:60/20g:40/100g`",
                ),
                Word::new("sequence", "these block numbers, repeated: `sequence:2,0,1`"),
            ],
            suffix: Suffix::Text,
        },
        "The distribution of random offsets over the range.",
        "random_distribution=zipf:1.2",
    )
    .default("random"),
    option(
        "random_sequence_stride",
        Kind::Bool,
        "With `random_distribution=sequence`, adds the length of the sequence to the block numbers \
         after each pass, instead of repeating the same block numbers.",
        "random_sequence_stride=1",
    )
    .default("0")
    .since("3.42"),
    option(
        "percentage_random",
        Kind::Ints { min: 0, max: 100, unit: Unit::Percent },
        "The percentage of I/Os in a random load that go to random offsets; the others are \
         sequential. Up to three values, for reads, writes and trims.",
        "percentage_random=80,100",
    )
    .default("100,100,100"),
    option(
        "norandommap",
        Kind::Switch,
        "Chooses each random offset independently, without tracking which blocks the job has \
         visited. Some blocks then occur several times and others never.",
        "norandommap",
    )
    .under("rw"),
    option(
        "softrandommap",
        Kind::Bool,
        "Continues without a random map if there is not enough memory for one.",
        "softrandommap=1",
    )
    .default("0")
    .under("norandommap")
    .accepted("the random map is not a block of memory whose allocation could fail"),
    option(
        "random_generator",
        Kind::words(&[
            Word::new(
                "tausworthe",
                "32-bit random numbers, or 64-bit ones for targets of more \
                                     than 2³² blocks",
            ),
            Word::new("lfsr", "a shift register that visits every block once without a random map"),
            Word::new("tausworthe64", "64-bit random numbers"),
        ]),
        "The generator of random offsets.",
        "random_generator=lfsr",
    )
    .default("tausworthe"),
    option(
        "sprandom",
        Kind::Bool,
        "Preconditions a flash drive in one pass. It writes the whole physical capacity in an \
         order that leaves the fraction of stale blocks that random writes would leave in the \
         steady state.",
        "sprandom=1",
    )
    .default("0")
    .under("rw")
    .since("3.42"),
    option(
        "spr_num_regions",
        Kind::COUNT,
        "The number of regions into which `sprandom` divides the drive. More regions come closer \
         to the steady state.",
        "spr_num_regions=400",
    )
    .default("100")
    .under("sprandom")
    .since("3.42"),
    option(
        "spr_op",
        Kind::Floats { min: 0.0, max: 1.0, max_len: 1 },
        "The over-provisioning of the drive for `sprandom`: the spare capacity as a fraction \
         between 0 and 1.",
        "spr_op=0.28",
    )
    .default("0.15")
    .under("sprandom")
    .since("3.42"),
    option(
        "spr_cs",
        Kind::BYTES,
        "The size of the drive's write cache for `sprandom`. If it is not 0, `sprandom` makes \
         blocks stale one region later, when the cache no longer holds them.",
        "spr_cs=64m",
    )
    .default("0")
    .under("sprandom")
    .since("3.42"),
    option(
        "fsync",
        Kind::COUNT,
        "Calls `fsync(2)` after this many writes. 0 means never.",
        "fsync=32",
    )
    .default("0"),
    option(
        "fdatasync",
        Kind::COUNT,
        "Calls `fdatasync(2)` after this many writes. 0 means never.",
        "fdatasync=1",
    )
    .default("0"),
    option(
        "write_barrier",
        Kind::COUNT,
        "Makes every N-th write a barrier: the job finishes all earlier writes first, and later \
         writes wait for it. 0 means never.",
        "write_barrier=64",
    )
    .default("0"),
    option(
        "sync_file_range",
        Kind::WordList {
            words: &[
                Word::new("wait_before", "waits for writeback that is already in progress"),
                Word::new("write", "starts writeback of dirty pages"),
                Word::new("wait_after", "waits for this writeback"),
            ],
            suffix: Suffix::Int,
        },
        "Calls `sync_file_range(2)` with these flags over the range written since the last call. \
         The number after the colon says after how many writes.",
        "sync_file_range=wait_before,write:8",
    ),
    option(
        "overwrite",
        Kind::Bool,
        "Makes sure before the run that each file to be written exists in its full size, so that \
         no write of the job has to extend it.",
        "overwrite=1",
    )
    .default("0"),
    option(
        "end_fsync",
        Kind::Bool,
        "Flushes every file after the job's last write. The job's time includes the flush.",
        "end_fsync=1",
    )
    .default("0"),
    option(
        "end_syncfs",
        Kind::Bool,
        "Flushes the whole file system once (`syncfs(2)`) after the job's last write.",
        "end_syncfs=1",
    )
    .default("0")
    .since("3.42"),
    option(
        "fsync_on_close",
        Kind::Bool,
        "Flushes a file every time the job closes it, not only at the end of the job. The job's \
         time includes the flush.",
        "fsync_on_close=1",
    )
    .default("0"),
    option(
        "invalidate",
        Kind::Bool,
        "Drops a file's pages from the page cache before the run. If the job goes through the file \
         more than once (`loops`, `time_based`, `io_size`), it also drops them before each pass. \
         With 0, a job may find its data in memory. Direct I/O leaves no pages there, so a direct \
         job drops them once.",
        "invalidate=0",
    )
    .default("1"),
    option(
        "sync",
        Kind::words(&[
            Word::new("none", "writes may stay in caches"),
            Word::alias("0", "none"),
            Word::new(
                "sync",
                "a write completes when its data and metadata are on stable storage \
                               (`O_SYNC`)",
            ),
            Word::alias("1", "sync"),
            Word::new("dsync", "a write completes when its data is on stable storage (`O_DSYNC`)"),
        ]),
        "Whether each write must reach stable storage before it completes.",
        "sync=dsync",
    )
    .default("none"),
];
