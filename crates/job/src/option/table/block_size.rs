//! The size of each I/O.

use crate::option::declare::*;

options! {
    Category::BlockSize;

    /// The size of an I/O. Up to three values separated by commas, for reads, writes and trims. A
    /// missing value takes the value before it (`8k,32k`); an empty value keeps the default
    /// (`8k,32k,` and `,8k`). A block of 4 GiB or more is made as several I/Os of at most 2 GiB.
    pub const BS: Opt<PerDir<Option<Bytes>>> =
        option("bs", per_dir(1, u64::MAX, Unit::Bytes), "bs=8k,32k")
            .alias(&["blocksize"])
            .default("4096")
            .under("rw");

    /// Chooses the size of each I/O at random from a range, in multiples of the lower bound. Up to
    /// three ranges separated by commas, for reads, writes and trims. Write `-` or `:` between the
    /// two bounds.
    pub const BSRANGE: Opt<Option<PerDir<Option<SizeRange>>>> =
        option("bsrange", ranges(1), "bsrange=4k-64k,4k-16k")
            .alias(&["blocksize_range"])
            .under("rw");

    /// Chooses the size of each I/O from a list of sizes with percentages. Entries without a
    /// percentage share the rest evenly. Up to three lists separated by commas, for reads, writes
    /// and trims.
    pub const BSSPLIT: Opt<Option<PerDir<Vec<(u64, u8)>>>> = option(
        "bssplit",
        custom("size/percentage, separated by colons", &Reader(read::splits)),
        "bssplit=4k/60:64k/30:1m/10",
    )
    .under("rw");

    /// Lets `bsrange` choose any number of bytes, not only multiples of the lower bound.
    pub const BS_UNALIGNED: Opt<bool> = option("bs_unaligned", SWITCH, "bs_unaligned")
        .alias(&["blocksize_unaligned"])
        .under("rw");

    /// Applies the first value of the block size options (reads) to sequential I/O and the second
    /// (writes) to random I/O, whatever the direction. A random job has sequential I/Os with
    /// `percentage_random` below 100, or with a number after the colon of `rw`.
    pub const BS_IS_SEQ_RAND: Opt<bool> = option("bs_is_seq_rand", BOOL, "bs_is_seq_rand=1")
        .default("0")
        .under("rw");

    /// The alignment of random offsets, instead of the smallest block size. Any value other than the smallest block
    /// size turns the random map off. Up to three values, for reads, writes and trims.
    pub const BA: Opt<Option<PerDir<Option<Bytes>>>> =
        option("ba", per_dir(1, u32::MAX as u64, Unit::Bytes), "ba=512")
            .alias(&["blockalign"])
            .under("rw");
}
