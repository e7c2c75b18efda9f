//! Data and holes of a file.

use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use fiord_types::{Bytes, Errno};
use rustix::fs::{SeekFrom, seek};

use super::allocate::within_signed;
use crate::Result;
use crate::error::{Named, check};

/// Returns the first byte at or after `offset` that may hold data (`SEEK_DATA` of `lseek(2)`);
/// `None` if only a hole follows. Unwritten (preallocated) extents count as holes on ext4, XFS and
/// btrfs. A file system without support reports everything as data.
///
/// Moves the descriptor's file position.
///
/// # Errors
/// Errors of `lseek(2)`; `EFBIG` if the offset exceeds the kernel's signed offset.
pub fn next_data(file: impl AsFd, offset: Bytes) -> Result<Option<Bytes>> {
    find("lseek SEEK_DATA", file, offset, SeekFrom::Data)
}

/// Returns the first byte at or after `offset` that lies in a hole (`SEEK_HOLE` of `lseek(2)`); the
/// end of the file counts as a hole. `None` at or after the end of the file.
///
/// Moves the descriptor's file position.
///
/// # Errors
/// Errors of `lseek(2)`; `EFBIG` if the offset exceeds the kernel's signed offset.
pub fn next_hole(file: impl AsFd, offset: Bytes) -> Result<Option<Bytes>> {
    find("lseek SEEK_HOLE", file, offset, SeekFrom::Hole)
}

/// Returns the parts of `from..to` that may hold data, in order, with [`next_data`] and [`next_hole`]. `None` if there
/// are more than `most`, because listing them would take long.
///
/// Moves the descriptor's file position.
///
/// # Errors
/// Errors of [`next_data`].
pub fn data_parts(
    file: impl AsFd,
    from: Bytes,
    to: Bytes,
    most: usize,
) -> Result<Option<Vec<Range<Bytes>>>> {
    let mut parts = Vec::new();
    let mut at = from;
    for _ in 0..most {
        let Some(data) = next_data(&file, at)?.filter(|data| *data < to) else {
            return Ok(Some(parts));
        };
        at = next_hole(&file, data)?.unwrap_or(to).min(to);
        parts.push(data..at);
        if at >= to {
            return Ok(Some(parts));
        }
    }
    Ok(None)
}

/// Returns the parts of `from..to` of a file that were written, in order; adjacent parts are merged.
/// Space that is allocated but not written is left out, even if its pages are cached (`SEEK_DATA`
/// counts those as data). If the file system lists no extents, [`next_data`] is used instead, and
/// unwritten space may be included.
///
/// First writes back what the page cache holds of the file. Moves the descriptor's file position.
///
/// # Errors
/// Errors of `fstat(2)`, `FS_IOC_FIEMAP` and [`next_data`].
pub fn written(file: impl AsFd, from: Bytes, to: Bytes) -> Result<Vec<Range<Bytes>>> {
    let mut parts: Vec<Range<Bytes>> = Vec::new();
    let mut add = |part: Range<Bytes>| match parts.last_mut() {
        _ if part.is_empty() => {}
        Some(last) if last.end == part.start => last.end = part.end,
        _ => parts.push(part),
    };
    // Extents end at block boundaries; the file may end earlier.
    let to = to.min(super::facts_of(&file)?.size);
    let mut at = from;
    while at < to {
        let extents = match Extents::of(&file, at, to - at) {
            Err(e) if [Errno::EOPNOTSUPP, Errno::ENOTTY, Errno::EINVAL].contains(&e.errno) => {
                let Some(data) = next_data(&file, at)?.filter(|data| *data < to) else { break };
                at = next_hole(&file, data)?.unwrap_or(to).min(to);
                add(data..at);
                continue;
            }
            other => other?,
        };
        for extent in extents.list() {
            let start = Bytes(extent.logical);
            let end = start.saturating_add(Bytes(extent.length)).min(to);
            if extent.flags & EXTENT_UNWRITTEN == 0 {
                add(start.max(at)..end);
            }
        }
        match extents.list().last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => at = Bytes(last.logical + last.length),
            _ => break,
        }
    }
    Ok(parts)
}

/// `FS_IOC_FIEMAP` of `linux/fs.h`: `_IOWR('f', 11, struct fiemap)`.
const FS_IOC_FIEMAP: u64 = 0xc020_660b;
/// `FIEMAP_FLAG_SYNC`, `FIEMAP_EXTENT_LAST`, `FIEMAP_EXTENT_UNWRITTEN` of `linux/fiemap.h`.
const FLAG_SYNC: u32 = 1;
const EXTENT_LAST: u32 = 1;
const EXTENT_UNWRITTEN: u32 = 0x800;

/// `struct fiemap_extent` of `linux/fiemap.h`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

/// `struct fiemap` of `linux/fiemap.h`, with room for 64 extents.
#[repr(C)]
#[derive(Debug)]
struct Extents {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; 64],
}

impl Extents {
    /// Reads the first extents of a range.
    fn of(file: impl AsFd, start: Bytes, length: Bytes) -> Result<Extents> {
        let mut found = Extents {
            start: start.0,
            length: length.0,
            flags: FLAG_SYNC,
            mapped: 0,
            count: 64,
            reserved: 0,
            extents: [Extent::default(); 64],
        };
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: the descriptor is open while borrowed; the argument is a `struct fiemap` followed by
        // `count` extents, and the kernel does not write beyond them.
        let rc = unsafe { libc::ioctl(fd, FS_IOC_FIEMAP as libc::Ioctl, &raw mut found) };
        check("FS_IOC_FIEMAP", rc)?;
        Ok(found)
    }

    fn list(&self) -> &[Extent] {
        &self.extents[..(self.mapped as usize).min(self.extents.len())]
    }
}

fn find(
    op: &'static str,
    file: impl AsFd,
    offset: Bytes,
    what: fn(u64) -> SeekFrom,
) -> Result<Option<Bytes>> {
    match seek(file, what(within_signed(op, offset)?)).op(op) {
        Ok(at) => Ok(Some(Bytes(at))),
        Err(error) if error.errno == Errno::ENXIO => Ok(None),
        Err(error) => Err(error),
    }
}
