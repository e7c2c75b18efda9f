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
    /// No file holds a single block: there is nothing to do, which is no mistake. fio, too, ends such
    /// a job at once and well.
    #[error("no file holds a block: there is nothing to do")]
    NothingFits,
    /// No file holds a block of one of the directions.
    #[error(
        "a region of {len} bytes holds no block of {block} bytes: make `size` at least {block}, or `bs` smaller"
    )]
    TooSmall {
        /// Bytes of the region.
        len: u64,
        /// Bytes of a block.
        block: u32,
    },
    /// `sprandom` remembers the blocks of a region that become stale.
    #[error(
        "`sprandom` needs {bytes} bytes of memory for the blocks of a region that become stale: make `spr_num_regions` larger"
    )]
    SpRandomMemory {
        /// Bytes.
        bytes: u64,
    },
    /// A file of `buffer_pattern` that the caller has not read.
    #[error("the file `{0}` of `buffer_pattern` was not read")]
    PatternFile(String),
    /// A pattern of no bytes: its files are empty.
    #[error("`buffer_pattern` holds no bytes: name a file that is not empty, or give a pattern")]
    NoPattern,
}
