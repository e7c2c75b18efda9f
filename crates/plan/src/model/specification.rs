//! What a maker states of a device.

use super::{Dir, Load};

/// One stated number.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// What it is about.
    pub pattern: Pattern,
    /// I/Os or bytes a second.
    pub value: f64,
    /// Bytes, not I/Os.
    pub bytes: bool,
}

/// The kinds of load that makers state numbers of; the words of `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential, mixed: the sum.
    Mixed,
    /// Random, mixed: the sum.
    RandMixed,
}

impl Pattern {
    /// All of them.
    pub const ALL: [Pattern; 6] = [
        Pattern::Read,
        Pattern::Write,
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::Mixed,
        Pattern::RandMixed,
    ];

    /// As it is written.
    pub const fn word(self) -> &'static str {
        match self {
            Pattern::Read => "read",
            Pattern::Write => "write",
            Pattern::RandRead => "randread",
            Pattern::RandWrite => "randwrite",
            Pattern::Mixed => "rw",
            Pattern::RandMixed => "randrw",
        }
    }

    /// Whether a load is of this kind.
    pub fn fits(self, load: &Load) -> bool {
        let (read, write) = (load.mix.has(Dir::Read), load.mix.has(Dir::Write));
        let trim = load.mix.has(Dir::Trim);
        let (random, wants) = match self {
            Pattern::Read => (false, (true, false)),
            Pattern::Write => (false, (false, true)),
            Pattern::RandRead => (true, (true, false)),
            Pattern::RandWrite => (true, (false, true)),
            Pattern::Mixed => (false, (true, true)),
            Pattern::RandMixed => (true, (true, true)),
        };
        !trim && random == load.random && wants == (read, write)
    }
}
