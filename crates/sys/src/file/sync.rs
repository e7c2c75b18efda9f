//! Writing cached data to the medium.

use std::os::fd::{AsFd, AsRawFd};

use fiord_types::Bytes;
use rustix::fs;

use super::allocate::within_signed;
use crate::Result;
use crate::error::{Named, check, retry};

/// Writes data and metadata of a file to the medium (`fsync(2)`).
///
/// # Errors
/// Errors of `fsync(2)`.
pub fn fsync(file: impl AsFd) -> Result<()> {
    retry(|| fs::fsync(&file).op("fsync"))
}

/// Writes the data of a file, and the metadata needed to read it back, to the medium
/// (`fdatasync(2)`).
///
/// # Errors
/// Errors of `fdatasync(2)`.
pub fn fdatasync(file: impl AsFd) -> Result<()> {
    retry(|| fs::fdatasync(&file).op("fdatasync"))
}

/// Writes all dirty data of the file system that holds `file` (`syncfs(2)`). Linux reports
/// write-back errors since 5.8.
///
/// # Errors
/// Errors of `syncfs(2)`.
pub fn sync_file_system(file: impl AsFd) -> Result<()> {
    retry(|| fs::syncfs(&file).op("syncfs"))
}

/// Steps of `sync_file_range(2)`; the values of `sync_file_range=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RangeSync {
    /// Wait for write-out that is in progress before starting new (`wait_before`).
    pub wait_before: bool,
    /// Start write-out of dirty pages (`write`).
    pub write: bool,
    /// Wait for the new write-out (`wait_after`).
    pub wait_after: bool,
}

impl RangeSync {
    /// Returns the flags as the kernel and `io_uring` take them.
    #[must_use]
    pub fn bits(self) -> u32 {
        let mut bits = 0;
        if self.wait_before {
            bits |= libc::SYNC_FILE_RANGE_WAIT_BEFORE;
        }
        if self.write {
            bits |= libc::SYNC_FILE_RANGE_WRITE;
        }
        if self.wait_after {
            bits |= libc::SYNC_FILE_RANGE_WAIT_AFTER;
        }
        bits
    }
}

/// Writes out a range of a file with `sync_file_range(2)`. Does not write metadata and does not flush
/// the drive's cache. A length of 0 means to the end of the file.
///
/// # Errors
/// Errors of `sync_file_range(2)`; `EFBIG` if a number exceeds the kernel's signed offset.
pub fn sync_range(file: impl AsFd, offset: Bytes, length: Bytes, how: RangeSync) -> Result<()> {
    let op = "sync_file_range";
    let offset = within_signed(op, offset)?.cast_signed();
    let length = within_signed(op, length)?.cast_signed();
    let fd = file.as_fd().as_raw_fd();
    retry(|| {
        // SAFETY: integers only; the descriptor is open while borrowed.
        check(op, unsafe { libc::sync_file_range(fd, offset, length, how.bits()) }).map(drop)
    })
}
