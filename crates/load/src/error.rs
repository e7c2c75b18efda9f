//! Errors of creating a load.

use fiord_types::Bytes;
use thiserror::Error;

/// Why a source or a content cannot be created from a plan.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LoadError {
    /// The job has no file.
    #[error("the job has no file. To fix: set `filename`, or `size` and `directory`")]
    NoFile,
    /// A block size is 0.
    #[error("the block size is 0. To fix: set `bs` to at least 1")]
    NoBlockSize,
    /// No file holds a single block, so there is nothing to do. This is not a mistake of the user:
    /// fio, too, ends such a job at once and reports success.
    #[error("no file holds a block: there is nothing to do")]
    NothingFits,
    /// No file holds a block of one of the directions.
    #[error(
        "a region of {len} bytes holds no block of {block} bytes. To fix: make `size` at least {block}, or `bs` smaller"
    )]
    TooSmall {
        /// Length of the largest file region.
        len: Bytes,
        /// Length of a block in bytes.
        block: u32,
    },
    /// There is not enough memory to remember the blocks of a region that become stale
    /// (`sprandom`).
    #[error(
        "`sprandom` needs {bytes} bytes of memory for the blocks of a region that become stale. To fix: make `spr_num_regions` larger"
    )]
    SpRandomMemory {
        /// Number of bytes needed.
        bytes: u64,
    },
    /// There is not enough memory to remember which write each block contains (`verify`).
    #[error(
        "`verify` needs {} bytes of memory to remember what it wrote to each block of {} bytes: {source}. To fix: make `size` smaller, or `bs` larger",
        .bytes.0, .granule.0
    )]
    WriteMapMemory {
        /// Number of bytes needed.
        bytes: Bytes,
        /// Number of bytes of the target for each byte of memory.
        granule: Bytes,
        /// Why the memory is not available.
        source: fiord_sys::Error,
    },
    /// The caller did not read a file that `buffer_pattern` names.
    #[error("the file `{0}` of `buffer_pattern` was not read")]
    PatternFile(String),
    /// The pattern has no bytes, because the files that it names are empty.
    #[error(
        "`buffer_pattern` holds no bytes. To fix: name a file that is not empty, or give a pattern"
    )]
    NoPattern,
}
