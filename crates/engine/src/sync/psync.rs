//! `psync`: `pread(2)` and `pwrite(2)`. The default engine.

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
        raw_result(
            unsafe { libc::pread(file.fd, span.data.cast(), span.len, span.offset as i64) } as i64
        )
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        raw_result(
            unsafe { libc::pwrite(file.fd, span.data.cast(), span.len, span.offset as i64) } as i64
        )
    }
}
