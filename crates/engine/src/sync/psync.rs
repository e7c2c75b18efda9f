//! `psync`: `pread(2)` and `pwrite(2)`. The default engine.

use super::{File, Span, Transfer};
use crate::{EngineConfig, EngineError, syscall};

/// The system calls `pread(2)` and `pwrite(2)`.
#[derive(Debug)]
pub struct PsyncCalls;

impl Transfer for PsyncCalls {
    fn new(_config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(PsyncCalls)
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        unsafe { call(libc::SYS_pread64, file, span) }
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        unsafe { call(libc::SYS_pwrite64, file, span) }
    }
}

/// Issues one of the two calls, which take the same arguments.
///
/// # Safety
///
/// As [`Transfer::read`] or [`Transfer::write`], whichever `number` names.
#[inline(always)]
unsafe fn call(number: libc::c_long, file: File, span: Span) -> i64 {
    let args = [file.fd as usize, span.data.expose_provenance(), span.len, span.offset as usize];
    // SAFETY: the caller vouches for the memory.
    unsafe { syscall::call4(number, args) }
}
