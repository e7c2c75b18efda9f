//! What the bytes are, and the memory they lie in.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word, options_of};
use crate::option::read;

options_of!(Category::Buffers);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "zero_buffers",
        Kind::Switch,
        "Writes zeros. Many devices store those without touching their medium.",
        "zero_buffers",
    ),
    option(
        "refill_buffers",
        Kind::Switch,
        "Makes new contents for every write, in place of changing old ones a little.",
        "refill_buffers",
    ),
    option(
        "scramble_buffers",
        Kind::Bool,
        "Changes a buffer before it is written again: a few bytes of each sector, so that deduplication \
         finds nothing, and all bytes where the last ones went to the same MiB of the file, so that \
         writes do not compress against each other. Of writes that all have one size of 128 KiB or \
         more, a few bytes of each sector.",
        "scramble_buffers=0",
    )
    .default("1"),
    option(
        "buffer_crc",
        Kind::Bool,
        "Ends every block written with the CRC-32C of the bytes before it, in four bytes, the lowest \
         first. What that takes is part of the job's time.",
        "buffer_crc=1",
    )
    .default("0")
    .since("fiord"),
    option(
        "buffer_pattern",
        Kind::Custom { name: "pattern", read: read::pattern },
        "Fills writes with this pattern, over and over: text in double quotes, hexadecimal or decimal \
         numbers, the contents of a file named in single quotes, `%o` for the offset, one after the \
         other as one likes.",
        "buffer_pattern=0xdeadface\"abcd\"-12",
    ),
    option(
        "buffer_compress_percentage",
        Kind::PERCENT,
        "Makes contents that a compressor can shrink by this many per cent: random bytes, then zeros \
         or `buffer_pattern`. Contents are new for every write, with or without `refill_buffers`, for \
         blocks that are written again would compress against each other.",
        "buffer_compress_percentage=50",
    ),
    option(
        "buffer_compress_chunk",
        Kind::BYTES,
        "How finely compressible and random bytes alternate in a block. 0 means one stretch of each in \
         every block. Less than 256 bytes counts as 256: below, what a compressor sees depends on the compressor. With \
         `dedupe_percentage` it is at most 4 KiB, the block in which duplicates are found.",
        "buffer_compress_chunk=4k",
    )
    .default("512")
    .under("buffer_compress_percentage"),
    option(
        "dedupe_percentage",
        Kind::PERCENT,
        "The share of blocks of 4 KiB whose contents are elsewhere too. The place of a block in the file \
         decides, so the share is met whatever the size and order of the writes.",
        "dedupe_percentage=30",
    ),
    option(
        "dedupe_mode",
        Kind::words(&[
            Word::new("repeat", "a few blocks come again and again"),
            Word::new("working_set", "any of a set of blocks, as large as `dedupe_working_set_percentage` says, comes again"),
        ]),
        "Which earlier contents a duplicate repeats.",
        "dedupe_mode=working_set",
    )
    .default("repeat")
    .under("dedupe_percentage"),
    option(
        "dedupe_working_set_percentage",
        Kind::PERCENT,
        "How much of the file or device supplies the blocks that `dedupe_mode=working_set` repeats.",
        "dedupe_working_set_percentage=10",
    )
    .default("5")
    .under("dedupe_percentage"),
    option(
        "dedupe_global",
        Kind::Bool,
        "Shares the blocks to be repeated between all jobs that set this.",
        "dedupe_global=1",
    )
    .default("0"),
    option(
        "mem",
        Kind::Words {
            words: &[
                Word::new("malloc", "ordinary memory"),
                Word::new("shm", "System V shared memory"),
                Word::new("shmhuge", "the same in huge pages"),
                Word::new("mmap", "a private mapping, of a file if one is named after a colon"),
                Word::new("mmapshared", "the same, shared"),
                Word::new("mmaphuge", "a mapping in huge pages, of a hugetlbfs file if one is named"),
                Word::later("cudamalloc", "memory of a GPU, for the `rdma` engine"),
            ],
            suffix: Suffix::Text,
        },
        "Where the buffers of the job come from. Buffers overwrite the file that they lie in, so a file \
         must be new or empty, or lie on hugetlbfs; it is removed or emptied after the run.",
        "mem=mmaphuge:/hugetlbfs/file",
    )
    .alias(&["iomem"])
    .default("malloc"),
    option(
        "iomem_align",
        Kind::BYTES,
        "Aligns the first buffer to a multiple of this power of two. The others follow at distances \
         of the largest block size.",
        "iomem_align=4k",
    )
    .alias(&["mem_align"])
    .default("0"),
    option(
        "hugepage-size",
        Kind::BYTES,
        "How large the huge pages are that `mem=mmaphuge` and `mem=shmhuge` ask for: one of the sizes \
         in `/sys/kernel/mm/hugepages/`, where pages are reserved as well. Where it is not set they \
         are of the kernel's default size, `Hugepagesize` in `/proc/meminfo`.",
        "hugepage-size=2m",
    )
    .default("2097152"),
    option(
        "lockmem",
        Kind::BYTES64,
        "Pins this much other memory in each worker, to leave the page cache less room.",
        "lockmem=1g",
    )
    .default("0"),
];
