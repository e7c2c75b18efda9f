//! `libpmem` and `dev-dax`: copies to and from a mapping of persistent memory.
//!
//! A write stores to the mapping and flushes the caches of the CPU, without a system call: it writes back each cache
//! line with the best instruction of the CPU, or stores past the caches. A flush of the job is a fence. That is
//! enough, because the file system has made durable where a page belongs before the first store to it (`MAP_SYNC`),
//! and a device-DAX device has no file system. The kernel refuses `MAP_SYNC` for files that are not in persistent
//! memory, and so does the engine: stores to their mapping are not durable.
//!
//! The library PMDK does the same. fiord does not use it.

use std::os::fd::AsFd;

use fiord_plan::{EnginePlan, PmemPlan};
use fiord_sys::mapping::Mapping;
use fiord_sys::persistent_memory::{LineFlush, PersistentWrite, drain};
use fiord_types::{Bytes, Errno, FileIndex};

use super::mapped::{MapOptions, MappedFiles};
use super::{File, Span, Transfer};
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome};

/// The mappings of all files, and how writes reach the memory.
#[derive(Debug)]
pub struct PmemCalls {
    /// The word after `ioengine=`, for messages.
    name: &'static str,
    files: MappedFiles,
    how: PersistentWrite,
}

/// The alignment of mappings of a device-DAX device.
fn alignment(device: impl AsFd) -> Result<Bytes, EngineError> {
    let node = fiord_sys::file::facts_of(device).ok().and_then(|facts| facts.node);
    node.and_then(fiord_sys::block::dax_alignment).ok_or_else(|| {
        EngineError::plain("this is not a device-DAX character device")
            .help("To fix: name one, such as /dev/dax0.0")
    })
}

/// The error of an engine for a file that cannot be mapped.
fn refused(engine: &str, error: &fiord_sys::Error) -> EngineError {
    match error.errno {
        // EINVAL: a kernel before 4.15, which does not know `MAP_SYNC`.
        Errno::EOPNOTSUPP | Errno::EINVAL => EngineError {
            what: format!(
                "ioengine={engine}: the file is not in persistent memory: the kernel does not map it with MAP_SYNC \
                 ({})",
                error.errno
            ),
            help: Some(
                "To fix: use a file on ext4 or XFS that is mounted with `-o dax` on persistent memory; \
                 ioengine=mmap maps any file, and pmem_force=1 tries the job without durability"
                    .into(),
            ),
            errno: Some(error.errno),
        },
        _ => EngineError::from_sys(&format!("ioengine={engine}"), error),
    }
}

impl Transfer for PmemCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let (plan, synchronous) = match &config.engine {
            EnginePlan::Libpmem(plan) => (*plan, !plan.any_file),
            // It has no file system that would have anything to make durable.
            EnginePlan::DevDax(plan) => (*plan, false),
            _ => return Err(EngineError::other_engine()),
        };
        let PmemPlan { non_temporal, drain, .. } = plan;
        let name = config.engine.def().name;
        let flush = LineFlush::of_this_cpu().ok_or_else(|| {
            EngineError::plain(format!(
                "ioengine={name}: fiord has no instructions that flush the caches of this kind of CPU"
            ))
            .help("To fix: run it on an x86-64 CPU, or use ioengine=mmap")
        })?;
        let options = MapOptions { synchronous, ..MapOptions::default() };
        Ok(PmemCalls {
            name,
            files: MappedFiles::new(config.files, options),
            how: PersistentWrite { flush, non_temporal, drain },
        })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        self.files.detach(file);
        // Another thread may look at the file next.
        drain();
        let Some((target, fd)) = target.and_then(|target| Some((target, target.fd.as_ref()?)))
        else {
            return Ok(());
        };
        let grain = match target.kind {
            FileKind::Char => alignment(&**fd)?,
            _ => Bytes(1),
        };
        self.files.attach(file, target, grain).map_err(|error| refused(self.name, &error))
    }

    #[inline(always)]
    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        // SAFETY: the caller vouches for the memory.
        unsafe { self.files.read(file.index, span) }
    }

    /// Returns `EBADF` if the file is mapped for reading only.
    #[inline(always)]
    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let how = self.how;
        let store = |window: &mut Mapping, offset, from: &[u8]| window.persist(offset, from, how);
        // SAFETY: the caller vouches for the memory.
        unsafe { self.files.write(file.index, span, store) }
    }

    /// A sync waits until the earlier writes have left the caches. The planner refuses trims.
    fn dataless(&mut self, _file: File, _kind: FileKind, op: &Op) -> Outcome {
        match op.kind {
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => {
                drain();
                Outcome::ok(0)
            }
            OpKind::Read | OpKind::Write | OpKind::Trim => Outcome::err(Errno::EINVAL),
        }
    }
}

