//! `mmap`: `memcpy` to and from a mapping of the file.
//!
//! What is used of a file is mapped as a whole, or a window of it that moves where it is larger
//! than 64 GiB. A mapping cannot make a file longer: a write past its end is `EIO`. Where an
//! access would raise `SIGBUS` the op ends with an errno instead.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use fiord_plan::EnginePlan;
use fiord_sys::mapping::{Access, Mapping, Pattern};

use super::{File, Span, Transfer};
use crate::{EngineConfig, EngineError, FileKind, Op, OpKind, Outcome, Target, dataless};

/// Bytes mapped of a file at a time at most: enough to seldom move, and far from the end of the
/// address space (128 TiB) with a thousand jobs.
const WINDOW: u64 = 64 << 30;

/// The mappings.
#[derive(Debug)]
pub struct Call {
    files: Vec<Option<Mapped>>,
    huge: bool,
    pattern: Option<Pattern>,
}

#[derive(Debug)]
struct Mapped {
    fd: Arc<OwnedFd>,
    access: Access,
    /// The used part of the file.
    start: u64,
    end: u64,
    /// No byte from here on is in the file. Looked up again before it is believed.
    size: u64,
    regular: bool,
    window: Option<Mapping>,
}

impl Mapped {
    fn new(target: &Target, fd: &Arc<OwnedFd>) -> Self {
        Mapped {
            fd: fd.clone(),
            access: if target.read_only { Access::Read } else { Access::Write },
            start: target.offset,
            end: target.offset.saturating_add(target.len),
            size: 0,
            regular: target.kind == FileKind::Regular,
            window: None,
        }
    }

    /// How many bytes of `len` from `offset` are in the file.
    #[inline(always)]
    fn present(&mut self, offset: u64, len: usize) -> usize {
        let end = offset.saturating_add(len as u64);
        if end <= self.size { len } else { self.present_now(offset, len) }
    }

    #[cold]
    fn present_now(&mut self, offset: u64, len: usize) -> usize {
        self.size = match fiord_sys::file::facts_of(&*self.fd) {
            Ok(facts) if self.regular => facts.size,
            _ => u64::MAX,
        };
        len.min(usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX))
    }

    /// The mapping with these bytes in it.
    #[inline(always)]
    fn window(
        &mut self,
        offset: u64,
        len: usize,
        advice: (bool, Option<Pattern>),
    ) -> Result<&mut Mapping, fiord_sys::Error> {
        let covered = self.window.as_ref().is_some_and(|window| window.covers(offset, len));
        if !covered {
            self.move_window(offset, len, advice)?;
        }
        self.window.as_mut().ok_or_else(|| fiord_sys::Error::new("mmap", libc::EINVAL))
    }

    #[cold]
    fn move_window(
        &mut self,
        offset: u64,
        len: usize,
        (huge, pattern): (bool, Option<Pattern>),
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
            window.advise(first, window.len(), Pattern::Huge)?;
        }
        self.window = Some(window);
        Ok(())
    }

    /// Whether the mapping is of all that is used.
    fn is_whole(&self) -> bool {
        self.window.as_ref().is_some_and(|window| {
            window.covers(self.start, usize::try_from(self.end - self.start).unwrap_or(usize::MAX))
        })
    }
}

impl Call {
    #[inline(always)]
    fn mapped(&mut self, file: File) -> Option<(&mut Mapped, (bool, Option<Pattern>))> {
        let advice = (self.huge, self.pattern);
        Some((self.files.get_mut(file.index as usize)?.as_mut()?, advice))
    }
}

impl Transfer for Call {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        config.refuse_atomic("mmap")?;
        let huge = matches!(config.engine, EnginePlan::Mmap { thp: true });
        let files = (0..config.files).map(|_| None).collect();
        Ok(Call { files, huge, pattern: config.pattern })
    }

    fn attached(&mut self, file: u32, target: Option<&Target>) -> Result<(), EngineError> {
        let advice = (self.huge, self.pattern);
        let Some(place) = self.files.get_mut(file as usize) else { return Ok(()) };
        *place = None;
        let Some((target, fd)) = target.and_then(|target| Some((target, target.fd.as_ref()?)))
        else {
            return Ok(());
        };
        if matches!(target.kind, FileKind::Pipe | FileKind::Virtual) {
            return Err(EngineError::plain("ioengine=mmap cannot map a pipe or socket")
                .help("use ioengine=psync"));
        }
        let mut mapped = Mapped::new(target, fd);
        if target.len > 0 {
            mapped.window(target.offset, 1, advice).map_err(|error| {
                let mapping = EngineError::from_sys("ioengine=mmap", &error);
                match (error.op, error.errno) {
                    ("madvise", libc::EINVAL) if advice.0 => {
                        mapping.help("drop thp=1: this kernel has no transparent huge pages for it")
                    }
                    (_, libc::ENODEV) => mapping.help("this file cannot be mapped: use psync"),
                    _ => mapping,
                }
            })?;
        }
        *place = Some(mapped);
        Ok(())
    }

    #[inline]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        let Some((mapped, advice)) = self.mapped(file) else { return -i64::from(libc::EBADF) };
        let len = mapped.present(span.offset, span.len);
        if len == 0 {
            return 0;
        }
        // SAFETY: the caller vouches for the memory.
        let into = unsafe { std::slice::from_raw_parts_mut(span.data, len) };
        let window = mapped.window(span.offset, len, advice);
        match window.and_then(|window| window.read(span.offset, into)) {
            Ok(()) => len as i64,
            // The file became shorter in between.
            Err(error) if error.errno == libc::ENODATA => -i64::from(libc::EIO),
            Err(error) => -i64::from(error.errno),
        }
    }

    #[inline]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let Some((mapped, advice)) = self.mapped(file) else { return -i64::from(libc::EBADF) };
        if mapped.access == Access::Read {
            return -i64::from(libc::EBADF);
        }
        let len = mapped.present(span.offset, span.len);
        if len == 0 {
            return if span.len == 0 { 0 } else { -i64::from(libc::EIO) };
        }
        // SAFETY: the caller vouches for the memory.
        let from = unsafe { std::slice::from_raw_parts(span.data, len) };
        let window = mapped.window(span.offset, len, advice);
        match window.and_then(|window| window.write(span.offset, from)) {
            Ok(()) => len as i64,
            Err(error) if error.errno == libc::ENODATA => -i64::from(libc::EIO),
            Err(error) => -i64::from(error.errno),
        }
    }

    /// `msync(2)` for syncs where all of the file is mapped; `fsync(2)`, which writes out what was
    /// changed through a mapping too, where a window has moved over it.
    fn dataless(&mut self, file: File, kind: FileKind, op: &Op) -> Outcome {
        if matches!(op.kind, OpKind::Fsync | OpKind::Fdatasync)
            && let Some((mapped, _)) = self.mapped(file)
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
