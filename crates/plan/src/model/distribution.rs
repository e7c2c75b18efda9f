//! How random offsets are distributed over a file.

use fiord_types::{Bytes, PerDir};

/// `random_distribution`. All distributions except [`Distribution::Even`] may repeat blocks: they
/// use no map of the blocks that the job has accessed.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Every block is equally likely.
    Even,
    /// A few blocks get most of the I/O.
    Skewed(Skew),
    /// Each part of a file gets a share of the I/O, per direction. An empty list means an even
    /// distribution.
    Zoned(PerDir<Vec<ZoneShare>>),
    /// Block numbers repeat.
    Sequence {
        /// The block numbers in the order of access.
        blocks: Vec<u64>,
        /// `random_sequence_stride`: each round starts `blocks.len()` blocks after the one before.
        stride: bool,
    },
}

/// A skewed distribution: a law over the ranks `1 ..= n`, and the location of the rank with the largest share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// The share of I/O of each rank.
    pub law: Law,
    /// Location of the hottest block, from 0 (start of the range) to 1 (its end). `None`: the seed
    /// determines it.
    pub centre: Option<f64>,
}

/// The law that gives each rank its share of the I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Rank `k` gets a share proportional to `k^-theta`.
    Zipf {
        /// Exponent; 0 or more, but not 1.
        theta: f64,
    },
    /// Self-similar (Gray et al., "Quickly generating billion-record synthetic databases", 1994):
    /// the first fraction `x` of the data gets the fraction `x^(ln(1-h) / ln h)` of the I/O. With
    /// `h` below one half, a fraction `h` of the data gets `1 - h` of the I/O. With `h` above one
    /// half, the last `1 - h` of the data get `h` of the I/O, and ranks count from the end.
    Pareto {
        /// Skew, between 0 and 1, exclusive.
        h: f64,
    },
    /// A normal distribution over the ranks, with the middle rank as its mean and a twelfth of the ranks as its standard
    /// deviation, plus an even distribution around 0. As measured in fio 3.42.
    Normal {
        /// Width of the even distribution in per cent of the range, from 0 to 50.
        widening: f64,
    },
}

/// A part of a file and its share of the I/O.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneShare {
    /// Share of the I/O in per cent.
    pub share: u8,
    /// Size of the part.
    pub size: ZoneSize,
}

/// How large a zone of `zoned` or `zoned_abs` is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZoneSize {
    /// Size in per cent of the file.
    Percent(f64),
    Bytes(Bytes),
}

/// `zonemode=strided`: the sizes of the strides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strided {
    /// `zonesize`: bytes to transfer in a zone before the job moves to the next one.
    pub transfer: Bytes,
    /// `zonerange`: length of a zone in bytes; `zonesize` by default.
    pub range: Bytes,
    /// `zoneskip`: distance between the end of a zone and the start of the next one.
    pub skip: ZoneSkip,
}

/// `zoneskip`: the distance between two zones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZoneSkip {
    /// Distance in bytes.
    Bytes(Bytes),
    /// Distance in per cent of the region that the job uses.
    Percent(f64),
}
