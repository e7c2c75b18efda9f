//! Requirements of direct and atomic I/O on a file, from `statx(2)`.

use std::os::fd::{AsFd, AsRawFd};

use fiord_types::Bytes;

use crate::Result;
use crate::error::check;

/// The alignment that direct I/O requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirectLimits {
    /// Alignment of buffers in memory.
    pub memory: Bytes,
    /// Alignment of offsets and lengths.
    pub offset: Bytes,
}

/// The sizes that atomic writes may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtomicLimits {
    /// The smallest size.
    pub unit_min: Bytes,
    /// The largest size.
    pub unit_max: Bytes,
    /// The largest number of segments of one write.
    pub segments_max: u32,
}

/// Returns the requirements of direct I/O: `None` if the file system (or a kernel before 6.1) does
/// not report them, `Some(None)` if direct I/O is not possible on this file.
///
/// # Errors
/// Errors of `statx(2)`.
pub fn direct_limits(file: impl AsFd) -> Result<Option<Option<DirectLimits>>> {
    let facts = statx(file, libc::STATX_DIOALIGN)?;
    if facts.stx_mask & libc::STATX_DIOALIGN == 0 {
        return Ok(None);
    }
    let size = |bytes: u32| Bytes(bytes.into());
    let limits = DirectLimits {
        memory: size(facts.stx_dio_mem_align),
        offset: size(facts.stx_dio_offset_align),
    };
    Ok(Some((limits.offset != Bytes::ZERO).then_some(limits)))
}

/// Returns the limits of atomic writes: `None` if the file supports none (or before Linux 6.11).
///
/// # Errors
/// Errors of `statx(2)`.
pub fn atomic_limits(file: impl AsFd) -> Result<Option<AtomicLimits>> {
    let facts = statx(file, libc::STATX_WRITE_ATOMIC)?;
    if facts.stx_mask & libc::STATX_WRITE_ATOMIC == 0 || facts.stx_atomic_write_unit_max == 0 {
        return Ok(None);
    }
    Ok(Some(AtomicLimits {
        unit_min: Bytes(facts.stx_atomic_write_unit_min.into()),
        unit_max: Bytes(facts.stx_atomic_write_unit_max.into()),
        segments_max: facts.stx_atomic_write_segments_max,
    }))
}

/// Whether a file is overwritten in place and without checksums on a file system that copies on write
/// by default (btrfs, `chattr +C`): `FS_NOCOW_FL` of `FS_IOC_GETFLAGS` (`linux/fs.h`).
///
/// # Errors
/// Errors of `FS_IOC_GETFLAGS` (`ioctl_iflags(2)`); `ENOTTY` if the file system has no such flags.
pub fn is_nocow(file: impl AsFd) -> Result<bool> {
    const FS_NOCOW_FL: libc::c_long = 0x0080_0000;
    let mut flags: libc::c_long = 0;
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the kernel writes an int, and a `long` (the type that the request number encodes) has room.
    let rc = unsafe { libc::ioctl(fd, libc::FS_IOC_GETFLAGS, &mut flags) };
    check("FS_IOC_GETFLAGS", rc)?;
    Ok(flags & FS_NOCOW_FL != 0)
}

fn statx(file: impl AsFd, mask: u32) -> Result<libc::statx> {
    // SAFETY: `statx` is a C struct of integers, for which all zeroes is a value.
    let mut facts: libc::statx = unsafe { std::mem::zeroed() };
    let fd = file.as_fd().as_raw_fd();
    // SAFETY: the empty path is NUL-terminated, `facts` is writable, the descriptor is open.
    let rc = unsafe { libc::statx(fd, c"".as_ptr(), libc::AT_EMPTY_PATH, mask, &raw mut facts) };
    check("statx", rc)?;
    Ok(facts)
}
