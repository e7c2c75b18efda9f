//! The contents of I/O buffers, and the memory that holds them.

use crate::option::declare::*;

words! {
    /// The words of `dedupe_mode`.
    pub enum DedupeMode {
        Repeat = new("repeat", "repeats a few blocks"),
        WorkingSet = new(
            "working_set",
            "repeats blocks of a working set, whose size is `dedupe_working_set_percentage`",
        ),
    }

    /// The words of `mem`.
    pub enum BufferMemory {
        Malloc = new("malloc", "ordinary memory"),
        Shm = new("shm", "System V shared memory"),
        ShmHuge = new("shmhuge", "System V shared memory in huge pages"),
        Mmap = new("mmap", "a private mapping, of the file named after a colon if there is one"),
        MmapShared = new(
            "mmapshared",
            "a shared mapping, of the file named after a colon if there is one",
        ),
        MmapHuge = new(
            "mmaphuge",
            "a mapping in huge pages, of a file on hugetlbfs if one is named",
        ),
        CudaMalloc = later("cudamalloc", "memory of a GPU, for the `rdma` engine"),
    }
}

options! {
    Category::Buffers;

    /// Fills writes with zeros. Many devices store zeros without writing to their medium.
    pub const ZERO_BUFFERS: Opt<bool> = option("zero_buffers", SWITCH, "zero_buffers");

    /// Generates new contents for every write, instead of changing a few bytes of the previous
    /// contents.
    pub const REFILL_BUFFERS: Opt<bool> = option("refill_buffers", SWITCH, "refill_buffers");

    /// Changes a buffer before the job writes it again. By default, a few bytes of each sector
    /// change, so that deduplication finds no duplicates. All bytes change if the buffer's previous
    /// write went to the same MiB of the file, so that writes do not compress against each other.
    /// If all writes have one size of 128 KiB or more, always only a few bytes of each sector
    /// change.
    pub const SCRAMBLE_BUFFERS: Opt<bool> = option("scramble_buffers", BOOL, "scramble_buffers=0")
        .default("1");

    /// Puts a CRC-32C at the end of every written block: four bytes, little-endian, over the bytes
    /// before them. The job's time includes the calculation.
    pub const BUFFER_CRC: Opt<bool> = option("buffer_crc", BOOL, "buffer_crc=1")
        .default("0")
        .since("fiord");

    /// Fills writes with this pattern, repeated. A pattern is text in double quotes, hexadecimal or
    /// decimal numbers, the contents of a file named in single quotes, or `%o` for the offset, in
    /// any combination.
    pub const BUFFER_PATTERN: Opt<Option<Vec<PatternPart>>> = option(
        "buffer_pattern",
        custom("pattern", &Reader(read::pattern)),
        "buffer_pattern=0xdeadface\"abcd\"-12",
    );

    /// Generates contents that a compressor can shrink by this percentage: random bytes, followed
    /// by zeros or `buffer_pattern`. Every write gets new contents, with or without
    /// `refill_buffers`, because repeated blocks would compress against each other.
    pub const BUFFER_COMPRESS_PERCENTAGE: Opt<Option<u8>> =
        option("buffer_compress_percentage", PERCENT, "buffer_compress_percentage=50");

    /// The length of the pieces in which compressible and random bytes alternate within a block. 0
    /// means one piece of each per block. Values below 256 bytes count as 256, because the result
    /// for shorter pieces depends on the compressor. With `dedupe_percentage`, it is at most 4 KiB,
    /// the size of the blocks that deduplication compares.
    pub const BUFFER_COMPRESS_CHUNK: Opt<Bytes> =
        option("buffer_compress_chunk", BYTES, "buffer_compress_chunk=4k")
            .default("512")
            .under("buffer_compress_percentage");

    /// The percentage of 4 KiB blocks that duplicate other blocks. The position of a block in the
    /// file decides whether it is a duplicate, so the percentage holds for any size and order of
    /// writes.
    pub const DEDUPE_PERCENTAGE: Opt<Option<u8>> =
        option("dedupe_percentage", PERCENT, "dedupe_percentage=30");

    /// Which earlier block a duplicate repeats.
    pub const DEDUPE_MODE: Opt<DedupeMode> =
        option("dedupe_mode", one_of(), "dedupe_mode=working_set")
            .default("repeat")
            .under("dedupe_percentage");

    /// The percentage of the file or device that supplies the blocks for `dedupe_mode=working_set`.
    pub const DEDUPE_WORKING_SET_PERCENTAGE: Opt<u8> =
        option("dedupe_working_set_percentage", PERCENT, "dedupe_working_set_percentage=10")
            .default("5")
            .under("dedupe_percentage");

    /// Shares the pool of repeated blocks between all jobs that set this option.
    pub const DEDUPE_GLOBAL: Opt<bool> = option("dedupe_global", BOOL, "dedupe_global=1")
        .default("0");

    /// The memory for the job's buffers. Buffers overwrite the file that holds them, so this file
    /// must be new or empty, or be on hugetlbfs. fiord removes or truncates it after the run.
    pub const MEM: Opt<WithSuffix<BufferMemory>> =
        option("mem", one_of_with(Suffix::Text), "mem=mmaphuge:/hugetlbfs/file")
            .alias(&["iomem"])
            .default("malloc");

    /// Aligns the first buffer to a multiple of this power of two. The other buffers follow at
    /// intervals of the largest block size.
    pub const IOMEM_ALIGN: Opt<Bytes> = option("iomem_align", BYTES, "iomem_align=4k")
        .alias(&["mem_align"])
        .default("0");

    /// The size of the huge pages for `mem=mmaphuge` and `mem=shmhuge`: one of the sizes in
    /// `/sys/kernel/mm/hugepages/`, where the administrator also reserves pages. Without it, the
    /// pages have the kernel's default size, `Hugepagesize` in `/proc/meminfo`.
    pub const HUGEPAGE_SIZE: Opt<Bytes> = option("hugepage-size", BYTES, "hugepage-size=2m")
        .default("2097152");

    /// Locks this much additional memory in each worker, which leaves less room for the page cache.
    pub const LOCKMEM: Opt<Bytes> = option("lockmem", BYTES64, "lockmem=1g").default("0");
}
