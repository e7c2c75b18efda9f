//! How large an I/O is.

use crate::option::def::{Category, Kind, OptionDef, Unit, options_of};
use crate::option::read;

const SIZES: Kind = Kind::Ints { min: 1, max: u32::MAX as u64, unit: Unit::Bytes };

options_of!(Category::BlockSize);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "bs",
        SIZES,
        "The size of an I/O. Up to three values by commas, for reads, writes and trims: one that is \
         not written takes the value before it (`8k,32k`), one that is left empty keeps the default \
         (`8k,32k,` and `,8k`).",
        "bs=8k,32k",
    )
    .alias(&["blocksize"])
    .default("4096")
    .under("rw"),
    option(
        "bsrange",
        Kind::Ranges { min: 1 },
        "Draws the size of each I/O from a range, in multiples of its smaller end. Up to three ranges \
         by commas, for reads, writes and trims; `-` or `:` stands between the ends.",
        "bsrange=4k-64k,4k-16k",
    )
    .alias(&["blocksize_range"])
    .under("rw"),
    option(
        "bssplit",
        Kind::Custom { name: "size/percentage, by colons", read: read::splits },
        "Draws the size of each I/O from a list with shares in per cent. Entries without a share \
         divide what is left evenly. Up to three lists by commas, for reads, writes and trims.",
        "bssplit=4k/60:64k/30:1m/10",
    )
    .under("rw"),
    option(
        "bs_unaligned",
        Kind::Switch,
        "Lets `bsrange` draw any number of bytes, not only multiples of its smaller end.",
        "bs_unaligned",
    )
    .alias(&["blocksize_unaligned"])
    .under("rw"),
    option(
        "bs_is_seq_rand",
        Kind::Bool,
        "Reads the first of several block sizes as that of sequential I/O and the second as that of \
         random I/O, whatever the direction.",
        "bs_is_seq_rand=1",
    )
    .default("0")
    .under("rw")
    .later(),
    option(
        "ba",
        SIZES,
        "Random offsets are multiples of this instead of the smallest block size. Any other value than \
         the smallest block size switches the random map off. Up to three values, for reads, writes and \
         trims.",
        "ba=512",
    )
    .alias(&["blockalign"])
    .under("rw"),
];
