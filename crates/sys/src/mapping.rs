//! A memory-mapped file whose faults are returned as errors.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;

use fiord_types::Errno;

use crate::error::check;
use crate::persistent_memory::PersistentWrite;
use crate::{Error, Result, bus, file, host};

/// How a mapping may be accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MappingAccess {
    /// The mapping is only read.
    Read,
    /// The mapping is written; the processor may also read it.
    Write,
}

/// The access pattern of a mapping, for `madvise(2)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AccessPattern {
    /// No special treatment.
    Normal,
    /// Sequential access: read ahead.
    Sequential,
    /// Random access: do not read ahead.
    Random,
    /// The range is not needed soon: drop it.
    DontNeed,
    /// Use huge pages if the file system supports them (`MADV_HUGEPAGE`).
    Huge,
}

/// A range of a file in memory, shared with the page cache. Where a bare memory access would raise
/// `SIGBUS`, the copying functions return an error.
///
/// A mapping is `Send` but not `Sync`: it belongs to one thread at a time.
#[derive(Debug)]
pub struct Mapping {
    /// Declared first so that it is dropped before the memory is unmapped: another thread's mapping may
    /// get the same addresses at once, and its faults do not belong to this guard.
    guard: bus::BusGuard,
    area: Area,
    /// Usable bytes: the whole mapping, or 0 after the file could not be mapped again.
    len: usize,
    /// Number of bytes from the start that reads and writes may touch.
    limit: usize,
    offset: u64,
    access: MappingAccess,
    /// `MAP_SYNC`: see [`Mapping::synchronous`].
    synchronous: bool,
    /// The error of mapping the file again after a fault, if that failed.
    broken: Option<Error>,
    /// Used to map the file again after a fault.
    file: File,
}

