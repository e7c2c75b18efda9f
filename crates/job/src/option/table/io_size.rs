//! How much I/O a job does, and where in its files.

use crate::option::def::{Category, Kind, OptionDef, options_of};
use crate::option::read;

options_of!(Category::IoSize);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "size",
        Kind::Amount,
        "The size of the range that each worker uses, over all its files. Unless `io_size` is set, \
         it is also the amount that each worker transfers. A percentage is relative to the size \
         of the existing file or device; `z` counts zones. Without it, the job uses existing \
         files and devices in full.",
        "size=10g",
    ),
    option(
        "io_size",
        Kind::Amount,
        "How many bytes each worker transfers, independent of the range that `size` sets. A \
         smaller value ends the job before it has covered the range; a larger one makes it go \
         over the range again.",
        "io_size=40g",
    )
    .alias(&["io_limit"]),
    option(
        "filesize",
        Kind::Custom { name: "size or range of sizes", read: read::size_range },
        "The size of each file. With a range, fiord chooses each file's size at random. `size` \
         then sets only how much the job transfers.",
        "filesize=4k-1m",
    ),
    option(
        "file_append",
        Kind::Bool,
        "Starts at the end of each regular file and extends it.",
        "file_append=1",
    )
    .default("0"),
    option(
        "fill_device",
        Kind::Bool,
        "Writes until the device or file system has no space left. The job then ends normally, \
         without an error.",
        "fill_device=1",
    )
    .alias(&["fill_fs"])
    .default("0"),
    option(
        "space_reserve",
        Kind::BYTES64,
        "Ends the job with an error and a complete report if the file system of its files has less \
         free space than this. The closer the free space is to the limit, the more often fiord \
         checks, up to 1000 times per second. 0 turns the check off.",
        "space_reserve=4g",
    )
    .default("0")
    .since("fiord"),
    option(
        "offset",
        Kind::Amount,
        "Where the used range begins in each file. A percentage of the file is rounded up to a \
         multiple of the block size or of `offset_align`; `z` counts zones.",
        "offset=20%",
    )
    .alias(&["fileoffset"])
    .default("0"),
    option(
        "offset_align",
        Kind::BYTES,
        "Rounds an `offset` given as a percentage up to a multiple of this. 0 means the block \
         size.",
        "offset_align=1m",
    )
    .default("0"),
    option(
        "offset_increment",
        Kind::Amount,
        "Moves the offset of each further worker of the job by this much, so that each of the \
         `numjobs` workers uses its own part of the file.",
        "offset_increment=1g",
    )
    .default("0")
    .under("offset"),
    option(
        "number_ios",
        Kind::COUNT64,
        "Ends the job after this many I/Os, unless it ends earlier for another reason. 0 means no \
         limit.",
        "number_ios=100000",
    )
    .default("0"),
];
