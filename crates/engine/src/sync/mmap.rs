//! `mmap`: `memcpy` to and from a mapping of the file.
//!
//! The engine maps the whole region of the file that the job uses. If the region is larger than 64
//! GiB, the engine maps a window of that size and moves it. A mapping cannot extend a file, so a
//! write past the end is `EIO`. Where an access would raise `SIGBUS`, the op ends with an errno
//! instead.

use fiord_plan::{EnginePlan, MmapPlan};
use fiord_sys::mapping::Mapping;
use fiord_types::{Bytes, Errno, FileIndex};

use super::mapped::{MapOptions, MappedFiles};
use super::{File, Span, Transfer};
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome, dataless};

/// The mappings of all files.
#[derive(Debug)]
pub struct MmapCalls {
    files: MappedFiles,
    /// `thp=1`.
    huge: bool,
}

impl Transfer for MmapCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let huge = matches!(config.engine, EnginePlan::Mmap(MmapPlan { thp: true }));
        let options = MapOptions { huge, pattern: config.pattern, synchronous: false };
        Ok(MmapCalls { files: MappedFiles::new(config.files, options), huge })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        self.files.detach(file);
        let Some(target) = target.filter(|target| target.fd.is_some()) else { return Ok(()) };
        if target.kind == FileKind::Pipe || !target.kind.has_path() {
            return Err(EngineError::plain("ioengine=mmap cannot map a pipe or socket")
                .help("To fix: use ioengine=psync"));
        }
        self.files.attach(file, target, Bytes(1)).map_err(|error| {
            let mapping = EngineError::from_sys("ioengine=mmap", &error);
            match (error.op, error.errno) {
                ("madvise", Errno::EINVAL) if self.huge => mapping.help(
                    "To fix: leave out thp=1; this kernel has no transparent huge pages for this file",
                ),
                (_, Errno::ENODEV) => {
                    mapping.help("this file cannot be mapped. To fix: use ioengine=psync")
                }
                _ => mapping,
            }
        })
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.files.read(file.index, span) }
    }

    /// Returns `EBADF` if the file is mapped for reading only.
    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.files.write(file.index, span, Mapping::write) }
    }

    /// Syncs with `msync(2)` if the mapping covers the whole region. If a window has moved over the
    /// region, it uses `fsync(2)`, which also writes out what was changed through earlier mappings.
    fn dataless(&mut self, file: File, kind: FileKind, op: &Op) -> Outcome {
        if matches!(op.kind, OpKind::Fsync | OpKind::Fdatasync)
            && let Some(window) = self.files.whole(file.index)
        {
            return match window.sync(window.offset(), window.len()) {
                Ok(()) => Outcome::ok(0),
                Err(error) => Outcome::err(error.errno),
            };
        }
        dataless::carry_out(file.fd, kind, op)
    }
}
