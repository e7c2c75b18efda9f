//! The contents of write buffers.

use fiord_job::option::value::PatternPart;
use fiord_types::Bytes;

/// How a job fills its write buffers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContentPlan {
    /// Zeros (`zero_buffers`).
    Zero,
    /// Random bytes, filled in once per buffer and changed in a few places before each write.
    Scramble,
    /// Random bytes, filled in once per buffer and never changed (`scramble_buffers=0`).
    Fixed,
    /// New random bytes for each write (`refill_buffers`).
    Refill,
    /// A repeated pattern (`buffer_pattern`).
    Pattern(Vec<PatternPart>),
    /// New contents for each write, with a compressible share, a share of duplicates, or both.
    Shaped(Shape),
}

/// Contents that a storage system can compress or deduplicate by a given share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The compressible share of every block. `None`: not compressible.
    pub compress: Option<Compress>,
    /// The share of duplicate blocks. `None`: no duplicates.
    pub dedupe: Option<Dedupe>,
}

/// The compressible share of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compress {
    /// `buffer_compress_percentage`: the compressible share in per cent, 1 to 100.
    pub percent: u8,
    /// `buffer_compress_chunk`: length in bytes of a chunk; each chunk has a random and a
    /// compressible part. 0: the whole block is one chunk.
    pub chunk: Bytes,
    /// `buffer_pattern`: the pattern that fills the compressible bytes. Empty: zeros.
    pub pattern: Vec<PatternPart>,
}

/// The share of duplicate blocks in the data that a job writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedupe {
    /// `dedupe_percentage`: the share of duplicates in per cent, 1 to 100.
    pub percent: u8,
    /// `dedupe_working_set_percentage`: the share of blocks, in per cent, that duplicates are
    /// copies of, with `dedupe_mode=working_set`. `None`: `dedupe_mode=repeat`.
    pub working_set: Option<u8>,
    /// `dedupe_global`: all jobs with this option repeat the same blocks.
    pub global: bool,
    /// The number of 4 KiB blocks that the job writes at most; with `global` the sum over all jobs
    /// that share blocks.
    pub blocks: u64,
}
