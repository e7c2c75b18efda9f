//! Setting the size of a file and allocating its blocks.

use std::os::fd::{AsFd, AsRawFd};

use fiord_types::{Bytes, Errno};
use rustix::fs::{self, FallocateFlags};

use crate::error::{Named, retry};
use crate::{Error, Result};

/// How to allocate; the values of `fallocate=`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preallocate {
    /// Allocate nothing.
    None,
    /// `fallocate(2)` with mode 0; nothing if the file system does not support it.
    Native,
    /// `posix_fallocate(3)`, which writes a byte to each block if the file system has no such call.
    Posix,
    /// `fallocate(2)` without changing the file's size.
    Keep,
    /// `ftruncate(2)`: sets the size, allocates no blocks.
    Truncate,
}

/// Allocates `length` from `offset` on. Returns whether it did anything: `false` for
/// [`Preallocate::None`], for a length of 0, and for [`Preallocate::Native`] if the file system does
/// not support it.
///
/// [`Preallocate::Truncate`] only extends the file, to `offset + length`; it never shortens it.
///
/// # Errors
/// `EFBIG` if a number exceeds the kernel's signed offset or a file size limit; `ENOSPC` if the
/// file system is full; `EOPNOTSUPP` for [`Preallocate::Keep`] if the file system does not support
/// it.
pub fn allocate(file: impl AsFd, how: Preallocate, offset: Bytes, length: Bytes) -> Result<bool> {
    let (start, len) = (within_signed("fallocate", offset)?, within_signed("fallocate", length)?);
    if length == Bytes::ZERO {
        return Ok(false);
    }
    match how {
        Preallocate::None => return Ok(false),
        Preallocate::Native => {
            let mode = FallocateFlags::empty();
            match retry(|| fs::fallocate(&file, mode, start, len).op("fallocate")) {
                Err(error) if unsupported(error.errno) => return Ok(false),
                other => other?,
            }
        }
        Preallocate::Posix => {
            let (fd, start, len) = (file.as_fd(), start.cast_signed(), len.cast_signed());
            // SAFETY: integers only; the descriptor is open while borrowed. The function returns the errno instead of -1.
            match unsafe { libc::posix_fallocate(fd.as_raw_fd(), start, len) } {
                0 => {}
                errno => return Err(Error::new("posix_fallocate", Errno::from_raw(errno))),
            }
        }
        Preallocate::Keep => {
            let (op, mode) = ("fallocate FALLOC_FL_KEEP_SIZE", FallocateFlags::KEEP_SIZE);
            retry(|| fs::fallocate(&file, mode, start, len).op(op))?;
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

fn unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::EOPNOTSUPP | Errno::ENOSYS | Errno::EINVAL | Errno::ENODEV)
}

/// Sets the size of a file. The added part reads as zeroes and has no blocks.
///
/// # Errors
/// Errors of `ftruncate(2)`; `EFBIG` if the size exceeds the kernel's signed offset.
pub fn truncate(file: impl AsFd, size: Bytes) -> Result<()> {
    let size = within_signed("ftruncate", size)?;
    retry(|| fs::ftruncate(&file, size).op("ftruncate"))
}

/// Returns a number of bytes; `EFBIG` if it exceeds the kernel's signed offset.
pub(super) fn within_signed(op: &'static str, bytes: Bytes) -> Result<u64> {
    let fits = i64::try_from(bytes.0).is_ok();
    if fits { Ok(bytes.0) } else { Err(Error::new(op, Errno::EFBIG)) }
}
