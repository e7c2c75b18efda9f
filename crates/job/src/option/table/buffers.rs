//! The contents of I/O buffers, and the memory that holds them.

use crate::option::def::{Category, Kind, OptionDef, Suffix, Word, options_of};
use crate::option::read;

options_of!(Category::Buffers);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "zero_buffers",
        Kind::Switch,
        "Fills writes with zeros. Many devices store zeros without writing to their medium.",
        "zero_buffers",
    ),
    option(
        "refill_buffers",
        Kind::Switch,
        "Generates new contents for every write, instead of changing a few bytes of the previous \
         contents.",
        "refill_buffers",
    ),
    option(
        "scramble_buffers",
        Kind::Bool,
        "Changes a buffer before the job writes it again. By default, a few bytes of each sector \
         change, so that deduplication finds no duplicates. All bytes change if the buffer's \
         previous write went to the same MiB of the file, so that writes do not compress against \
         each other. If all writes have one size of 128 KiB or more, always only a few bytes of \
         each sector change.",
        "scramble_buffers=0",
    )
    .default("1"),
    option(
        "buffer_crc",
        Kind::Bool,
        "Puts a CRC-32C at the end of every written block: four bytes, little-endian, over the \
         bytes before them. The job's time includes the calculation.",
        "buffer_crc=1",
    )
    .default("0")
    .since("fiord"),
    option(
        "buffer_pattern",
        Kind::Custom { name: "pattern", read: read::pattern },
        "Fills writes with this pattern, repeated. A pattern is text in double quotes, hexadecimal \
         or decimal numbers, the contents of a file named in single quotes, or `%o` for the \
         offset, in any combination.",
        "buffer_pattern=0xdeadface\"abcd\"-12",
    ),
    option(
        "buffer_compress_percentage",
        Kind::PERCENT,
        "Generates contents that a compressor can shrink by this percentage: random bytes, \
         followed by zeros or `buffer_pattern`. Every write gets new contents, with or without \
         `refill_buffers`, because repeated blocks would compress against each other.",
        "buffer_compress_percentage=50",
    ),
    option(
        "buffer_compress_chunk",
        Kind::BYTES,
        "The length of the pieces in which compressible and random bytes alternate within a block. \
         0 means one piece of each per block. Values below 256 bytes count as 256, because the \
         result for shorter pieces depends on the compressor. With `dedupe_percentage`, it is at \
         most 4 KiB, the size of the blocks that deduplication compares.",
        "buffer_compress_chunk=4k",
    )
    .default("512")
    .under("buffer_compress_percentage"),
    option(
        "dedupe_percentage",
        Kind::PERCENT,
        "The percentage of 4 KiB blocks that duplicate other blocks. The position of a block in \
         the file decides whether it is a duplicate, so the percentage holds for any size and \
         order of writes.",
        "dedupe_percentage=30",
    ),
    option(
        "dedupe_mode",
        Kind::words(&[
            Word::new("repeat", "repeats a few blocks"),
            Word::new(
                "working_set",
                "repeats blocks of a working set, whose size is \
                                      `dedupe_working_set_percentage`",
            ),
        ]),
        "Which earlier block a duplicate repeats.",
        "dedupe_mode=working_set",
    )
    .default("repeat")
    .under("dedupe_percentage"),
    option(
        "dedupe_working_set_percentage",
        Kind::PERCENT,
        "The percentage of the file or device that supplies the blocks for \
         `dedupe_mode=working_set`.",
        "dedupe_working_set_percentage=10",
    )
    .default("5")
    .under("dedupe_percentage"),
    option(
        "dedupe_global",
        Kind::Bool,
        "Shares the pool of repeated blocks between all jobs that set this option.",
        "dedupe_global=1",
    )
    .default("0"),
    option(
        "mem",
        Kind::Words {
            words: &[
                Word::new("malloc", "ordinary memory"),
                Word::new("shm", "System V shared memory"),
                Word::new("shmhuge", "System V shared memory in huge pages"),
                Word::new(
                    "mmap",
                    "a private mapping, of the file named after a colon if there is \
                                   one",
                ),
                Word::new(
                    "mmapshared",
                    "a shared mapping, of the file named after a colon if \
                                         there is one",
                ),
                Word::new(
                    "mmaphuge",
                    "a mapping in huge pages, of a file on hugetlbfs if one is \
                                       named",
                ),
                Word::later("cudamalloc", "memory of a GPU, for the `rdma` engine"),
            ],
            suffix: Suffix::Text,
        },
        "The memory for the job's buffers. Buffers overwrite the file that holds them, so this \
         file must be new or empty, or be on hugetlbfs. fiord removes or truncates it after the \
         run.",
        "mem=mmaphuge:/hugetlbfs/file",
    )
    .alias(&["iomem"])
    .default("malloc"),
    option(
        "iomem_align",
        Kind::BYTES,
        "Aligns the first buffer to a multiple of this power of two. The other buffers follow at \
         intervals of the largest block size.",
        "iomem_align=4k",
    )
    .alias(&["mem_align"])
    .default("0"),
    option(
        "hugepage-size",
        Kind::BYTES,
        "The size of the huge pages for `mem=mmaphuge` and `mem=shmhuge`: one of the sizes in \
         `/sys/kernel/mm/hugepages/`, where the administrator also reserves pages. Without it, \
         the pages have the kernel's default size, `Hugepagesize` in `/proc/meminfo`.",
        "hugepage-size=2m",
    )
    .default("2097152"),
    option(
        "lockmem",
        Kind::BYTES64,
        "Locks this much additional memory in each worker, which leaves less room for the page \
         cache.",
        "lockmem=1g",
    )
    .default("0"),
];
