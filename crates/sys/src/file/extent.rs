//! Where a file has data.

use std::ops::Range;
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

/// The parts of `from..to` of a file that were written, in order, those that touch as one. Space that was
/// allocated and not written is no part, even where its pages are cached, which `SEEK_DATA` takes for
/// data; where the file system lists no extents ([`next_data`] is asked then) it may be one.
///
/// Writes out what the page cache holds of the file first. Moves the descriptor's file position.
pub fn written(file: impl AsFd, from: u64, to: u64) -> Result<Vec<Range<u64>>> {
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut add = |part: Range<u64>| match parts.last_mut() {
        _ if part.is_empty() => {}
        Some(last) if last.end == part.start => last.end = part.end,
        _ => parts.push(part),
    };
    // Extents end with blocks, and the file may end before.
    let to = to.min(super::facts_of(&file)?.size);
    let mut at = from;
    while at < to {
        let extents = match Extents::of(&file, at, to - at) {
            Err(e) if [libc::EOPNOTSUPP, libc::ENOTTY, libc::EINVAL].contains(&e.errno) => {
                let Some(data) = next_data(&file, at)?.filter(|data| *data < to) else { break };
                at = next_hole(&file, data)?.unwrap_or(to).min(to);
                add(data..at);
                continue;
            }
            other => other?,
        };
        for extent in extents.list() {
            let end = extent.logical.saturating_add(extent.length).min(to);
            if extent.flags & EXTENT_UNWRITTEN == 0 {
                add(extent.logical.max(at)..end);
            }
        }
        match extents.list().last() {
            Some(last) if last.flags & EXTENT_LAST == 0 => at = last.logical + last.length,
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

/// `struct fiemap_extent`.
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

/// `struct fiemap` with room for some extents.
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
    /// The first extents of a range.
    fn of(file: impl AsFd, start: u64, length: u64) -> Result<Extents> {
        let mut found = Extents {
            start,
            length,
            flags: FLAG_SYNC,
            mapped: 0,
            count: 64,
            reserved: 0,
            extents: [Extent::default(); 64],
        };
        let fd = file.as_fd().as_raw_fd();
        // SAFETY: the descriptor is open while borrowed; the argument is a `struct fiemap` followed by
        // as many extents as its `count` says, and the kernel writes no further.
        let rc = unsafe { libc::ioctl(fd, FS_IOC_FIEMAP as libc::Ioctl, &raw mut found) };
        check("FS_IOC_FIEMAP", rc)?;
        Ok(found)
    }

    fn list(&self) -> &[Extent] {
        &self.extents[..(self.mapped as usize).min(self.extents.len())]
    }
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
