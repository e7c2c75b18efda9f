//! `pvsync2`: `preadv2(2)` and `pwritev2(2)`, which take flags for each I/O.

use fiord_plan::{EnginePlan, Pvsync2Plan};
use fiord_types::FileIndex;

use super::{File, Span, Transfer};
use crate::error::raw_result;
use crate::flags::{self, RWF_HIPRI};
use crate::{Attachment, EngineConfig, EngineError};

/// The system calls `preadv2(2)` and `pwritev2(2)`, and their flags.
#[derive(Debug)]
pub struct Pvsync2Calls {
    read_flags: i32,
    write_flags: i32,
    /// Percentage of I/Os that are polled for.
    hipri_percent: u32,
    /// State of the xorshift generator that draws the polled I/Os.
    draw: u32,
}

impl Pvsync2Calls {
    /// Draws whether the next I/O is polled for: returns `RWF_HIPRI` or 0.
    #[inline(always)]
    fn hipri(&mut self) -> i32 {
        match self.hipri_percent {
            0 => 0,
            100.. => RWF_HIPRI,
            percent => {
                self.draw ^= self.draw << 13;
                self.draw ^= self.draw >> 17;
                self.draw ^= self.draw << 5;
                if (u64::from(self.draw) * 100) >> 32 < u64::from(percent) { RWF_HIPRI } else { 0 }
            }
        }
    }
}

impl Transfer for Pvsync2Calls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = match config.engine {
            EnginePlan::Pvsync2(plan) => plan,
            _ => Pvsync2Plan::default(),
        };
        let (read_flags, write_flags) = flags::of(plan.uncached, plan.nowait, config.atomic);
        let hipri_percent = plan.hipri_percent.map_or(0, |percent| percent.get().into());
        Ok(Pvsync2Calls { read_flags, write_flags, hipri_percent, draw: 0x9e37_79b9 })
    }

    fn attached(
        &mut self,
        _file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        target.map_or(Ok(()), |target| flags::check(target, self.write_flags))
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        let flags = self.read_flags | self.hipri();
        let vector = libc::iovec { iov_base: span.data.cast(), iov_len: span.len };
        // SAFETY: the caller vouches for the memory that the one entry describes.
        raw_result(unsafe {
            libc::preadv2(file.fd, &raw const vector, 1, span.offset as i64, flags)
        } as i64)
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let flags = self.write_flags | self.hipri();
        let vector = libc::iovec { iov_base: span.data.cast(), iov_len: span.len };
        // SAFETY: the caller vouches for the memory that the one entry describes.
        raw_result(unsafe {
            libc::pwritev2(file.fd, &raw const vector, 1, span.offset as i64, flags)
        } as i64)
    }
}
