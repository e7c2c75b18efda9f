//! How much I/O a job does, and where in its files.

use crate::option::declare::*;

options! {
    Category::IoSize;

    /// The size of the range that each worker uses, over all its files. Unless `io_size` is set, it
    /// is also the amount that each worker transfers. A percentage is relative to the size of the
    /// existing file or device; `z` counts zones. Without it, the job uses existing files and
    /// devices in full.
    pub const SIZE: Opt<Option<Amount>> = option("size", AMOUNT, "size=10g");

    /// How many bytes each worker transfers, independent of the range that `size` sets. A smaller
    /// value ends the job before it has covered the range; a larger one makes it go over the range
    /// again.
    pub const IO_SIZE: Opt<Option<Amount>> = option("io_size", AMOUNT_OF_IO, "io_size=40g")
        .alias(&["io_limit"]);

    /// The size of each file. With a range, fiord chooses each file's size at random. `size` then
    /// sets only how much the job transfers.
    pub const FILESIZE: Opt<Option<SizeRange>> = option(
        "filesize",
        custom("size or range of sizes", &Reader(read::size_range)),
        "filesize=4k-1m",
    );

    /// Starts at the end of each regular file and extends it.
    pub const FILE_APPEND: Opt<bool> = option("file_append", BOOL, "file_append=1").default("0");

    /// Writes until the device or file system has no space left. The job then ends normally,
    /// without an error.
    pub const FILL_DEVICE: Opt<bool> = option("fill_device", BOOL, "fill_device=1")
        .alias(&["fill_fs"])
        .default("0");

    /// Ends the job with an error and a complete report if the file system of its files has less
    /// free space than this. The closer the free space is to the limit, the more often fiord
    /// checks, up to 1000 times per second. 0 turns the check off.
    pub const SPACE_RESERVE: Opt<Bytes> = option("space_reserve", BYTES64, "space_reserve=4g")
        .default("0")
        .since("fiord");

    /// Where the used range begins in each file. A percentage of the file is rounded up to a
    /// multiple of the block size or of `offset_align`; `z` counts zones.
    pub const OFFSET: Opt<Amount> = option("offset", AMOUNT, "offset=20%")
        .alias(&["fileoffset"])
        .default("0");

    /// Rounds an `offset` given as a percentage up to a multiple of this. 0 means the block size.
    pub const OFFSET_ALIGN: Opt<Bytes> = option("offset_align", BYTES, "offset_align=1m")
        .default("0");

    /// Moves the offset of each further worker of the job by this much, so that each of the
    /// `numjobs` workers uses its own part of the file.
    pub const OFFSET_INCREMENT: Opt<Amount> =
        option("offset_increment", AMOUNT, "offset_increment=1g").default("0").under("offset");

    /// Ends the job after this many I/Os, unless it ends earlier for another reason. 0 means no
    /// limit.
    pub const NUMBER_IOS: Opt<u64> = option("number_ios", COUNT64, "number_ios=100000")
        .default("0");
}
