//! `sync`: `read(2)` and `write(2)`, after an `lseek(2)` if the file position is not at the offset
//! of the I/O.

use fiord_types::FileIndex;

use super::{File, Span, Transfer};
use crate::error::raw_result;
use crate::{Attachment, EngineConfig, EngineError, FileKind};

/// The system calls `read(2)` and `write(2)`, and the position of each file.
#[derive(Debug)]
pub struct SyncCalls {
    positions: Vec<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Not known: the next I/O seeks.
    Unknown,
    /// At this byte offset.
    At(u64),
    /// The file has no position (a pipe), so no I/O seeks.
    None,
}

impl Position {
    /// Position of a file that was just attached or detached.
    pub(super) fn of(target: Option<&Attachment>) -> Self {
        match target {
            Some(target) if target.kind == FileKind::Pipe => Position::None,
            _ => Position::Unknown,
        }
    }

    /// Moves the file position to `offset` if it is elsewhere. Returns `false`, with errno set, if
    /// that failed.
    #[inline(always)]
    pub(super) fn seek(&mut self, fd: i32, offset: u64) -> bool {
        if *self == Position::At(offset) || *self == Position::None {
            return true;
        }
        // SAFETY: the call takes no pointers. (Some character devices accept the call and stay at
        // 0.)
        unsafe { libc::lseek(fd, offset as i64, libc::SEEK_SET) >= 0 }
    }

    /// Notes that the call at `offset` returned `ret`.
    #[inline(always)]
    pub(super) fn moved(&mut self, offset: u64, ret: i64) {
        if *self != Position::None {
            *self = if ret >= 0 { Position::At(offset + ret as u64) } else { Position::Unknown };
        }
    }
}

impl Transfer for SyncCalls {
    const POSITIONED: bool = true;

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(SyncCalls { positions: vec![Position::Unknown; config.files as usize] })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        if let Some(position) = self.positions.get_mut(file.get()) {
            *position = Position::of(target);
        }
        Ok(())
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        let mut unknown = Position::Unknown;
        let position = self.positions.get_mut(file.index.get()).unwrap_or(&mut unknown);
        if !position.seek(file.fd, span.offset) {
            return raw_result(-1);
        }
        // SAFETY: the caller vouches for the memory.
        let ret = unsafe { libc::read(file.fd, span.data.cast(), span.len) } as i64;
        position.moved(span.offset, ret);
        raw_result(ret)
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let mut unknown = Position::Unknown;
        let position = self.positions.get_mut(file.index.get()).unwrap_or(&mut unknown);
        if !position.seek(file.fd, span.offset) {
            return raw_result(-1);
        }
        // SAFETY: the caller vouches for the memory.
        let ret = unsafe { libc::write(file.fd, span.data.cast(), span.len) } as i64;
        position.moved(span.offset, ret);
        raw_result(ret)
    }
}
