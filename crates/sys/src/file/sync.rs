//! Getting written data onto the medium.

use std::os::fd::{AsFd, AsRawFd};

use super::allocate::signed;
use crate::Result;
use crate::error::retry;

/// `fsync(2)`: data and metadata.
pub fn fsync(file: impl AsFd) -> Result<()> {
    // SAFETY: the descriptor is open while borrowed.
    retry("fsync", || unsafe { libc::fsync(file.as_fd().as_raw_fd()) }).map(drop)
}

/// `fdatasync(2)`: data and the metadata needed to read it back.
pub fn fdatasync(file: impl AsFd) -> Result<()> {
    // SAFETY: the descriptor is open while borrowed.
    retry("fdatasync", || unsafe { libc::fdatasync(file.as_fd().as_raw_fd()) }).map(drop)
}

/// `syncfs(2)`: everything dirty on the file system that holds `file`. Errors of the write-back
/// are reported since Linux 5.8.
pub fn sync_file_system(file: impl AsFd) -> Result<()> {
    // SAFETY: the descriptor is open while borrowed.
    retry("syncfs", || unsafe { libc::syncfs(file.as_fd().as_raw_fd()) }).map(drop)
}

/// What `sync_file_range(2)` does; the words of `sync_file_range=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RangeSync {
    /// Wait for write-out that is under way before starting new (`wait_before`).
    pub wait_before: bool,
    /// Start write-out of dirty pages (`write`).
    pub write: bool,
    /// Wait for it (`wait_after`).
    pub wait_after: bool,
}

impl RangeSync {
    /// The flags as the kernel (and `io_uring`) takes them.
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

/// `sync_file_range(2)`. Gives no promise about metadata or the drive's cache. A length of 0
/// means to the end of the file.
pub fn sync_range(file: impl AsFd, offset: u64, length: u64, how: RangeSync) -> Result<()> {
    let op = "sync_file_range";
    let (offset, length) = (signed(op, offset)?, signed(op, length)?);
    let fd = file.as_fd();
    // SAFETY: integers only; the descriptor is open while borrowed.
    retry(op, || unsafe { libc::sync_file_range(fd.as_raw_fd(), offset, length, how.bits()) })
        .map(drop)
}
