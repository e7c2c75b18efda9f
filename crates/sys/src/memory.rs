//! I/O buffers from every source that `mem=` offers.
//!
//! A [`MemoryRegion`] reserves memory but does not touch it: the kernel provides pages when they are used, so
//! a thousand jobs that never touch their buffers cost only address space. All regions read as zeroes
//! at first, except those mapped from a file that had contents.

mod buffer_file;
mod memory_file;
mod words;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use fiord_types::{Bytes, Errno};

use crate::error::check;
use crate::{Error, Result, bus, host, huge_pages, shortage};

use buffer_file::BufferRange;
pub use buffer_file::takes_buffers;
pub use words::AtomicWords;

/// The source of a buffer's memory; the values of `mem=`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum MemorySource {
    /// Private anonymous memory (`malloc`), as the C library provides for large blocks.
    #[default]
    Malloc,
    /// A System V segment, private to the process (`shm`).
    Shm,
    /// A System V segment of huge pages (`shmhuge`). The value is the page size in bytes; `None` means
    /// the kernel's default size.
    ShmHuge(Option<Bytes>),
    /// Private anonymous memory, or a file (`mmap`, `mmap:/path`). The file is mapped shared, because
    /// private pages of a file would become anonymous memory after the first write.
    Mmap(Option<PathBuf>),
    /// Anonymous huge pages, or a file on hugetlbfs (`mmaphuge`, `mmaphuge:/path`).
    MmapHuge {
        /// Path of the file, if the memory comes from one.
        file: Option<PathBuf>,
        /// Page size in bytes; `None` means the kernel's default, or that of the file system of `file`.
        page: Option<Bytes>,
    },
    /// Shared anonymous memory, or a file (`mmapshared`, `mmapshared:/path`).
    MmapShared(Option<PathBuf>),
    /// A memory file (`memfd_create(2)`) of the region's own, which can be handed to another process. No word of `mem=`
    /// names it: engines that share their buffers ask for it.
    MemoryFile,
    /// A memory file of huge pages. The value is the page size in bytes; `None` means the kernel's default size.
    HugeMemoryFile(Option<Bytes>),
}

impl MemorySource {
    /// Whether the memory consists of huge pages. Lengths are then rounded up to their size.
    #[must_use]
    pub fn is_huge(&self) -> bool {
        matches!(
            self,
            MemorySource::ShmHuge(_)
                | MemorySource::MmapHuge { .. }
                | MemorySource::HugeMemoryFile(_)
        )
    }

    /// Returns the path of the file that the memory is mapped from.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            MemorySource::Mmap(path)
            | MemorySource::MmapShared(path)
            | MemorySource::MmapHuge { file: path, .. } => path.as_deref(),
            _ => None,
        }
    }

    /// Returns the requested size of huge pages.
    fn huge_page(&self) -> Option<Bytes> {
        match self {
            MemorySource::ShmHuge(page)
            | MemorySource::MmapHuge { page, .. }
            | MemorySource::HugeMemoryFile(page) => *page,
            _ => None,
        }
    }

    /// Returns the flags that request huge pages of the wanted size.
    fn huge_flag(&self) -> i32 {
        self.huge_page().map_or(0, huge_pages::flag)
    }
}

/// How a region was allocated, which determines how it is released.
#[derive(Debug)]
enum Origin {
    Mapped,
    Segment,
    /// Mapped from a range of a file. The range is released after the mapping.
    File {
        range: BufferRange,
    },
    /// Mapped from a memory file.
    MemoryFile(OwnedFd),
}

/// Memory for I/O. Dropping it releases the memory; no I/O may be in flight on it then.
#[derive(Debug)]
pub struct MemoryRegion {
    /// First usable byte, aligned as requested.
    start: NonNull<u8>,
    len: usize,
    /// Start of the mapping, at or before `start`.
    base: NonNull<u8>,
    mapped: usize,
    page: usize,
    origin: Origin,
    /// Guards a file-backed region against `SIGBUS`: the file may become shorter, and the affected pages
    /// are then lost. [`bus::BusWatch`] reports that.
    guard: Option<bus::BusGuard>,
}

// SAFETY: a region is the only owner of its memory (file-backed ones have a range of the file to
// themselves in this process), so it may move to another thread, as a `Vec<u8>` may.
unsafe impl Send for MemoryRegion {}
// SAFETY: through `&Region` the memory can only be read by safe code.
unsafe impl Sync for MemoryRegion {}

