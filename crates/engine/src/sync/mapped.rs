//! Files that are mapped into memory. A file that is larger than a window has one that moves over it.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use fiord_sys::mapping::{AccessPattern, Mapping, MappingAccess};
use fiord_types::{Bytes, Errno, FileIndex};

use super::Span;
use crate::{Attachment, FileKind};

/// Maximum number of bytes of a file that are mapped at a time. The window is large, so that it seldom moves,
/// and small enough that a thousand of them fit into the address space (128 TiB). A multiple of every alignment.
const WINDOW: u64 = 64 << 30;

/// Copies bytes to an offset of a mapped file.
pub(super) trait Store:
    Fn(&mut Mapping, u64, &[u8]) -> Result<(), fiord_sys::Error>
{
}

impl<F: Fn(&mut Mapping, u64, &[u8]) -> Result<(), fiord_sys::Error>> Store for F {}

/// How files are mapped.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct MapOptions {
    /// Ask for huge pages.
    pub huge: bool,
    /// The access pattern to advise the kernel of.
    pub pattern: Option<AccessPattern>,
    /// Map files in persistent memory so that stores need no system call ([`Mapping::synchronous`]).
    pub synchronous: bool,
}

/// The mappings of all files.
#[derive(Debug)]
pub(super) struct MappedFiles {
    files: Vec<Option<MappedFile>>,
    options: MapOptions,
}

impl MappedFiles {
    /// No mappings yet of this number of files.
    pub(super) fn new(count: u32, options: MapOptions) -> Self {
        MappedFiles { files: (0..count).map(|_| None).collect(), options }
    }

    /// Maps the region of a file that the job uses. The mapping begins and ends at multiples of `grain`.
    ///
    /// # Errors
    ///
    /// `mmap(2)` or `madvise(2)` fails.
    pub(super) fn attach(
        &mut self,
        file: FileIndex,
        target: &Attachment,
        grain: Bytes,
    ) -> Result<(), fiord_sys::Error> {
        let (Some(place), Some(fd)) = (self.files.get_mut(file.get()), &target.fd) else {
            return Ok(());
        };
        let mut mapped = MappedFile::new(target, fd, grain);
        if target.len > Bytes::ZERO {
            mapped.window(target.offset.0, 1, self.options)?;
        }
        *place = Some(mapped);
        Ok(())
    }

    /// Removes the mapping of a file.
    pub(super) fn detach(&mut self, file: FileIndex) {
        if let Some(place) = self.files.get_mut(file.get()) {
            *place = None;
        }
    }

    /// The mapping of a file, if all of these bytes are in it and in the file.
    #[inline(always)]
    fn at_once(&mut self, file: FileIndex, offset: u64, len: usize) -> Option<&mut Mapping> {
        let mapped = self.files.get_mut(file.get())?.as_mut()?;
        mapped.window.as_mut().filter(|window| window.reaches(offset, len))
    }

    /// The mapping of a file, if it covers the whole region that the job uses.
    pub(super) fn whole(&self, file: FileIndex) -> Option<&Mapping> {
        self.files.get(file.get())?.as_ref()?.whole()
    }

    /// Moves the mapping so that it covers those bytes of `span` that are in the file. Returns the
    /// mapping and the number of bytes.
    ///
    /// # Errors
    ///
    /// The value that the I/O returns: 0 at the end of the file, or a negative errno.
    fn moved(&mut self, file: FileIndex, span: Span) -> Result<(&mut Mapping, usize), i64> {
        let mapped = self.files.get_mut(file.get()).and_then(Option::as_mut);
        let mapped = mapped.ok_or(Errno::EBADF.as_result())?;
        let len = mapped.present(span.offset, span.len);
        if len == 0 {
            return Err(0);
        }
        let window = mapped.window(span.offset, len, self.options).map_err(|error| code(&error))?;
        Ok((window, len))
    }

    /// Copies from a file to memory.
    ///
    /// # Safety
    ///
    /// As [`super::Transfer::read`].
    #[inline(always)]
    pub(super) unsafe fn read(&mut self, file: FileIndex, span: Span) -> i64 {
        match self.at_once(file, span.offset, span.len) {
            // SAFETY: the caller vouches for the memory.
            Some(window) => unsafe { read(window, span) },
            // SAFETY: the caller vouches for the memory.
            None => unsafe { self.read_moved(file, span.data, span.len, span.offset) },
        }
    }

    /// Copies from memory to a file. `store` copies the bytes to an offset of the file.
    ///
    /// # Safety
    ///
    /// As [`super::Transfer::write`].
    #[inline(always)]
    pub(super) unsafe fn write(&mut self, file: FileIndex, span: Span, store: impl Store) -> i64 {
        match self.at_once(file, span.offset, span.len) {
            // SAFETY: the caller vouches for the memory.
            Some(window) => unsafe { write(window, span, store) },
            // SAFETY: the caller vouches for the memory.
            None => unsafe { self.write_moved(file, span.data, span.len, span.offset, store) },
        }
    }

    /// Writes what the present mapping does not cover. It takes the parts of the span as
    /// [`Self::read_moved`] does.
    ///
    /// # Safety
    ///
    /// As [`super::Transfer::write`].
    #[cold]
    #[inline(never)]
    unsafe fn write_moved(
        &mut self,
        file: FileIndex,
        data: *mut u8,
        len: usize,
        offset: u64,
        store: impl Store,
    ) -> i64 {
        let span = Span { data, len, offset };
        match self.moved(file, span) {
            // SAFETY: the caller vouches for the memory.
            Ok((window, len)) => unsafe { write(window, Span { len, ..span }, store) },
            // A mapping cannot extend the file.
            Err(0) if len > 0 => Errno::EIO.as_result(),
            Err(code) => code,
        }
    }

