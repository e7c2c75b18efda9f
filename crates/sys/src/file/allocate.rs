//! Giving a file its size and its blocks.

use std::os::fd::{AsFd, AsRawFd};

use crate::error::{check, retry};
use crate::{Error, Result};

/// How to allocate, by the words of `fallocate=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preallocate {
    /// Not at all.
    None,
    /// `fallocate(2)` with mode 0; where the file system has none, nothing.
    Native,
    /// `posix_fallocate(3)`: writes a byte into each block where the file system has no call.
    Posix,
    /// `fallocate(2)` keeping the file's size.
    Keep,
    /// `ftruncate(2)`: size without blocks.
    Truncate,
}

/// Allocates `offset..offset+length`. Returns whether anything was done: `false` for
/// [`Preallocate::None`], and for [`Preallocate::Native`] where the file system cannot.
///
/// [`Preallocate::Truncate`] only ever extends the file, to `offset + length`.
pub fn allocate(file: impl AsFd, how: Preallocate, offset: u64, length: u64) -> Result<bool> {
    let fd = file.as_fd().as_raw_fd();
    let (start, len) = (signed("fallocate", offset)?, signed("fallocate", length)?);
    if length == 0 {
        return Ok(false);
    }
    match how {
        Preallocate::None => return Ok(false),
        Preallocate::Native => {
            // SAFETY: integers only; the descriptor is open while borrowed.
            match retry("fallocate", || unsafe { libc::fallocate(fd, 0, start, len) }) {
                Err(error) if unsupported(error.errno) => return Ok(false),
                other => other?,
            };
        }
        Preallocate::Posix => {
            // SAFETY: as above. The errno is the result, not -1.
            match unsafe { libc::posix_fallocate(fd, start, len) } {
                0 => {}
                errno => return Err(Error::new("posix_fallocate", errno)),
            }
        }
        Preallocate::Keep => {
            let mode = libc::FALLOC_FL_KEEP_SIZE;
            let op = "fallocate FALLOC_FL_KEEP_SIZE";
            // SAFETY: as above.
            retry(op, || unsafe { libc::fallocate(fd, mode, start, len) })?;
        }
        Preallocate::Truncate => {
            let end = offset.saturating_add(length);
            if super::facts_of(&file)?.size < end {
                truncate(&file, end)?;
            }
        }
    }
    Ok(true)
}

fn unsupported(errno: i32) -> bool {
    matches!(errno, libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL | libc::ENODEV)
}

/// Sets the size of a file, in bytes; what is added reads as zeroes and has no blocks.
pub fn truncate(file: impl AsFd, size: u64) -> Result<()> {
    let size = signed("ftruncate", size)?;
    // SAFETY: integers only; the descriptor is open while borrowed.
    retry("ftruncate", || unsafe { libc::ftruncate(file.as_fd().as_raw_fd(), size) }).map(drop)
}

/// A byte count as the kernel's signed offset; what does not fit is `EFBIG`.
pub(super) fn signed(op: &'static str, bytes: u64) -> Result<i64> {
    check(op, i64::try_from(bytes).unwrap_or(-1)).map_err(|_| Error::new(op, libc::EFBIG))
}