impl MemoryRegion {
    /// Requests transparent huge pages for the whole region, or forbids them.
    ///
    /// # Errors
    /// Errors of `madvise(2)`: `EINVAL` if the kernel has no transparent huge pages.
    pub fn transparent_huge_pages(&self, on: bool) -> Result<()> {
        let advice = if on { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range is a mapping of this value, and the advice does not change its contents.
        check("madvise", unsafe { libc::madvise(self.base.as_ptr().cast(), self.mapped, advice) })?;
        Ok(())
    }

    /// Reserves `len` bytes that start at a multiple of `align`. An alignment of 0 or 1 means
    /// page-aligned; memory in huge pages is aligned at least to the page size.
    ///
    /// # Errors
    /// `EINVAL` if the alignment is not a power of two, the length is 0, or the kernel or the file
    /// system of the named file does not have the requested size of huge pages; `ENOMEM` if there is
    /// not enough memory, with the limit and the remedy; `EEXIST` if the named file holds data.
    pub fn new(source: &MemorySource, len: usize, align: usize) -> Result<MemoryRegion> {
        let align = align.max(1);
        if len == 0 || !align.is_power_of_two() {
            return Err(Error::new("allocate I/O buffers", Errno::EINVAL));
        }
        let page = page_size_of(source)?;
        let slack = align.saturating_sub(page);
        let mapped = len
            .checked_add(slack)
            .and_then(|want| want.checked_next_multiple_of(page))
            .ok_or_else(|| Error::new("allocate I/O buffers", Errno::ENOMEM))?;
        let (base, origin) = match source {
            MemorySource::Shm => {
                (segment("shmget", mapped, 0).map_err(none_left(mapped))?, Origin::Segment)
            }
            MemorySource::ShmHuge(_) => {
                let flags = libc::SHM_HUGETLB | source.huge_flag();
                let base = segment("shmget SHM_HUGETLB", mapped, flags);
                (base.map_err(|error| none_free(error, page, mapped))?, Origin::Segment)
            }
            MemorySource::MemoryFile | MemorySource::HugeMemoryFile(_) => {
                let mapping = memory_file::map_new(source, mapped);
                mapping.map_err(|error| match source.is_huge() {
                    true => none_free(error, page, mapped),
                    false => none_left(mapped)(error),
                })?
            }
            _ => match source.path() {
                Some(path) if page > host::page_size() => {
                    map_file(path, mapped, page).map_err(|error| none_free(error, page, mapped))?
                }
                Some(path) => map_file(path, mapped, page).map_err(none_left(mapped))?,
                None if source.is_huge() => {
                    let base = map_anonymous(source, mapped);
                    (base.map_err(|error| none_free(error, page, mapped))?, Origin::Mapped)
                }
                None => (map_anonymous(source, mapped).map_err(none_left(mapped))?, Origin::Mapped),
            },
        };
        let address = base.as_ptr() as usize;
        let lead = address.next_multiple_of(align) - address;
        // SAFETY: `lead` is at most `slack` (the base is a multiple of `page`), which was added
        // to the mapping, so `start` and `len` bytes from it lie inside.
        let start = unsafe { base.add(lead) };
        let mut region = MemoryRegion { start, len, base, mapped, page, origin, guard: None };
        if matches!(region.origin, Origin::File { .. }) {
            region.guard = Some(bus::BusGuard::of_pages(base.as_ptr(), mapped, page)?);
        }
        Ok(region)
    }

    /// Returns the address of the first byte.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Returns the usable length in bytes.
    #[allow(clippy::len_without_is_empty)] // a region is never empty
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the size of the pages that the region consists of, in bytes. `mmaphuge:/path` on a file
    /// system other than hugetlbfs works with ordinary pages; then this is [`host::page_size`].
    #[must_use]
    pub fn page_size(&self) -> usize {
        self.page
    }

    /// Returns the bytes of the region.
    ///
    /// The kernel must not be writing to the region (no read may be in flight).
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` are mapped, initialised by the kernel (zeroes or file
        // contents) and owned by this region.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// Returns the bytes of the region, for writing.
    ///
    /// The kernel must not be using the region (no I/O may be in flight).
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `&mut self` excludes other users.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }

    /// Returns the file that the region is mapped from, and where the first byte of the region lies in it; `None` if the
    /// memory is anonymous.
    #[must_use]
    pub fn file(&self) -> Option<(BorrowedFd<'_>, Bytes)> {
        let (fd, mapped_from) = match &self.origin {
            Origin::Mapped | Origin::Segment => return None,
            Origin::File { range } => (range.file.as_fd(), range.start),
            Origin::MemoryFile(fd) => (fd.as_fd(), Bytes::ZERO),
        };
        let lead = self.start.as_ptr() as u64 - self.base.as_ptr() as u64;
        Some((fd, mapped_from.saturating_add(Bytes(lead))))
    }

    /// Brings the whole region into memory and keeps it there (`mlock(2)`), until the region is dropped.
    ///
    /// # Errors
    /// `ENOMEM` or `EPERM` if the memlock limit is too low; otherwise those of `mlock(2)`.
    pub fn lock(&mut self) -> Result<()> {
        // SAFETY: the range is mapped by this region.
        check("mlock", unsafe { libc::mlock(self.base.as_ptr().cast(), self.mapped) }).map(drop)
    }
}

impl Drop for MemoryRegion {
    fn drop(&mut self) {
        // Remove the guard first, because another mapping may soon get these addresses.
        self.guard = None;
        match &self.origin {
            Origin::Segment => {
                // SAFETY: `base` is where the segment was attached, and nothing borrows it.
                unsafe { libc::shmdt(self.base.as_ptr().cast()) };
            }
            Origin::Mapped | Origin::File { .. } | Origin::MemoryFile(_) => {
                // SAFETY: exactly the range that was mapped, and nothing borrows it.
                unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped) };
            }
        }
    }
}

/// Locks `bytes` of memory for as long as the result lives (`lockmem=`), which leaves less for the page
/// cache.
///
/// # Errors
/// Errors of [`MemoryRegion::new`] and [`MemoryRegion::lock`].
pub fn pin(bytes: usize) -> Result<MemoryRegion> {
    let mut region = MemoryRegion::new(&MemorySource::Malloc, bytes, 0)?;
    region.lock()?;
    Ok(region)
}

/// Returns the page size of the source's memory, in bytes.
fn page_size_of(source: &MemorySource) -> Result<usize> {
    let asked = source.huge_page();
    let Some(path) = source.path() else {
        return Ok(match asked {
            Some(page) => huge_page(page)?,
            None if source.is_huge() => host::huge_page_size(),
            None => host::page_size(),
        });
    };
    let there = hugetlbfs_page(path.parent().unwrap_or(Path::new(".")));
    match (asked, there) {
        (Some(page), there) if there.map(|n| n as u64) != Some(page.0) => {
            let page = huge_pages::words(page);
            let has = match there {
                Some(size) => format!("has pages of {}", huge_pages::words(Bytes(size as u64))),
                None => "is not a hugetlbfs".into(),
            };
            let said = format!(
                "the buffers need huge pages of {page}, but the file system of this file {has}. To \
                 fix: mount one (mount -t hugetlbfs -o pagesize={} none /mnt/huge) and name a file \
                 there, or name no file in `mem`",
                page.replace(' ', "").trim_end_matches("iB")
            );
            Err(Error::new("mmap", Errno::EINVAL).at(path).saying(said))
        }
        _ => Ok(there.unwrap_or_else(host::page_size)),
    }
}

/// Checks that the kernel has huge pages of this size and that it fits the address size of this program.
fn huge_page(page: Bytes) -> Result<usize> {
    let known = huge_pages::pools().iter().any(|pool| pool.page == page);
    let size = usize::try_from(page.0).ok().filter(|_| known && page.0.is_power_of_two());
    size.ok_or_else(|| {
        let said = huge_pages::missing(page, page);
        Error::new("mmap MAP_HUGETLB", Errno::EINVAL).saying(said)
    })
}

/// Returns a function that adds to `ENOMEM` which limit denies the process `len` bytes of memory.
fn none_left(len: usize) -> impl Fn(Error) -> Error {
    move |error| match error.errno {
        Errno::ENOMEM => error.saying(shortage::of_memory(len as u64)),
        _ => error,
    }
}

/// Adds to an error how many huge pages are missing, if that is its cause.
fn none_free(error: Error, page: usize, len: usize) -> Error {
    match error.errno {
        Errno::ENOMEM | Errno::ENOSPC => {
            let said = huge_pages::missing(Bytes(page as u64), Bytes(len as u64));
            error.saying(said)
        }
        _ => error,
    }
}

/// Returns the page size of a hugetlbfs directory in bytes; `None` on any other file system.
fn hugetlbfs_page(directory: &Path) -> Option<usize> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    /// `HUGETLBFS_MAGIC` of `linux/magic.h`.
    const HUGETLBFS: u64 = 0x9584_58f6;
    let system = rustix::fs::statfs(directory).ok()?;
    usize::try_from(system.f_bsize).ok().filter(|_| system.f_type as u64 == HUGETLBFS)
}

fn map_anonymous(source: &MemorySource, len: usize) -> Result<NonNull<u8>> {
    let (op, flags) = match source {
        MemorySource::MmapHuge { .. } => {
            ("mmap MAP_HUGETLB", libc::MAP_PRIVATE | libc::MAP_HUGETLB | source.huge_flag())
        }
        MemorySource::MmapShared(_) => ("mmap", libc::MAP_SHARED),
        // Miri supports no other flag.
        _ if cfg!(miri) => ("mmap", libc::MAP_PRIVATE),
        _ => ("mmap", libc::MAP_PRIVATE | libc::MAP_NORESERVE),
    };
    map(op, len, flags | libc::MAP_ANONYMOUS, -1, 0)
}

fn map(op: &'static str, len: usize, flags: i32, fd: i32, offset: i64) -> Result<NonNull<u8>> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the kernel chooses touches no existing memory.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, fd, offset) };
    if base == libc::MAP_FAILED {
        return Err(Error::last(op));
    }
    NonNull::new(base.cast()).ok_or_else(|| Error::new(op, Errno::ENOMEM))
}

fn segment(op: &'static str, len: usize, flags: i32) -> Result<NonNull<u8>> {
    // SAFETY: integers only.
    let id = check(op, unsafe {
        libc::shmget(libc::IPC_PRIVATE, len, libc::IPC_CREAT | flags | 0o600)
    })?;
    // SAFETY: the kernel chooses the address.
    let base = unsafe { libc::shmat(id as i32, std::ptr::null(), 0) };
    let attached = if base as isize == -1 { Err(Error::last("shmat")) } else { Ok(base) };
    // The segment is marked for removal at once: it lives until it is detached, even if the process is
    // killed.
    // SAFETY: integers and a null pointer that IPC_RMID does not read.
    unsafe { libc::shmctl(id as i32, libc::IPC_RMID, std::ptr::null_mut()) };
    NonNull::new(attached?.cast()).ok_or_else(|| Error::new(op, Errno::ENOMEM))
}

fn map_file(path: &Path, len: usize, page: usize) -> Result<(NonNull<u8>, Origin)> {
    let range = BufferRange::take(path, len, page, page > host::page_size())?;
    let (fd, start) = (range.file.as_raw_fd(), range.start.0 as i64);
    let base = map("mmap", len, libc::MAP_SHARED, fd, start).map_err(|error| error.at(path))?;
    Ok((base, Origin::File { range }))
}

#[cfg(test)]
mod tests {
    use fiord_types::Bytes;

    use super::*;

    fn works(source: &MemorySource, align: usize) -> MemoryRegion {
        let mut region = MemoryRegion::new(source, 100_000, align).unwrap();
        assert_eq!(region.len(), 100_000);
        assert_eq!(region.as_ptr() as usize % align.max(1), 0);
        assert!(region.as_slice().iter().all(|&byte| byte == 0));
        region.as_mut_slice().fill(0xa5);
        assert!(region.as_slice().iter().all(|&byte| byte == 0xa5));
        region
    }

    #[test]
    fn every_source_without_huge_pages_works_with_every_alignment() {
        for source in [
            MemorySource::Malloc,
            MemorySource::Shm,
            MemorySource::Mmap(None),
            MemorySource::MmapShared(None),
            MemorySource::MemoryFile,
        ] {
            for align in [0, 1, 512, 4096, 65536, 4 << 20] {
                works(&source, align);
            }
        }
    }

    #[test]
    fn file_backed_regions_do_not_overlap_and_leave_no_file_behind() {
        let path = std::env::temp_dir().join(format!("fiord-region-{}", std::process::id()));
        let source = MemorySource::MmapShared(Some(path.clone()));
        let first = works(&source, 4096);
        let second = works(&source, 4096);
        assert_eq!(second.page_size(), host::page_size());
        drop(second);
        assert!(first.as_slice().iter().all(|&byte| byte == 0xa5));
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn a_file_with_data_is_refused_and_an_empty_one_is_emptied_again() {
        let path = std::env::temp_dir().join(format!("fiord-data-{}", std::process::id()));
        let source = MemorySource::Mmap(Some(path.clone()));
        std::fs::write(&path, "data").unwrap();
        let error = MemoryRegion::new(&source, 4096, 0).unwrap_err();
        assert_eq!(error.errno, Errno::EEXIST);
        assert!(error.to_string().contains("holds data"), "{error}");
        assert_eq!(std::fs::read(&path).unwrap(), b"data");
        std::fs::write(&path, "").unwrap();
        let region = works(&source, 4096);
        assert!(std::fs::metadata(&path).unwrap().len() >= 100_000);
        drop(region);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_left_by_a_killed_run_is_used_and_removed() {
        let path = std::env::temp_dir().join(format!("fiord-left-{}", std::process::id()));
        let how = crate::file::Open::read_write().create(true);
        let left = crate::file::FileGuard::buffer_file().open(how, &path).unwrap();
        crate::file::truncate(&left.fd, Bytes(4096)).unwrap();
        if !crate::file::is_buffer_file(&left.fd) {
            std::fs::remove_file(&path).unwrap();
            return eprintln!("skipped: no extended attributes here");
        }
        drop(works(&MemorySource::Mmap(Some(path.clone())), 4096));
        assert!(!path.exists());
    }

    #[test]
    fn huge_pages_work_or_the_error_names_the_remedy() {
        let sizes = huge_pages::pools().into_iter().map(|pool| Some(pool.page)).chain([None]);
        for size in sizes {
            for source in [
                MemorySource::MmapHuge { file: None, page: size },
                MemorySource::ShmHuge(size),
                MemorySource::HugeMemoryFile(size),
            ] {
                match MemoryRegion::new(&source, 4096, 0) {
                    Ok(mut region) => {
                        region.as_mut_slice().fill(1);
                        let page = size.unwrap_or(Bytes(host::huge_page_size() as u64));
                        assert_eq!(region.page_size() as u64, page.0);
                        assert_eq!(region.as_ptr() as u64 % page.0, 0);
                    }
                    Err(error) => {
                        eprintln!("no huge pages here: {error}");
                        let all = error.to_string();
                        // Without /sys, the sizes of the kernel are not known.
                        let sizes = "/sys/kernel/mm/hugepages";
                        let unknown = !std::path::Path::new(sizes).exists() && all.contains(sizes);
                        assert!(
                            all.contains("nr_hugepages") || error.errno == Errno::EPERM || unknown,
                            "{all}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_page_size_that_the_kernel_lacks_is_reported() {
        let page = Some(Bytes(3 << 20));
        for source in [MemorySource::MmapHuge { file: None, page }, MemorySource::ShmHuge(page)] {
            let error = MemoryRegion::new(&source, 4096, 0).unwrap_err().to_string();
            assert!(error.contains("no huge pages of 3 MiB"), "{error}");
        }
        let file = Some(std::env::temp_dir().join("fiord-not-huge"));
        let source = MemorySource::MmapHuge { file, page: Some(Bytes(2 << 20)) };
        let error = MemoryRegion::new(&source, 4096, 0).unwrap_err().to_string();
        assert!(error.contains("not a hugetlbfs") && error.contains("pagesize=2M"), "{error}");
    }

    #[test]
    fn a_file_on_hugetlbfs_has_the_page_size_of_its_file_system() {
        let mounts = crate::mount::mounts().unwrap();
        let Some(mount) = mounts.iter().find(|mount| mount.kind == "hugetlbfs") else {
            return eprintln!("not possible here: no hugetlbfs is mounted");
        };
        let path = mount.point.join(format!("fiord-huge-{}", std::process::id()));
        match MemoryRegion::new(&MemorySource::MmapHuge { file: Some(path), page: None }, 4096, 0) {
            Ok(mut region) => {
                assert!(region.page_size() > host::page_size());
                region.as_mut_slice().fill(1);
            }
            Err(error) => eprintln!("skipped: {error}"),
        }
    }

    #[test]
    fn untouched_memory_is_not_resident() {
        let before = crate::usage::memory().unwrap().resident;
        let region = MemoryRegion::new(&MemorySource::Malloc, 4 << 30, 4096).unwrap();
        let after = crate::usage::memory().unwrap().resident;
        assert!(after.saturating_sub(before) < Bytes(64 << 20), "{before:?} {after:?}");
        drop(region);
    }

    #[test]
    fn impossible_lengths_and_alignments_are_refused() {
        assert_eq!(
            MemoryRegion::new(&MemorySource::Malloc, 0, 0).unwrap_err().errno,
            Errno::EINVAL
        );
        assert_eq!(
            MemoryRegion::new(&MemorySource::Malloc, 1, 3).unwrap_err().errno,
            Errno::EINVAL
        );
        assert_eq!(
            MemoryRegion::new(&MemorySource::Malloc, usize::MAX, 0).unwrap_err().errno,
            Errno::ENOMEM
        );
    }

    #[test]
    fn pinning_works_or_names_the_limit() {
        match pin(64 << 10) {
            Ok(region) => assert_eq!(region.len(), 64 << 10),
            Err(error) => assert!(error.to_string().contains("memlock"), "{error}"),
        }
    }
}
