//! What the bytes of a write are.

use fiord_job::option::value::PatternPart;

/// What the bytes of a write are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All zero.
    Zero,
    /// Random once per buffer, then made different in a few places before each write.
    Scramble,
    /// Random once per buffer and left so (`scramble_buffers=0`).
    Fixed,
    /// New random bytes for each write.
    Refill,
    /// A pattern, repeated.
    Pattern(Vec<PatternPart>),
    /// New for each write, with a share that compresses, a share that comes twice, or both.
    Shaped(Shape),
}

/// Contents that storage can make smaller by a given share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What a compressor can take away of every block.
    pub compress: Option<Compress>,
    /// Which blocks come again.
    pub dedupe: Option<Dedupe>,
}

/// Contents that compress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compress {
    /// `buffer_compress_percentage`, 1 to 100.
    pub percent: u8,
    /// `buffer_compress_chunk`: bytes in which random and compressible ones alternate; 0: the whole
    /// block.
    pub chunk: u32,
    /// `buffer_pattern`, which the compressible bytes are made of; empty: zeros.
    pub pattern: Vec<PatternPart>,
}

/// Contents that come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedupe {
    /// `dedupe_percentage`, 1 to 100.
    pub percent: u8,
    /// `dedupe_working_set_percentage` with `dedupe_mode=working_set`; `None`: `repeat`.
    pub working_set: Option<u8>,
    /// `dedupe_global`: other jobs repeat the same blocks.
    pub global: bool,
    /// How many blocks of 4 KiB will be there in the end: of this job, or of all that share its
    /// blocks.
    pub blocks: u64,
}
