//! Values after validation: what an option was set to, still in the terms of the job file.

/// The bases that decide what `k` and `Ki` mean; see `kb_base` and `unit_base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bases {
    /// 1024 (the default: `k` and `ki`… swapped, as fio documents) or 1000 (SI).
    pub kb: u32,
}

impl Default for Bases {
    fn default() -> Self {
        Bases { kb: 1024 }
    }
}

/// A size that may depend on something that only the plan knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// A share of the file or device, in per cent (may exceed 100 for `io_size`).
    Percent(f64),
    /// Whole zones of a zoned device.
    Zones(u64),
}

/// A part of a buffer or verify pattern, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The I/O's offset as 8 little-endian bytes (`%o`).
    Offset,
    /// The content of this file.
    File(String),
}

/// A validated value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `Switch` and `Bool`.
    Flag(bool),
    /// `Text`.
    Text(String),
    /// `Int`.
    Int(i128),
    /// `Ints`: read, write, trim; `None` where a comma left the place to the default.
    Ints([Option<i128>; 3]),
    /// `Amount`.
    Amount(Amount),
    /// `Time`, nanoseconds.
    Time(u64),
    /// A time or a range of times, nanoseconds (`startdelay=5-10`).
    TimeRange(u64, u64),
    /// `Floats`.
    Floats(Vec<f64>),
    /// `Ranges`: read, write, trim; bytes, inclusive; filled as `Ints`.
    Ranges([Option<(u64, u64)>; 3]),
    /// One range of bytes, inclusive (`filesize=1k-4m`).
    Range(u64, u64),
    /// `Words`: the word (never an alias) and what followed its colon.
    Word(&'static str, Option<String>),
    /// `WordList`.
    Words(Vec<(&'static str, Option<String>)>),
    /// `bssplit`: for read, write and trim (block size in bytes, weight in per cent; the weights of
    /// one direction add up to 100 or are all equal shares of what was left open).
    Splits([Vec<(u64, u8)>; 3]),
    /// CPU numbers or NUMA nodes, ascending, without repeats.
    Set(Vec<u32>),
    /// `buffer_pattern`, `verify_pattern`.
    Pattern(Vec<PatternPart>),
    /// File or directory names by colons, unescaped.
    Paths(Vec<String>),
}

/// Why a text is no value of an option. The caller adds where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong, as a clause: "`x7` is not a number".
    pub what: String,
    /// What would be right: "write a size such as `4k`".
    pub help: Option<String>,
    /// The part of the text that is wrong, as a byte range in it.
    pub span: Option<(usize, usize)>,
}
