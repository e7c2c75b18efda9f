//! `mmap`: `memcpy` to and from a mapping of the file.
//!
//! The engine maps the whole region of the file that the job uses. If the region is larger than 64
//! GiB, the engine maps a window of that size and moves it. A mapping cannot extend a file, so a
//! write past the end is `EIO`. Where an access would raise `SIGBUS`, the op ends with an errno
//! instead.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use fiord_plan::EnginePlan;
use fiord_sys::mapping::{AccessPattern, Mapping, MappingAccess};
use fiord_types::{Bytes, Errno, FileIndex};

use super::{File, Span, Transfer};
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome, dataless};

/// Most bytes of a file that are mapped at a time: so many that the window seldom moves, and so few
/// that a thousand jobs fit into the address space (128 TiB).
const WINDOW: u64 = 64 << 30;

/// The mappings of all files, and the advice that they get.
#[derive(Debug)]
pub struct MmapCalls {
    files: Vec<Option<Mapped>>,
    huge: bool,
    pattern: Option<AccessPattern>,
}

#[derive(Debug)]
struct Mapped {
    fd: Arc<OwnedFd>,
    access: MappingAccess,
    /// Start of the region of the file that the job uses.
    start: u64,
    end: u64,
    /// End of the file when its size was last read. The size is read again before a byte counts as
    /// missing.
    size: u64,
    regular: bool,
    window: Option<Mapping>,
}

impl Mapped {
    fn new(target: &Attachment, fd: &Arc<OwnedFd>) -> Self {
        Mapped {
            fd: fd.clone(),
            access: if target.read_only { MappingAccess::Read } else { MappingAccess::Write },
            start: target.offset.0,
            end: target.offset.saturating_add(target.len).0,
            size: 0,
            regular: target.kind == FileKind::Regular,
            window: None,
        }
    }

    /// The mapping, if all of these bytes are in it and in the file.
    #[inline(always)]
    fn at_once(&mut self, offset: u64, len: usize) -> Option<&mut Mapping> {
        self.window.as_mut().filter(|window| window.reaches(offset, len))
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
        advice: (bool, Option<AccessPattern>),
    ) -> Result<&mut Mapping, fiord_sys::Error> {
        let covered = self.window.as_ref().is_some_and(|window| window.covers(offset, len));
        if !covered {
            self.move_window(offset, len, advice)?;
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
        (huge, pattern): (bool, Option<AccessPattern>),
    ) -> Result<(), fiord_sys::Error> {
        let page = fiord_sys::host::page_size() as u64;
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
        self.window = None;
        let window = Mapping::new(&*self.fd, self.access, first, (end - first) as usize)?;
        if let Some(pattern) = pattern {
            window.advise(first, window.len(), pattern)?;
        }
        if huge {
            window.advise(first, window.len(), AccessPattern::Huge)?;
        }
        self.window = Some(window);
        Ok(())
    }

    /// Whether the mapping covers the whole region that the job uses.
    fn is_whole(&self) -> bool {
        self.window.as_ref().is_some_and(|window| {
            window.covers(self.start, usize::try_from(self.end - self.start).unwrap_or(usize::MAX))
        })
    }
}

impl MmapCalls {
    #[inline(always)]
    fn mapped(&mut self, file: FileIndex) -> Option<&mut Mapped> {
        self.files.get_mut(file.get())?.as_mut()
    }

    /// Moves the mapping so that it covers those bytes of `span` that are in the file. Returns the
    /// mapping and the number of bytes.
    ///
    /// # Errors
    ///
    /// The value that the I/O returns: 0 at the end of the file, or a negative errno.
    fn moved(&mut self, file: FileIndex, span: Span) -> Result<(&mut Mapping, usize), i64> {
        let advice = (self.huge, self.pattern);
        let mapped = self.mapped(file).ok_or(Errno::EBADF.as_result())?;
        let len = mapped.present(span.offset, span.len);
        if len == 0 {
            return Err(0);
        }
        let window = mapped.window(span.offset, len, advice).map_err(|error| code(&error))?;
        Ok((window, len))
    }

    /// A read that the present mapping does not cover. It takes the parts of the span, because a span
    /// is passed in memory, where each read would store it.
    ///
    /// # Safety
    ///
    /// As [`Transfer::read`].
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

