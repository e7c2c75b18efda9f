//! Where a file has data.

use std::os::fd::{AsFd, AsRawFd};

use super::allocate::signed;
use crate::Result;
use crate::error::check;

/// The first byte at or after `offset` that may hold data (`SEEK_DATA`); `None` if only a hole
/// follows. Unwritten (preallocated) extents count as holes on ext4, XFS and btrfs. A file system
/// without support calls everything data.
///
/// Moves the descriptor's file position.
pub fn next_data(file: impl AsFd, offset: u64) -> Result<Option<u64>> {
    seek("lseek SEEK_DATA", file, offset, libc::SEEK_DATA)
}

/// The first byte at or after `offset` that lies in a hole (`SEEK_HOLE`); the end of the file
/// counts as one. `None` at or after the end of the file.
///
/// Moves the descriptor's file position.
pub fn next_hole(file: impl AsFd, offset: u64) -> Result<Option<u64>> {
    seek("lseek SEEK_HOLE", file, offset, libc::SEEK_HOLE)
}

/// Bytes of `from..to` that may hold data, by [`next_data`] and [`next_hole`]. `None` when they lie
/// in more than `most` pieces: counting them would take long.
///
/// Moves the descriptor's file position.
pub fn data_bytes(file: impl AsFd, from: u64, to: u64, most: usize) -> Result<Option<u64>> {
    let mut bytes = 0;
    let mut at = from;
    for _ in 0..most {
        let Some(data) = next_data(&file, at)?.filter(|data| *data < to) else {
            return Ok(Some(bytes));
        };
        let hole = next_hole(&file, data)?.unwrap_or(to).min(to);
        bytes += hole.saturating_sub(data);
        if hole >= to {
            return Ok(Some(bytes));
        }
        at = hole;
    }
    Ok(None)
}

fn seek(op: &'static str, file: impl AsFd, offset: u64, whence: i32) -> Result<Option<u64>> {
    let offset = signed(op, offset)?;
    // SAFETY: integers only; the descriptor is open while borrowed.
    let at = check(op, unsafe { libc::lseek(file.as_fd().as_raw_fd(), offset, whence) });
    match at {
        Ok(at) => Ok(Some(at as u64)),
        Err(error) if error.errno == libc::ENXIO => Ok(None),
        Err(error) => Err(error),
    }
}