    /// Reads what the present mapping does not cover. It takes the parts of the span, because a span
    /// is passed in memory, where each read would store it.
    ///
    /// # Safety
    ///
    /// As [`super::Transfer::read`].
    #[cold]
    #[inline(never)]
    unsafe fn read_moved(
        &mut self,
        file: FileIndex,
        data: *mut u8,
        len: usize,
        offset: u64,
    ) -> i64 {
        let span = Span { data, len, offset };
        match self.moved(file, span) {
            // SAFETY: the caller vouches for the memory.
            Ok((window, len)) => unsafe { read(window, Span { len, ..span }) },
            Err(code) => code,
        }
    }
}

#[derive(Debug)]
struct MappedFile {
    fd: Arc<OwnedFd>,
    access: MappingAccess,
    /// Start of the region of the file that the job uses.
    start: u64,
    end: u64,
    /// The mapping begins and ends at multiples of this.
    grain: u64,
    /// End of the file when its size was last read. The size is read again before a byte counts as
    /// missing.
    size: u64,
    regular: bool,
    window: Option<Mapping>,
}

impl MappedFile {
    fn new(target: &Attachment, fd: &Arc<OwnedFd>, grain: Bytes) -> Self {
        MappedFile {
            fd: fd.clone(),
            access: if target.read_only { MappingAccess::Read } else { MappingAccess::Write },
            start: target.offset.0,
            end: target.offset.saturating_add(target.len).0,
            grain: grain.0.max(1),
            size: 0,
            regular: target.kind == FileKind::Regular,
            window: None,
        }
    }

    /// How many of the `len` bytes from `offset` are in the file.
    fn present(&mut self, offset: u64, len: usize) -> usize {
        if offset.saturating_add(len as u64) <= self.size {
            return len;
        }
        self.size = match fiord_sys::file::facts_of(&*self.fd) {
            Ok(facts) if self.regular => facts.size.0,
            _ => u64::MAX,
        };
        len.min(usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX))
    }

    /// The mapping, moved if necessary so that it covers these bytes, which are in the file.
    fn window(
        &mut self,
        offset: u64,
        len: usize,
        options: MapOptions,
    ) -> Result<&mut Mapping, fiord_sys::Error> {
        let covered = self.window.as_ref().is_some_and(|window| window.covers(offset, len));
        if !covered {
            self.move_window(offset, len, options)?;
        }
        let window =
            self.window.as_mut().ok_or_else(|| fiord_sys::Error::new("mmap", Errno::EINVAL))?;
        let known = self.size.saturating_sub(window.offset());
        window.limit(usize::try_from(known).unwrap_or(usize::MAX));
        Ok(window)
    }

    fn move_window(
        &mut self,
        offset: u64,
        len: usize,
        options: MapOptions,
    ) -> Result<(), fiord_sys::Error> {
        let grain = self.grain;
        let page = grain.max(fiord_sys::host::page_size() as u64);
        let last = offset.saturating_add(len as u64);
        let mut first = self.start.min(offset) / page * page;
        let mut end = self.end.max(last);
        if end - first > WINDOW {
            first = offset / WINDOW * WINDOW;
            if last > first + WINDOW {
                first = offset / page * page;
            }
            end = end.min((first + WINDOW).max(last));
        }
        let len = (end - first).checked_next_multiple_of(grain).unwrap_or(end - first) as usize;
        self.window = None;
        let window = match options.synchronous {
            true => Mapping::synchronous(&*self.fd, self.access, first, len)?,
            false => Mapping::new(&*self.fd, self.access, first, len)?,
        };
        if let Some(pattern) = options.pattern {
            window.advise(first, window.len(), pattern)?;
        }
        if options.huge {
            window.advise(first, window.len(), AccessPattern::Huge)?;
        }
        self.window = Some(window);
        Ok(())
    }

    /// The mapping, if it covers the whole region that the job uses.
    fn whole(&self) -> Option<&Mapping> {
        let len = usize::try_from(self.end - self.start).unwrap_or(usize::MAX);
        self.window.as_ref().filter(|window| window.covers(self.start, len))
    }
}

/// Copies from a mapping to memory.
///
/// # Safety
///
/// As [`super::Transfer::read`].
#[inline(always)]
unsafe fn read(window: &mut Mapping, span: Span) -> i64 {
    // SAFETY: the caller vouches for the memory.
    let into = unsafe { std::slice::from_raw_parts_mut(span.data, span.len) };
    result(window.read(span.offset, into), span.len)
}

/// Copies from memory to a mapping.
///
/// # Safety
///
/// As [`super::Transfer::write`].
#[inline(always)]
unsafe fn write(window: &mut Mapping, span: Span, store: impl Store) -> i64 {
    // SAFETY: the caller vouches for the memory.
    let from = unsafe { std::slice::from_raw_parts(span.data, span.len) };
    result(store(window, span.offset, from), span.len)
}

/// The value that an I/O of `len` bytes returns.
#[inline(always)]
fn result(outcome: Result<(), fiord_sys::Error>, len: usize) -> i64 {
    match outcome {
        Ok(()) => len as i64,
        Err(error) => code(&error),
    }
}

/// The value that a failed I/O returns.
#[cold]
fn code(error: &fiord_sys::Error) -> i64 {
    match error.errno {
        // The file became shorter while it was mapped.
        Errno::ENODATA => Errno::EIO.as_result(),
        errno => errno.as_result(),
    }
}
