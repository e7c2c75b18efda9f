//! Why a job's load cannot be made.

use thiserror::Error;

/// Why a source or a content cannot be made from a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// No file to work on.
    #[error("the job has no file: set `filename`, or `size` and `directory`")]
    NoFile,
    /// A block size of 0.
    #[error("the block size is 0: set `bs` to at least 1")]
    NoBlockSize,
    /// No file holds a single block.
    #[error(
        "a region of {len} bytes holds no block of {block} bytes: make `size` at least {block}, or `bs` smaller"
    )]
    TooSmall {
        /// Bytes of the region.
        len: u64,
        /// Bytes of a block.
        block: u32,
    },
    /// Not built yet.
    #[error("this combination of `rw`, block size, file and buffer options is not supported yet")]
    NotBuilt,
}
