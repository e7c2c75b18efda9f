//! The page cache: advice, dropping, and what is in it.

use std::os::fd::{AsFd, AsRawFd};

use super::allocate::signed;
use super::facts::{Kind, facts_of};
use crate::error::check;
use crate::{Error, Result, block};

/// Advice of `posix_fadvise(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Advice {
    /// No special treatment.
    Normal,
    /// Read ahead more.
    Sequential,
    /// Do not read ahead.
    Random,
    /// Used once; does something since Linux 6.3.
    NoReuse,
    /// Read it in now.
    WillNeed,
    /// Drop it from the cache if clean.
    DontNeed,
}

/// `posix_fadvise(2)`; a length of 0 means to the end of the file.
pub fn advise(file: impl AsFd, offset: u64, length: u64, advice: Advice) -> Result<()> {
    let op = "posix_fadvise";
    let advice = match advice {
        Advice::Normal => libc::POSIX_FADV_NORMAL,
        Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        Advice::Random => libc::POSIX_FADV_RANDOM,
        Advice::NoReuse => libc::POSIX_FADV_NOREUSE,
        Advice::WillNeed => libc::POSIX_FADV_WILLNEED,
        Advice::DontNeed => libc::POSIX_FADV_DONTNEED,
    };
    let (offset, length) = (signed(op, offset)?, signed(op, length)?);
    // SAFETY: integers only; the descriptor is open while borrowed. The errno is the result.
    match unsafe { libc::posix_fadvise(file.as_fd().as_raw_fd(), offset, length, advice) } {
        0 => Ok(()),
        errno => Err(Error::new(op, errno)),
    }
}

/// Drops the cached pages of `offset..offset+length` (0: to the end), so that the next read goes
/// to the device.
///
/// - A regular file: `POSIX_FADV_DONTNEED`. Only clean pages go; sync first to drop dirty ones.
/// - A block device: `BLKFLSBUF`, which writes back and drops its whole buffer cache and needs
///   `CAP_SYS_ADMIN`; without it, `POSIX_FADV_DONTNEED`, which drops what is clean.
/// - Anything else has no cache: nothing is done.
///
/// Returns whether there was something that could be dropped.
pub fn drop_cache(file: impl AsFd, offset: u64, length: u64) -> Result<bool> {
    match facts_of(&file)?.kind {
        Kind::Regular => {
            advise(&file, offset, length, Advice::DontNeed)?;
            Ok(true)
        }
        Kind::Block => {
            match block::flush_buffers(&file) {
                Err(error) if !matches!(error.errno, libc::EACCES | libc::EPERM) => {
                    return Err(error);
                }
                _ => advise(&file, offset, length, Advice::DontNeed)?,
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// What the page cache holds of a range, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheUse {
    /// In memory.
    pub cached: u64,
    /// Of these, dirty.
    pub dirty: u64,
    /// Of these, being written back.
    pub writeback: u64,
    /// Once there, and evicted.
    pub evicted: u64,
    /// Evicted lately.
    pub recently_evicted: u64,
}

/// `cachestat(2)`, Linux 6.5: what the page cache holds of `offset..offset+length` (a length of
/// 0: to the end of the file).
///
/// # Errors
/// `ENOSYS` before Linux 6.5; `EPERM` for a file one may neither own nor write (since 6.14).
pub fn cached_pages(file: impl AsFd, offset: u64, length: u64) -> Result<CacheUse> {
    /// The number is the same on every architecture (calls after 424 are).
    const SYS_CACHESTAT: libc::c_long = 451;
    let range = [offset, length];
    let mut pages = [0u64; 5];
    // SAFETY: the kernel reads a `struct cachestat_range` (two u64) and writes a
    // `struct cachestat` (five u64); both arrays have that layout and outlive the call.
    let rc = unsafe {
        libc::syscall(
            SYS_CACHESTAT,
            file.as_fd().as_raw_fd(),
            range.as_ptr(),
            pages.as_mut_ptr(),
            0u32,
        )
    };
    check("cachestat", rc)?;
    let [cached, dirty, writeback, evicted, recently_evicted] = pages;
    Ok(CacheUse { cached, dirty, writeback, evicted, recently_evicted })
}
