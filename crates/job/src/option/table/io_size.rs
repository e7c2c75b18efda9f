//! How much I/O, and where in the files.

use crate::option::def::{Category, Kind, OptionDef, options_of};
use crate::option::read;

options_of!(Category::IoSize);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "size",
        Kind::Amount,
        "The range of the files that each worker uses, all files together, and, unless `io_size` is \
         set, how much it transfers. A percentage is that share of what is there; `z` counts zones. \
         Existing files and devices are used in full when it is not set.",
        "size=10g",
    ),
    option(
        "io_size",
        Kind::Amount,
        "How much each worker transfers, apart from the range of `size`: less ends it early, more \
         makes it go over the range again.",
        "io_size=40g",
    )
    .alias(&["io_limit"]),
    option(
        "filesize",
        Kind::Custom { name: "size or range of sizes", read: read::size_range },
        "The size of each file. From a range every file draws its own. `size` is then only how much \
         is transferred.",
        "filesize=4k-1m",
    ),
    option(
        "file_append",
        Kind::Bool,
        "Begins at the end of each regular file and lets it grow.",
        "file_append=1",
    )
    .default("0"),
    option(
        "fill_device",
        Kind::Bool,
        "Writes until no space is left, which then is the normal end of the job and not an error.",
        "fill_device=1",
    )
    .alias(&["fill_fs"])
    .default("0"),
    option(
        "space_reserve",
        Kind::BYTES64,
        "Ends the job, with an error and a whole report, when less than this is free on the file \
         system of its files. It is looked at up to 1000 times a second, the more often the sooner \
         space would be gone. 0: never.",
        "space_reserve=4g",
    )
    .default("0")
    .since("fiord"),
    option(
        "offset",
        Kind::Amount,
        "Where in each file the used range begins. A percentage of the file is rounded up to a block \
         or to `offset_align`; `z` counts zones.",
        "offset=20%",
    )
    .alias(&["fileoffset"])
    .default("0"),
    option(
        "offset_align",
        Kind::BYTES,
        "Rounds an `offset` that was given as a percentage up to a multiple of this. 0 stands for the \
         block size.",
        "offset_align=1m",
    )
    .default("0"),
    option(
        "offset_increment",
        Kind::Amount,
        "Shifts the offset of each further worker of the job by this much, so that `numjobs` workers \
         each have a part of the file.",
        "offset_increment=1g",
    )
    .default("0")
    .under("offset"),
    option(
        "number_ios",
        Kind::COUNT64,
        "Ends the job after this many I/Os if nothing else has ended it before. 0 sets no limit.",
        "number_ios=100000",
    )
    .default("0"),
];
