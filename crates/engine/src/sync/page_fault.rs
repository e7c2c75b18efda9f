//! `page_fault`: `memcpy` to and from anonymous memory.
//!
//! Each file is private anonymous memory as long as the region that the job uses. The kernel provides a
//! page when it is first accessed, so the first I/O on a page causes a page fault, which the report
//! counts (`minf`). Later I/Os on it, also those of further loops, cause none, with one exception: a read
//! of an untouched page maps the kernel's page of zeros, and the first write to it causes another fault.

use fiord_plan::EnginePlan;
use fiord_sys::memory::{MemoryRegion, MemorySource};
use fiord_types::{Errno, FileIndex};

use super::{File, Span, Transfer};
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome};

/// The memory of all files.
#[derive(Debug)]
pub struct PageFaultCalls {
    files: Vec<Option<Anonymous>>,
    /// Requests or forbids transparent huge pages.
    thp: Option<bool>,
}

/// The memory of one file.
#[derive(Debug)]
struct Anonymous {
    /// First byte of the region that the job uses.
    start: u64,
    memory: MemoryRegion,
}

impl PageFaultCalls {
    /// Address of the memory of an I/O.
    ///
    /// # Errors
    ///
    /// The value that the I/O returns, if it lies outside the memory.
    #[inline(always)]
    fn at(&self, file: FileIndex, span: Span) -> Result<*mut u8, i64> {
        let file = self.files.get(file.get()).and_then(Option::as_ref);
        let Anonymous { start, memory } = file.ok_or(Errno::EBADF.as_result())?;
        let at = span.offset.checked_sub(*start).ok_or(Errno::EINVAL.as_result())?;
        let inside = at.checked_add(span.len as u64).is_some_and(|end| end <= memory.len() as u64);
        if inside {
            Ok(memory.as_ptr().wrapping_add(at as usize))
        } else {
            Err(Errno::EIO.as_result())
        }
    }
}

impl Transfer for PageFaultCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let thp = match config.engine {
            EnginePlan::PageFault(plan) => plan.thp,
            _ => None,
        };
        Ok(PageFaultCalls { files: (0..config.files).map(|_| None).collect(), thp })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        let Some(place) = self.files.get_mut(file.get()) else { return Ok(()) };
        *place = None;
        let Some(target) = target else { return Ok(()) };
        let len = usize::try_from(target.len.0).unwrap_or(usize::MAX);
        // A huge page needs an aligned place.
        let align = if self.thp == Some(true) { 2 << 20 } else { 1 };
        let memory = MemoryRegion::new(&MemorySource::Mmap(None), len, align)
            .map_err(|error| EngineError::from_sys("ioengine=page_fault", &error))?;
        if let Some(on) = self.thp {
            memory.transparent_huge_pages(on).map_err(|error| {
                EngineError::from_sys("ioengine=page_fault", &error)
                    .help("To fix: leave out thp; this kernel has no transparent huge pages")
            })?;
        }
        *place = Some(Anonymous { start: target.offset.0, memory });
        Ok(())
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        match self.at(file.index, span) {
            // SAFETY: the source lies in the memory of the file, which only this engine uses; the caller
            // vouches for the destination.
            Ok(from) => unsafe {
                std::ptr::copy_nonoverlapping(from, span.data, span.len);
                span.len as i64
            },
            Err(code) => code,
        }
    }

    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        match self.at(file.index, span) {
            // SAFETY: the destination lies in the memory of the file, which only this engine uses; the
            // caller vouches for the source.
            Ok(to) => unsafe {
                std::ptr::copy_nonoverlapping(span.data, to, span.len);
                span.len as i64
            },
            Err(code) => code,
        }
    }

    /// Syncs do nothing, as in fio: memory has no storage behind it. The planner refuses trims.
    fn dataless(&mut self, _file: File, _kind: FileKind, op: &Op) -> Outcome {
        match op.kind {
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => Outcome::ok(0),
            OpKind::Read | OpKind::Write | OpKind::Trim => Outcome::err(Errno::EINVAL),
        }
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::PageFaultPlan;
    use fiord_sys::usage::ResourceUsage;
    use fiord_types::Bytes;

    use super::super::PageFault;
    use super::*;
    use crate::{Engine, IoAttributes, Queued};

    /// Minor faults of `passes` passes of writes of a page over 8 MiB of memory.
    fn faults(thp: Option<bool>, passes: u64) -> u64 {
        const LEN: u64 = 8 << 20;
        let config = EngineConfig::plain(EnginePlan::PageFault(PageFaultPlan { thp }), 1, 4096);
        let mut engine = PageFault::new(&config).unwrap();
        let (offset, len) = (Bytes(1 << 20), Bytes(LEN));
        let target =
            Attachment { fd: None, kind: FileKind::Virtual, offset, len, read_only: false };
        engine.attach(FileIndex(0), &target).unwrap();
        let mut slot = engine.take_slots().pop().unwrap();
        engine.buffer(&mut slot).fill(7);
        let before = ResourceUsage::of_thread().unwrap().minor_faults;
        for at in (0..LEN * passes).step_by(4096) {
            let offset = offset.0 + at % LEN;
            let attributes = IoAttributes::PLAIN;
            let op = Op {
                kind: OpKind::Write,
                file: FileIndex(0),
                offset,
                len: 4096,
                at: 0,
                attributes,
            };
            let Queued::Done(back, outcome) = engine.queue(slot, &op) else { panic!("pending") };
            assert_eq!(outcome, Outcome::ok(4096));
            slot = back;
        }
        ResourceUsage::of_thread().unwrap().minor_faults - before
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn each_page_faults_once() {
        for passes in [1, 3] {
            let faults = faults(Some(false), passes);
            assert!((2048..2060).contains(&faults), "{passes} passes: {faults}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn outside_of_the_memory_is_an_error_and_reads_return_what_was_written() {
        let config =
            EngineConfig::plain(EnginePlan::PageFault(PageFaultPlan { thp: None }), 1, 4096);
        let mut engine = PageFault::new(&config).unwrap();
        let (offset, len) = (Bytes(4096), Bytes(8192));
        let target =
            Attachment { fd: None, kind: FileKind::Virtual, offset, len, read_only: false };
        engine.attach(FileIndex(0), &target).unwrap();
        let mut slot = engine.take_slots().pop();
        let mut run = |kind, offset, fill: u8| {
            let mut token = slot.take().unwrap();
            engine.buffer(&mut token).fill(fill);
            let attributes = IoAttributes::PLAIN;
            let op = Op { kind, file: FileIndex(0), offset, len: 4096, at: 0, attributes };
            let Queued::Done(mut back, outcome) = engine.queue(token, &op) else {
                panic!("pending")
            };
            let first = engine.buffer(&mut back)[0];
            slot = Some(back);
            (outcome.get(), first)
        };
        assert_eq!(run(OpKind::Write, 8192, 9), (Ok(4096), 9));
        assert_eq!(run(OpKind::Read, 8192, 1), (Ok(4096), 9));
        assert_eq!(run(OpKind::Read, 4096, 1), (Ok(4096), 0));
        assert_eq!(run(OpKind::Read, 0, 1).0, Err(Errno::EINVAL));
        assert_eq!(run(OpKind::Write, 12288, 1).0, Err(Errno::EIO));
        assert_eq!(run(OpKind::Fsync, 0, 1).0, Ok(0));
    }
}
