//! Requirements of direct and atomic I/O on a file, from `statx(2)`.

use std::os::fd::AsFd;

use fiord_types::Bytes;
use rustix::fs::{AtFlags, IFlags, Statx, StatxFlags, ioctl_getflags};
use rustix::io::Errno;

use crate::Result;
use crate::error::Named;

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
    let Some(facts) = statx(file, StatxFlags::DIOALIGN)? else { return Ok(None) };
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
    const STATX_WRITE_ATOMIC: StatxFlags = StatxFlags::from_bits_retain(0x10000);
    let facts = statx(file, STATX_WRITE_ATOMIC)?;
    Ok(facts.filter(|facts| facts.stx_atomic_write_unit_max != 0).map(|facts| AtomicLimits {
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
    let flags = ioctl_getflags(file).op("FS_IOC_GETFLAGS")?;
    Ok(flags.contains(IFlags::NOCOW))
}

/// Reads these fields. `None` if the kernel or the file system does not report them.
fn statx(file: impl AsFd, fields: StatxFlags) -> Result<Option<Statx>> {
    match rustix::fs::statx(file, c"", AtFlags::EMPTY_PATH, fields) {
        Ok(facts) => Ok(Some(facts).filter(|facts| facts.stx_mask & fields.bits() != 0)),
        // Before Linux 4.11.
        Err(Errno::NOSYS) => Ok(None),
        Err(errno) => Err(errno).op("statx"),
    }
}