    /// A write that the present mapping does not cover. It takes the parts of the span as
    /// [`MmapCalls::read_moved`] does.
    ///
    /// # Safety
    ///
    /// As [`Transfer::write`].
    #[cold]
    #[inline(never)]
    unsafe fn write_moved(
        &mut self,
        file: FileIndex,
        data: *mut u8,
        len: usize,
        offset: u64,
    ) -> i64 {
        let span = Span { data, len, offset };
        match self.moved(file, span) {
            // SAFETY: the caller vouches for the memory.
            Ok((window, len)) => unsafe { write(window, Span { len, ..span }) },
            // A mapping cannot extend the file.
            Err(0) if span.len > 0 => Errno::EIO.as_result(),
            Err(code) => code,
        }
    }
}

/// Copies from a mapping to memory.
///
/// # Safety
///
/// As [`Transfer::read`].
#[inline(always)]
unsafe fn read(window: &mut Mapping, span: Span) -> i64 {
    // SAFETY: the caller vouches for the memory.
    let into = unsafe { std::slice::from_raw_parts_mut(span.data, span.len) };
    match window.read(span.offset, into) {
        Ok(()) => span.len as i64,
        Err(error) => code(&error),
    }
}

/// Copies from memory to a mapping.
///
/// # Safety
///
/// As [`Transfer::write`].
#[inline(always)]
unsafe fn write(window: &mut Mapping, span: Span) -> i64 {
    // SAFETY: the caller vouches for the memory.
    let from = unsafe { std::slice::from_raw_parts(span.data, span.len) };
    match window.write(span.offset, from) {
        Ok(()) => span.len as i64,
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

impl Transfer for MmapCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let huge = matches!(config.engine, EnginePlan::Mmap { thp: true });
        let files = (0..config.files).map(|_| None).collect();
        Ok(MmapCalls { files, huge, pattern: config.pattern })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        let advice = (self.huge, self.pattern);
        let Some(place) = self.files.get_mut(file.get()) else { return Ok(()) };
        *place = None;
        let Some((target, fd)) = target.and_then(|target| Some((target, target.fd.as_ref()?)))
        else {
            return Ok(());
        };
        if target.kind == FileKind::Pipe || !target.kind.has_path() {
            return Err(EngineError::plain("ioengine=mmap cannot map a pipe or socket")
                .help("To fix: use ioengine=psync"));
        }
        let mut mapped = Mapped::new(target, fd);
        if target.len > Bytes::ZERO {
            mapped.window(target.offset.0, 1, advice).map_err(|error| {
                let mapping = EngineError::from_sys("ioengine=mmap", &error);
                match (error.op, error.errno) {
                    ("madvise", Errno::EINVAL) if advice.0 => {
                        mapping.help("To fix: drop thp=1; this kernel has no transparent huge pages for this file")
                    }
                    (_, Errno::ENODEV) => mapping.help("this file cannot be mapped. To fix: use ioengine=psync"),
                    _ => mapping,
                }
            })?;
        }
        *place = Some(mapped);
        Ok(())
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        let mapped = self.mapped(file.index);
        let window = mapped.and_then(|mapped| mapped.at_once(span.offset, span.len));
        match window {
            // SAFETY: the caller vouches for the memory.
            Some(window) => unsafe { read(window, span) },
            // SAFETY: the caller vouches for the memory.
            None => unsafe { self.read_moved(file.index, span.data, span.len, span.offset) },
        }
    }

    /// Returns `EBADF` if the file is mapped for reading only.
    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let mapped = self.mapped(file.index);
        let window = mapped.and_then(|mapped| mapped.at_once(span.offset, span.len));
        match window {
            // SAFETY: the caller vouches for the memory.
            Some(window) => unsafe { write(window, span) },
            // SAFETY: the caller vouches for the memory.
            None => unsafe { self.write_moved(file.index, span.data, span.len, span.offset) },
        }
    }

    /// Syncs with `msync(2)` if the mapping covers the whole region. If a window has moved over the
    /// region, it uses `fsync(2)`, which also writes out what was changed through earlier mappings.
    fn dataless(&mut self, file: File, kind: FileKind, op: &Op) -> Outcome {
        if matches!(op.kind, OpKind::Fsync | OpKind::Fdatasync)
            && let Some(mapped) = self.mapped(file.index)
            && mapped.is_whole()
            && let Some(window) = &mapped.window
        {
            return match window.sync(window.offset(), window.len()) {
                Ok(()) => Outcome::ok(0),
                Err(error) => Outcome::err(error.errno),
            };
        }
        dataless::carry_out(file.fd, kind, op)
    }
}
