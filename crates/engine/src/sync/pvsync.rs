//! `pvsync`: `preadv(2)` and `pwritev(2)` with one buffer.

use super::{File, Span, Transfer};
use crate::error::raw_result;
use crate::{EngineConfig, EngineError};

/// The system calls `preadv(2)` and `pwritev(2)`.
#[derive(Debug)]
pub struct PvsyncCalls;

impl Transfer for PvsyncCalls {
    fn new(_config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(PvsyncCalls)
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        let vector = libc::iovec { iov_base: span.data.cast(), iov_len: span.len };
        // SAFETY: the caller vouches for the memory that the one entry describes.
        raw_result(unsafe { libc::preadv(file.fd, &raw const vector, 1, span.offset as i64) } as i64)
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let vector = libc::iovec { iov_base: span.data.cast(), iov_len: span.len };
        // SAFETY: the caller vouches for the memory that the one entry describes.
        raw_result(
            unsafe { libc::pwritev(file.fd, &raw const vector, 1, span.offset as i64) } as i64
        )
    }
}
