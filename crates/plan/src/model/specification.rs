//! `spec`: the numbers of a device's data sheet.

use fiord_types::Dir;

use super::Load;

/// One number of a data sheet.
#[derive(Debug, Clone, PartialEq)]
pub struct Stated {
    /// The workload that the number is for.
    pub pattern: Pattern,
    /// I/Os or bytes per second.
    pub value: f64,
    /// `value` is in bytes per second, not I/Os per second.
    pub bytes: bool,
}

/// The workloads that data sheets have numbers for, named like the values of `rw`.
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
    /// Sequential reads and writes; the number is their sum.
    Mixed,
    /// Random reads and writes; the number is their sum.
    RandMixed,
}

impl Pattern {
    pub const ALL: [Pattern; 6] = [
        Pattern::Read,
        Pattern::Write,
        Pattern::RandRead,
        Pattern::RandWrite,
        Pattern::Mixed,
        Pattern::RandMixed,
    ];

    /// The pattern as the option `spec` spells it.
    #[must_use]
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

    /// Whether a workload has this pattern.
    #[must_use]
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