/// The memory that a file is mapped into.
#[derive(Debug)]
struct Area {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: this value alone owns the memory, which is not tied to a thread.
unsafe impl Send for Area {}

impl Drop for Area {
    fn drop(&mut self) {
        debug_assert!(!bus::is_guarded(self.base.as_ptr()), "the guard must be dropped first");
        // SAFETY: exactly the range that was mapped, which nothing borrows.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

impl Mapping {
    /// Maps `len` bytes of the file from `offset`, which must be a multiple of the page size. Duplicates
    /// the descriptor.
    ///
    /// # Errors
    /// `EINVAL` for a length of 0 or an unaligned offset; `EACCES` if the file is not open for this
    /// access ([`MappingAccess::Write`] needs reading and writing); `ENODEV` for files that cannot be mapped
    /// (pipes, some devices).
    pub fn new(file: impl AsFd, access: MappingAccess, offset: u64, len: usize) -> Result<Mapping> {
        Mapping::of_kind(file, access, offset, len, false)
    }

    /// Maps a file in persistent memory (`MAP_SYNC`): before the first store to a page, the file system makes durable
    /// where that page belongs. [`Mapping::persist`] then needs no `msync(2)`.
    ///
    /// # Errors
    /// `EOPNOTSUPP` if the file is not mapped straight from persistent memory (DAX); otherwise those of
    /// [`Mapping::new`].
    pub fn synchronous(
        file: impl AsFd,
        access: MappingAccess,
        offset: u64,
        len: usize,
    ) -> Result<Mapping> {
        Mapping::of_kind(file, access, offset, len, true)
    }

    fn of_kind(
        file: impl AsFd,
        access: MappingAccess,
        offset: u64,
        len: usize,
        synchronous: bool,
    ) -> Result<Mapping> {
        let copy = file.as_fd().try_clone_to_owned();
        let file = File::from(copy.map_err(|error| Error::from_io("dup", &error))?);
        let base = map(&file, access, synchronous, offset, len, std::ptr::null_mut())?;
        let area = Area { base, len };
        let guard = bus::BusGuard::new(base.as_ptr(), len)?;
        let (limit, broken) = (len, None);
        Ok(Mapping { guard, area, len, limit, offset, access, synchronous, broken, file })
    }

    /// Returns the offset in the file at which the mapping begins, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the length in bytes; 0 after a fault if the file could not be mapped again.
    #[allow(clippy::len_without_is_empty)] // the kernel refuses an empty mapping
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Restricts reads and writes to the first `bytes`, because the file is not longer than that.
    pub fn limit(&mut self, bytes: usize) {
        self.limit = bytes.min(self.len);
    }

    /// Whether the mapping contains `len` bytes of the file at `offset`.
    #[must_use]
    pub fn covers(&self, offset: u64, len: usize) -> bool {
        self.inside(self.len, offset, len).is_some()
    }

    /// Whether the mapping contains `len` bytes of the file at `offset`, all before the limit.
    #[inline(always)]
    #[must_use]
    pub fn reaches(&self, offset: u64, len: usize) -> bool {
        self.inside(self.limit, offset, len).is_some()
    }

    /// Returns the position of `len` bytes of the file at `offset`, counted from the start of the mapping;
    /// `None` if they do not lie in its first `all` bytes.
    #[inline(always)]
    fn inside(&self, all: usize, offset: u64, len: usize) -> Option<usize> {
        // An offset before the mapping wraps around to a position far beyond its end.
        let at = offset.wrapping_sub(self.offset);
        (at <= all as u64 && len as u64 <= all as u64 - at).then_some(at as usize)
    }

    /// Copies from the file at `offset` (counted from the start of the file) to `into`.
    ///
    /// # Errors
    /// `EINVAL` outside the mapping or its [limit](Mapping::limit); `ENODATA` if the file has become
    /// shorter; `EIO` if the device failed; the error of `mmap(2)` if the file could not be mapped again
    /// after a fault.
    #[inline(always)]
    pub fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<()> {
        let from = self.place("mmap read", self.limit, offset, into.len())?;
        // SAFETY: `place` has checked that the source lies inside the mapping, which `into` cannot
        // overlap as it is a borrowed slice of other memory.
        unsafe { std::ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        match self.guard.fault() {
            None => Ok(()),
            Some(fault) => Err(self.recover("mmap read", fault)),
        }
    }

    /// Copies `from` to the file at `offset` (counted from the start of the file). The data goes to the
    /// page cache; [`Mapping::sync`] writes it out.
    ///
    /// # Errors
    /// Errors of [`Mapping::read`]; `ENOSPC` if the file system has no space to fill a hole; `EBADF` if the
    /// file is mapped for reading.
    #[inline(always)]
    pub fn write(&mut self, offset: u64, from: &[u8]) -> Result<()> {
        if self.access != MappingAccess::Write {
            return Err(Error::new("mmap write", Errno::EBADF));
        }
        let to = self.place("mmap write", self.limit, offset, from.len())?;
        // SAFETY: as in `read`; the mapping is writable.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) };
        match self.guard.fault() {
            None => Ok(()),
            Some(fault) => Err(self.recover("mmap write", fault)),
        }
    }

    /// Copies `from` to the file at `offset` like [`Mapping::write`], and on to persistent memory. The data is durable
    /// after the next [`drain`](crate::persistent_memory::drain) of this thread.
    ///
    /// # Errors
    /// Errors of [`Mapping::write`].
    #[inline(always)]
    pub fn persist(&mut self, offset: u64, from: &[u8], how: PersistentWrite) -> Result<()> {
        if self.access != MappingAccess::Write {
            return Err(Error::new("mmap write", Errno::EBADF));
        }
        let to = self.place("mmap write", self.limit, offset, from.len())?;
        // SAFETY: as in `write`.
        unsafe { how.copy(from.as_ptr(), to, from.len()) };
        match self.guard.fault() {
            None => Ok(()),
            Some(fault) => Err(self.recover("mmap write", fault)),
        }
    }

    /// Writes a range out and waits for it (`msync(2)` with `MS_SYNC`). The range is extended to whole
    /// pages.
    ///
    /// # Errors
    /// `EINVAL` outside the mapping; otherwise those of `msync(2)`.
    pub fn sync(&self, offset: u64, len: usize) -> Result<()> {
        let (start, len) = self.pages("msync", offset, len)?;
        // SAFETY: the range lies inside the mapping.
        check("msync", unsafe { libc::msync(start.cast(), len, libc::MS_SYNC) }).map(drop)
    }

    /// Announces the access pattern of a range (`madvise(2)`). The range is extended to whole pages.
    ///
    /// # Errors
    /// `EINVAL` outside the mapping; otherwise those of `madvise(2)`.
    pub fn advise(&self, offset: u64, len: usize, pattern: AccessPattern) -> Result<()> {
        let (start, len) = self.pages("madvise", offset, len)?;
        let advice = match pattern {
            AccessPattern::Normal => libc::MADV_NORMAL,
            AccessPattern::Sequential => libc::MADV_SEQUENTIAL,
            AccessPattern::Random => libc::MADV_RANDOM,
            AccessPattern::DontNeed => libc::MADV_DONTNEED,
            AccessPattern::Huge => libc::MADV_HUGEPAGE,
        };
        // SAFETY: the range lies inside the mapping, which is shared with the file, so none of these advices
        // loses data.
        check("madvise", unsafe { libc::madvise(start.cast(), len, advice) }).map(drop)
    }

    #[inline(always)]
    fn place(&self, op: &'static str, all: usize, offset: u64, len: usize) -> Result<*mut u8> {
        let Some(at) = self.inside(all, offset, len) else { return Err(self.outside(op)) };
        // SAFETY: `inside` has checked that the position lies in the mapping.
        Ok(unsafe { self.area.base.as_ptr().add(at) })
    }

    #[cold]
    fn outside(&self, op: &'static str) -> Error {
        self.broken.clone().unwrap_or_else(|| Error::new(op, Errno::EINVAL))
    }

    fn pages(&self, op: &'static str, offset: u64, len: usize) -> Result<(*mut u8, usize)> {
        let start = self.place(op, self.len, offset, len)?;
        let lead = start as usize % host::page_size();
        // SAFETY: the mapping begins at a page boundary, so the page that contains `start` does not begin
        // before the mapping.
        Ok((unsafe { start.sub(lead) }, len + lead))
    }

    /// Maps the file again over the anonymous memory that the handler left, and determines the error.
    #[cold]
    #[inline(never)]
    fn recover(&mut self, op: &'static str, fault: bus::BusFault) -> Error {
        let Area { base, len } = self.area;
        if let Err(error) =
            map(&self.file, self.access, self.synchronous, self.offset, len, base.as_ptr())
        {
            // The range holds anonymous memory or nothing at all: forbid any further access.
            (self.len, self.limit) = (0, 0);
            self.broken = Some(error.clone());
            return error;
        }
        self.guard.clear();
        let place = self.offset + fault.offset.0;
        let size =
            file::facts_of(&self.file).ok().filter(|facts| facts.kind == file::InodeType::Regular);
        let errno = match size {
            Some(facts) if place >= facts.size.0 => Errno::ENODATA,
            Some(_) if self.access == MappingAccess::Write && self.is_full() => Errno::ENOSPC,
            _ => Errno::EIO,
        };
        Error::new(op, errno)
    }

    fn is_full(&self) -> bool {
        rustix::fs::fstatvfs(&self.file).is_ok_and(|space| space.f_bavail == 0)
    }
}

/// Maps a file at an address that the kernel chooses, or at `at`, replacing what is mapped there.
fn map(
    file: &File,
    access: MappingAccess,
    synchronous: bool,
    offset: u64,
    len: usize,
    at: *mut u8,
) -> Result<NonNull<u8>> {
    let protection = match access {
        MappingAccess::Read => libc::PROT_READ,
        MappingAccess::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    let fixed = if at.is_null() { 0 } else { libc::MAP_FIXED };
    let start = i64::try_from(offset).map_err(|_| Error::new("mmap", Errno::EOVERFLOW))?;
    // SAFETY: with a null address the call touches no existing mapping; otherwise the caller owns the
    // `len` bytes at `at` that it replaces.
    let base = unsafe {
        let sharing = match synchronous {
            true => libc::MAP_SHARED_VALIDATE | libc::MAP_SYNC,
            false => libc::MAP_SHARED,
        };
        let flags = sharing | fixed;
        libc::mmap(at.cast(), len, protection, flags, file.as_raw_fd(), start)
    };
    if base == libc::MAP_FAILED {
        return Err(Error::last("mmap"));
    }
    NonNull::new(base.cast()).ok_or_else(|| Error::new("mmap", Errno::ENOMEM))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn scratch(name: &str, pages: usize) -> (PathBuf, File) {
        let path = std::env::temp_dir().join(format!("fiord-map-{}-{name}", std::process::id()));
        std::fs::write(&path, vec![7u8; pages * host::page_size()]).unwrap();
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        (path, file)
    }

    #[test]
    fn writes_reach_the_file_and_reads_return_them() {
        let (path, file) = scratch("copies", 4);
        let page = host::page_size();
        let mut mapping = Mapping::new(&file, MappingAccess::Write, page as u64, 3 * page).unwrap();
        mapping.write(page as u64 + 5, b"hello").unwrap();
        mapping.sync(page as u64 + 5, 5).unwrap();
        for pattern in [
            AccessPattern::Random,
            AccessPattern::Sequential,
            AccessPattern::DontNeed,
            AccessPattern::Normal,
        ] {
            mapping.advise(page as u64, 3 * page, pattern).unwrap();
        }
        let mut back = [0u8; 7];
        mapping.read(page as u64 + 4, &mut back).unwrap();
        assert_eq!(&back, b"\x07hello\x07");
        assert_eq!(&std::fs::read(&path).unwrap()[page + 5..page + 10], b"hello");
        assert_eq!(mapping.read(0, &mut back).unwrap_err().errno, Errno::EINVAL);
        assert_eq!(mapping.read(u64::MAX, &mut back).unwrap_err().errno, Errno::EINVAL);
        assert_eq!(mapping.read(4 * page as u64 - 3, &mut back).unwrap_err().errno, Errno::EINVAL);
        let mut reader = Mapping::new(&file, MappingAccess::Read, 0, page).unwrap();
        assert_eq!(reader.write(0, b"x").unwrap_err().errno, Errno::EBADF);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_shortened_file_is_an_error_and_works_again_when_it_grows() {
        let (path, file) = scratch("short", 4);
        let page = host::page_size();
        let mut mapping = Mapping::new(&file, MappingAccess::Write, 0, 4 * page).unwrap();
        let mut buffer = vec![0u8; 4 * page];
        mapping.read(0, &mut buffer).unwrap();
        file.set_len(page as u64).unwrap();
        let error = mapping.read(0, &mut buffer).unwrap_err();
        assert_eq!((error.op, error.errno), ("mmap read", Errno::ENODATA));
        assert!(error.to_string().contains("shorter"), "{error}");
        let error = mapping.write(2 * page as u64, &[1; 10]).unwrap_err();
        assert_eq!(error.errno, Errno::ENODATA);
        mapping.read(0, &mut buffer[..page]).unwrap();
        assert!(buffer[..page].iter().all(|&byte| byte == 7));
        file.set_len(4 * page as u64).unwrap();
        mapping.write(2 * page as u64, &[9; 10]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap()[2 * page..2 * page + 10], [9; 10]);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_mapping_that_cannot_be_restored_keeps_failing() {
        let (path, file) = scratch("anew", 2);
        let page = host::page_size();
        let mut mapping = Mapping::new(&file, MappingAccess::Write, 0, 2 * page).unwrap();
        file.set_len(0).unwrap();
        // A directory is open for reading only and cannot be mapped.
        mapping.file = File::open(std::env::temp_dir()).unwrap();
        let first = mapping.write(0, &[1; 10]).unwrap_err();
        assert_eq!((first.op, first.errno), ("mmap", Errno::EACCES));
        file.set_len(2 * page as u64).unwrap();
        for _ in 0..2 {
            assert_eq!(mapping.write(0, &[1; 10]), Err(first.clone()));
            assert_eq!(mapping.read(page as u64, &mut [0; 10]), Err(first.clone()));
        }
        assert_eq!(mapping.sync(0, page), Err(first));
        // A caller with several windows maps another one.
        assert!(!mapping.covers(0, 1));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn the_guard_is_dropped_before_the_memory() {
        let (path, file) = scratch("order", 1);
        let mapping = Mapping::new(&file, MappingAccess::Read, 0, host::page_size()).unwrap();
        let base = mapping.area.base.as_ptr();
        assert!(bus::is_guarded(base));
        // `Area::drop` asserts that no guard covers it any more.
        drop(mapping);
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    fn threads_fault_independently() {
        let workers: Vec<_> = (0..8)
            .map(|index| {
                std::thread::spawn(move || {
                    let (path, file) = scratch(&format!("thread{index}"), 2);
                    let page = host::page_size();
                    let mut mapping =
                        Mapping::new(&file, MappingAccess::Read, 0, 2 * page).unwrap();
                    let mut byte = [0u8];
                    for _ in 0..50 {
                        file.set_len(page as u64).unwrap();
                        assert!(mapping.read(page as u64, &mut byte).is_err());
                        file.set_len(2 * page as u64).unwrap();
                        mapping.read(page as u64, &mut byte).unwrap();
                    }
                    std::fs::remove_file(path).unwrap();
                })
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    }
}
