//! The page cache: giving advice, dropping pages, and counting what it holds.

use std::num::NonZeroU64;
use std::os::fd::{AsFd, AsRawFd};

use fiord_types::{Bytes, Errno};
use rustix::fs::{Advice, fadvise};

use super::allocate::within_signed;
use super::facts::{InodeType, facts_of, is_dax};
use crate::error::{Named, check};
use crate::{Result, block};

/// An access pattern for `posix_fadvise(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PageCacheAdvice {
    /// No special treatment.
    Normal,
    /// Read ahead more than usual.
    Sequential,
    /// Do not read ahead.
    Random,
    /// The data is used once; has an effect since Linux 6.3.
    NoReuse,
    /// Read the data in now.
    WillNeed,
    /// Drop clean pages from the cache.
    DontNeed,
}

/// Announces an access pattern with `posix_fadvise(2)`. A length of 0 means to the end of the file.
///
/// # Errors
/// Errors of `posix_fadvise(2)`; `EFBIG` if a number exceeds the kernel's signed offset.
pub fn advise(
    file: impl AsFd,
    offset: Bytes,
    length: Bytes,
    advice: PageCacheAdvice,
) -> Result<()> {
    let op = "posix_fadvise";
    let advice = match advice {
        PageCacheAdvice::Normal => Advice::Normal,
        PageCacheAdvice::Sequential => Advice::Sequential,
        PageCacheAdvice::Random => Advice::Random,
        PageCacheAdvice::NoReuse => Advice::NoReuse,
        PageCacheAdvice::WillNeed => Advice::WillNeed,
        PageCacheAdvice::DontNeed => Advice::DontNeed,
    };
    let (offset, length) = (within_signed(op, offset)?, within_signed(op, length)?);
    fadvise(file, offset, NonZeroU64::new(length), advice).op(op)
}

/// Drops the cached pages of `length` from `offset` on (0: to the end of the file), so that the
/// next read goes to the device.
///
/// - Regular file: `POSIX_FADV_DONTNEED`. It drops clean pages only; sync first to drop dirty ones.
/// - Block device: `BLKFLSBUF`, which writes back and drops its whole buffer cache and needs
///   `CAP_SYS_ADMIN`; without that, `POSIX_FADV_DONTNEED`, which drops clean pages.
/// - Anything else has no cache, and nothing happens.
///
/// Returns whether the file has a cache to drop.
///
/// # Errors
/// Errors of `fstat(2)`, `BLKFLSBUF` and `posix_fadvise(2)`.
pub fn drop_cache(file: impl AsFd, offset: Bytes, length: Bytes) -> Result<bool> {
    match facts_of(&file)?.kind {
        InodeType::Regular => {
            advise(&file, offset, length, PageCacheAdvice::DontNeed)?;
            Ok(true)
        }
        InodeType::Block => {
            match block::flush_buffers(&file) {
                Err(error) if !matches!(error.errno, Errno::EACCES | Errno::EPERM) => {
                    return Err(error);
                }
                _ => advise(&file, offset, length, PageCacheAdvice::DontNeed)?,
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Page cache use of a range of a file, in pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CacheUse {
    /// Pages in the cache.
    pub cached: u64,
    /// Cached pages that are dirty.
    pub dirty: u64,
    /// Cached pages that are being written back.
    pub writeback: u64,
    /// Pages that were in the cache and have been evicted.
    pub evicted: u64,
    /// Pages that were evicted recently.
    pub recently_evicted: u64,
}

/// Returns the page cache use of `length` from `offset` on (0: to the end of the file), from
/// `cachestat(2)` (Linux 6.5). A file in persistent memory has no pages in the cache; the kernel is not asked, because
/// `cachestat` on such a file crashes Linux 6.12.
///
/// # Errors
/// `ENOSYS` before Linux 6.5; `EPERM` if the caller neither owns nor may write the file (since
/// 6.14).
pub fn cached_pages(file: impl AsFd, offset: Bytes, length: Bytes) -> Result<CacheUse> {
    /// System calls after 424 have one number on all architectures.
    const SYS_CACHESTAT: libc::c_long = 451;
    if is_dax(&file) {
        return Ok(CacheUse::default());
    }
    let range = [offset.0, length.0];
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