impl Drop for PmemCalls {
    fn drop(&mut self) {
        drain();
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::super::Libpmem;
    use super::*;
    use crate::{Engine, IoAttributes, Queued};

    const LEN: u64 = 3 << 12;

    /// An empty file of [`LEN`] bytes on an ordinary file system.
    fn file(name: &str) -> (PathBuf, Attachment) {
        let path = std::env::temp_dir().join(format!("fiord-pmem-{}-{name}", std::process::id()));
        let file = std::fs::File::options();
        let file = { file }.read(true).write(true).create(true).truncate(true).open(&path).unwrap();
        file.set_len(LEN).unwrap();
        let fd = Some(Arc::new(OwnedFd::from(file)));
        let (offset, len) = (Bytes(0), Bytes(LEN));
        (path, Attachment { fd, kind: FileKind::Regular, offset, len, read_only: false })
    }

    fn engine(plan: PmemPlan) -> Libpmem {
        Libpmem::new(&EngineConfig::plain(EnginePlan::Libpmem(plan), 1, 4096)).unwrap()
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn a_file_outside_of_persistent_memory_is_refused() {
        let (path, target) = file("refused");
        let error = engine(PmemPlan::default()).attach(FileIndex(0), &target).unwrap_err();
        assert!(error.what.contains("not in persistent memory"), "{error}");
        assert!(error.help.unwrap().contains("-o dax"));
        std::fs::remove_file(path).unwrap();
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn a_character_device_without_dax_is_refused() {
        let plan = EnginePlan::DevDax(PmemPlan::default());
        let mut engine = super::super::DevDax::new(&EngineConfig::plain(plan, 1, 4096)).unwrap();
        let zero = std::fs::File::options().read(true).write(true).open("/dev/zero").unwrap();
        let fd = Some(Arc::new(OwnedFd::from(zero)));
        let (offset, len, kind) = (Bytes(0), Bytes(LEN), FileKind::Char);
        let target = Attachment { fd, kind, offset, len, read_only: false };
        let error = engine.attach(FileIndex(0), &target).unwrap_err();
        assert!(error.what.contains("not a device-DAX"), "{error}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn writes_reach_the_file_and_reads_return_them() {
        for (number, non_temporal) in [false, true].into_iter().enumerate() {
            let (path, target) = file(&format!("writes-{number}"));
            let mut engine = engine(PmemPlan { non_temporal, drain: false, any_file: true });
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
            assert_eq!(run(OpKind::Write, 4096, 9), (Ok(4096), 9));
            assert_eq!(run(OpKind::Fsync, 0, 1).0, Ok(0));
            assert_eq!(run(OpKind::Read, 4096, 1), (Ok(4096), 9));
            assert_eq!(run(OpKind::Read, 0, 1), (Ok(4096), 0));
            // A mapping cannot extend the file.
            assert_eq!(run(OpKind::Write, LEN, 1).0, Err(Errno::EIO));
            assert_eq!(run(OpKind::Trim, 0, 1).0, Err(Errno::EINVAL));
            assert_eq!(std::fs::read(&path).unwrap()[4096..8192], [9; 4096]);
            std::fs::remove_file(path).unwrap();
        }
    }
}
