//! `psync`: `pread(2)` and `pwrite(2)`. The default engine.
//!
//! The calls are made without the C library's wrappers: in a program with several threads those
//! are points of cancellation, which costs two locked instructions an I/O. Nobody cancels threads
//! here.

use super::{File, Span, Transfer};
use crate::error::raw_result;
use crate::{EngineConfig, EngineError};

/// The calls.
#[derive(Debug)]
pub struct Call;

impl Transfer for Call {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        config.refuse_atomic("psync")?;
        Ok(Call)
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

/// One of the two calls, which take the same arguments.
///
/// # Safety
/// As [`Transfer::read`] or [`Transfer::write`], whichever `number` names.
#[inline(always)]
unsafe fn call(number: libc::c_long, file: File, span: Span) -> i64 {
    // SAFETY: the caller vouches for the memory.
    raw_result(unsafe { libc::syscall(number, file.fd, span.data, span.len, span.offset as i64) })
}
