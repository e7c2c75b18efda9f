//! `sync`: `read(2)` and `write(2)`, with an `lseek(2)` before them when the file's position is not
//! where the I/O begins.

use super::{File, Span, Transfer};
use crate::error::raw_result;
use crate::{EngineConfig, EngineError, FileKind, Target};

/// The calls, and where each file's position is.
#[derive(Debug)]
pub struct Call {
    positions: Vec<Position>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Nobody knows.
    Unknown,
    /// Here.
    At(u64),
    /// It has none (a pipe): nothing to seek.
    None,
}

impl Position {
    /// What is known of a file that was just attached, or detached.
    pub(super) fn of(target: Option<&Target>) -> Self {
        match target {
            Some(target) if target.kind == FileKind::Pipe => Position::None,
            _ => Position::Unknown,
        }
    }

    /// Makes the file's position `offset`. False, with errno set, when that failed.
    #[inline(always)]
    pub(super) fn seek(&mut self, fd: i32, offset: u64) -> bool {
        if *self == Position::At(offset) || *self == Position::None {
            return true;
        }
        // SAFETY: takes no pointers.
        // (Some character devices take the call and stay at 0.)
        unsafe { libc::lseek(fd, offset as i64, libc::SEEK_SET) >= 0 }
    }

    /// The call that began at `offset` returned this.
    #[inline(always)]
    pub(super) fn moved(&mut self, offset: u64, ret: i64) {
        if *self != Position::None {
            *self = if ret >= 0 { Position::At(offset + ret as u64) } else { Position::Unknown };
        }
    }
}

impl Transfer for Call {
    const POSITIONED: bool = true;

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        config.refuse_atomic("sync")?;
        Ok(Call { positions: vec![Position::Unknown; config.files as usize] })
    }

    fn attached(&mut self, file: u32, target: Option<&Target>) -> Result<(), EngineError> {
        if let Some(position) = self.positions.get_mut(file as usize) {
            *position = Position::of(target);
        }
        Ok(())
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        let mut unknown = Position::Unknown;
        let position = self.positions.get_mut(file.index as usize).unwrap_or(&mut unknown);
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
        let position = self.positions.get_mut(file.index as usize).unwrap_or(&mut unknown);
        if !position.seek(file.fd, span.offset) {
            return raw_result(-1);
        }
        // SAFETY: the caller vouches for the memory.
        let ret = unsafe { libc::write(file.fd, span.data.cast(), span.len) } as i64;
        position.moved(span.offset, ret);
        raw_result(ret)
    }
}
