//! How offsets are spread over a file.

/// `random_distribution`. Everything but [`Distribution::Even`] draws without a map.
#[derive(Debug, Clone, PartialEq)]
pub enum Distribution {
    /// Every block alike.
    Even,
    /// Few blocks get most.
    Skewed(Skew),
    /// Shares of the I/O to parts of a file, by direction; an empty list spreads evenly.
    Zoned([Vec<ZoneShare>; 3]),
    /// These block numbers over and over.
    Sequence {
        /// Block numbers.
        blocks: Vec<u64>,
        /// `random_sequence_stride`: each round begins so many blocks further on as it has numbers.
        stride: bool,
    },
}

/// A closed-form law over ranks `1 ..= n`, and where the first one lies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    /// The law.
    pub law: Law,
    /// Where the hottest block (the middle of the bell) lies, as a share of the range; `None`:
    /// wherever the seed puts it.
    pub centre: Option<f64>,
}

/// Who gets how much.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// Rank `k` gets a share proportional to `k^-theta`.
    Zipf {
        /// 0 or more, not 1.
        theta: f64,
    },
    /// Self-similar (Gray et al., "Quickly generating billion-record synthetic databases", 1994):
    /// the first `x` of the data get `x^(ln(1-h) / ln h)` of the I/O, so that with `h` below one
    /// half a share `h` of the data gets `1 - h` of the I/O. Above one half it is the last `1 - h`
    /// of the data that get `h`; the ranks are counted from there.
    Pareto {
        /// Between 0 and 1, exclusive.
        h: f64,
    },
    /// A bell around the centre, cut off at the ends of the range.
    Normal {
        /// Standard deviation in per cent of the range; at least one block.
        deviation: f64,
    },
}

/// A part of a file and what it gets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ZoneShare {
    /// Share of the I/O in per cent.
    pub share: u8,
    /// How much of the file.
    pub size: ZoneSize,
}

/// How large a zone of `zoned` or `zoned_abs` is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZoneSize {
    /// In per cent of the file.
    Percent(f64),
    /// In bytes.
    Bytes(u64),
}

/// `zonemode=strided`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Strided {
    /// `zonesize`: bytes to transfer in a zone.
    pub transfer: u64,
    /// `zonerange`: bytes of a zone, `zonesize` when it is not set.
    pub range: u64,
    /// `zoneskip`: bytes between two zones.
    pub skip: ZoneSkip,
}

/// `zoneskip`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ZoneSkip {
    /// In bytes.
    Bytes(u64),
    /// In per cent of the part of the file that is used.
    Percent(f64),
}
