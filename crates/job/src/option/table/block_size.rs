//! The size of each I/O.

use crate::option::def::{Category, Kind, OptionDef, Unit, options_of};
use crate::option::read;

const SIZES: Kind = Kind::Ints { min: 1, max: u32::MAX as u64, unit: Unit::Bytes };

options_of!(Category::BlockSize);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "bs",
        SIZES,
        "The size of an I/O. Up to three values separated by commas, for reads, writes and trims. \
         A missing value takes the value before it (`8k,32k`); an empty value keeps the default \
         (`8k,32k,` and `,8k`).",
        "bs=8k,32k",
    )
    .alias(&["blocksize"])
    .default("4096")
    .under("rw"),
    option(
        "bsrange",
        Kind::Ranges { min: 1 },
        "Chooses the size of each I/O at random from a range, in multiples of the lower bound. Up \
         to three ranges separated by commas, for reads, writes and trims. Write `-` or `:` \
         between the two bounds.",
        "bsrange=4k-64k,4k-16k",
    )
    .alias(&["blocksize_range"])
    .under("rw"),
    option(
        "bssplit",
        Kind::Custom { name: "size/percentage, separated by colons", read: read::splits },
        "Chooses the size of each I/O from a list of sizes with percentages. Entries without a \
         percentage share the rest evenly. Up to three lists separated by commas, for reads, \
         writes and trims.",
        "bssplit=4k/60:64k/30:1m/10",
    )
    .under("rw"),
    option(
        "bs_unaligned",
        Kind::Switch,
        "Lets `bsrange` choose any number of bytes, not only multiples of the lower bound.",
        "bs_unaligned",
    )
    .alias(&["blocksize_unaligned"])
    .under("rw"),
    option(
        "bs_is_seq_rand",
        Kind::Bool,
        "Applies the first value of the block size options to sequential I/O and the second to \
         random I/O, whatever the direction.",
        "bs_is_seq_rand=1",
    )
    .default("0")
    .under("rw")
    .later(),
    option(
        "ba",
        SIZES,
        "The alignment of random offsets, instead of the smallest block size. Any other value than \
         the smallest block size turns the random map off. Up to three values, for reads, writes \
         and trims.",
        "ba=512",
    )
    .alias(&["blockalign"])
    .under("rw"),
];
