//! What the bytes are, and the memory they lie in.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word};
use crate::option::read;

const CATEGORY: Category = Category::Buffers;

const fn option(
    name: &'static str,
    kind: Kind,
    doc: &'static str,
    example: &'static str,
) -> OptionDef {
    OptionDef::new(name, kind, CATEGORY, doc, example)
}

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
        "Changes a few bytes of a buffer before it is written again, so that no two blocks are equal \
         and deduplication finds nothing.",
        "scramble_buffers=0",
    )
    .default("1"),
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
        "Makes contents that a compressor can shrink by this many per cent.",
        "buffer_compress_percentage=50",
    )
    .later(),
    option(
        "buffer_compress_chunk",
        Kind::BYTES,
        "How finely compressible and random bytes alternate in a block. 0 means one stretch of each in \
         every block.",
        "buffer_compress_chunk=4k",
    )
    .default("512")
    .under("buffer_compress_percentage")
    .later(),
    option(
        "dedupe_percentage",
        Kind::PERCENT,
        "The share of writes that repeat contents already written.",
        "dedupe_percentage=30",
    )
    .later(),
    option(
        "dedupe_mode",
        Kind::words(&[
            Word::later("repeat", "the last unique block comes again"),
            Word::later("working_set", "any of the first blocks written comes again"),
        ]),
        "Which earlier contents a duplicate repeats.",
        "dedupe_mode=working_set",
    )
    .default("repeat")
    .under("dedupe_percentage")
    .later(),
    option(
        "dedupe_working_set_percentage",
        Kind::PERCENT,
        "How much of the file or device supplies the blocks that `dedupe_mode=working_set` repeats.",
        "dedupe_working_set_percentage=10",
    )
    .default("5")
    .under("dedupe_percentage")
    .later(),
    option(
        "dedupe_global",
        Kind::Bool,
        "Shares the blocks to be repeated between all jobs that set this.",
        "dedupe_global=1",
    )
    .default("0")
    .later(),
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
        "Where the buffers of the job come from.",
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
        "How large the huge pages are that `mem` asks for: one of the sizes that the machine offers.",
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
