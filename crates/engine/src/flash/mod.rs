//! `mtd`: `pread(2)`, `pwrite(2)` and erases on the character device of a raw flash. A trim erases.
//!
//! Most flash must be erased before it is written, in blocks that are larger than a write. The kernel does not check
//! that: a write over older data stores a mixture of both. The engine counts such writes as far as it knows the
//! flash. A job that verifies checks that the flash is blank before each write unless it has just erased it, and fails
//! a write over older data, because its data could not be read back. That check is an additional read.

mod blocks;

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use fiord_plan::{EnginePlan, MtdPlan};
use fiord_stat::engine::{EngineReport, FlashCount, FlashCounts};
use fiord_sys::flash::{self, EccCounts};
use fiord_types::{Errno, FileIndex};

use crate::error::raw_result;
use crate::sync::psync::PsyncCalls;
use crate::sync::{File, Span, SyncEngine, Transfer};
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome};
use blocks::{Blankness, EraseBlocks};

/// `ioengine=mtd`.
pub type Mtd = SyncEngine<FlashCalls>;

/// The system calls on raw flash.
#[derive(Debug)]
pub struct FlashCalls {
    calls: PsyncCalls,
    /// `skip_bad`: fail I/Os on bad blocks and do not issue them.
    skip_bad: bool,
    /// The job verifies what it writes.
    verifies: bool,
    flashes: Vec<Option<OpenFlash>>,
    /// What happened to flashes that were detached.
    counts: FlashCounts,
    /// Why the engine failed an I/O itself.
    why: Option<String>,
}

/// An attached flash.
#[derive(Debug)]
struct OpenFlash {
    fd: Arc<OwnedFd>,
    blocks: EraseBlocks,
    needs_erase: bool,
    /// The counts when it was attached; `None` if the flash counts none.
    ecc: Option<EccCounts>,
    counts: FlashCounts,
}

impl OpenFlash {
    /// Looks at a flash and at its bad blocks.
    fn new(target: &Attachment, fd: &Arc<OwnedFd>) -> Result<Self, EngineError> {
        let failed = |error| EngineError::from_sys("ioengine=mtd", &error);
        let facts = match flash::geometry(fd) {
            Ok(facts) if target.kind == FileKind::Char => facts,
            _ => {
                let what = "ioengine=mtd: this is not the character device of a raw flash";
                let help = "To fix: name one (/dev/mtd0; `cat /proc/mtd` lists them)";
                return Err(EngineError { errno: Some(Errno::ENOTTY), ..EngineError::plain(what) }
                    .help(help));
            }
        };
        let (offset, len) = (target.offset.0, target.len.0);
        let mut blocks = EraseBlocks::new(facts.erase_block.0, offset, len);
        blocks.find_bad(|offset| flash::is_bad(fd, offset)).map_err(failed)?;
        Ok(OpenFlash {
            blocks,
            needs_erase: facts.needs_erase,
            ecc: flash::ecc(fd).ok(),
            counts: FlashCounts::default(),
            fd: fd.clone(),
        })
    }

    /// What happened so far.
    fn counts(&self) -> FlashCounts {
        let mut counts = self.counts;
        self.blocks.add_to(&mut counts);
        if let Some((then, now)) = self.ecc.zip(flash::ecc(&self.fd).ok()) {
            let (corrected, failed) = now.since(then);
            counts.add(FlashCount::CorrectedBits, corrected);
            counts.add(FlashCount::Uncorrected, failed);
        }
        counts
    }
}

impl FlashCalls {
    /// Checks an I/O before it is issued. Returns the errno of one that must not be issued.
    fn check(&mut self, file: FileIndex, offset: u64, len: u64) -> Result<(), Errno> {
        let flash = self.flashes.get_mut(file.get()).and_then(Option::as_mut);
        let flash = flash.ok_or(Errno::EBADF)?;
        if !self.skip_bad {
            return Ok(());
        }
        let Some(bad) = flash.blocks.bad_in(offset, len) else { return Ok(()) };
        flash.counts.add(FlashCount::Skipped, 1);
        self.why = Some(format!("the erase block at {bad} is bad, and skip_bad=1 skips it"));
        Err(Errno::EIO)
    }

    /// Checks that the flash is blank where the job writes.
    ///
    /// # Errors
    ///
    /// The errno of a write that would store a mixture of old and new data and that the job wants to verify.
    fn check_blank(&mut self, file: FileIndex, span: Span) -> Result<(), Errno> {
        let flash = self.flashes.get_mut(file.get()).and_then(Option::as_mut);
        let flash = flash.ok_or(Errno::EBADF)?;
        if !flash.needs_erase {
            return Ok(());
        }
        let before = flash.blocks.before(span.offset, span.len as u64);
        let over = match before {
            Blankness::Blank => false,
            _ if self.verifies => !is_blank(flash.fd.as_fd(), span)?,
            Blankness::Written => true,
            Blankness::Unknown => false,
        };
        flash.counts.add(FlashCount::Overwrites, over.into());
        if over && self.verifies {
            self.why = Some(
                "the flash is not erased there: a write would store a mixture of old and new data. To fix: \
                 erase it first (`rw=trim`), or use `rw=trimwrite`"
                    .to_owned(),
            );
            return Err(Errno::EINVAL);
        }
        flash.blocks.wrote(span.offset, span.len as u64);
        Ok(())
    }

    /// Erases a range.
    fn erase(&mut self, op: &Op) -> Result<(), Errno> {
        let (offset, len) = (op.offset, u64::from(op.len));
        self.check(op.file, offset, len)?;
        let flash = self.flashes.get_mut(op.file.get()).and_then(Option::as_mut);
        let flash = flash.ok_or(Errno::EBADF)?;
        let result = flash::erase(&flash.fd, offset, len);
        flash.blocks.erased(offset, len, result.is_ok());
        result.map_err(|error| error.errno)
    }
}

impl Transfer for FlashCalls {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let skip_bad = matches!(config.engine, EnginePlan::Mtd(MtdPlan { skip_bad: true }));
        Ok(FlashCalls {
            calls: PsyncCalls::new(config)?,
            skip_bad,
            verifies: config.verifies,
            flashes: (0..config.files).map(|_| None).collect(),
            counts: FlashCounts::default(),
            why: None,
        })
    }

    fn attached(
        &mut self,
        file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        let Some(place) = self.flashes.get_mut(file.get()) else { return Ok(()) };
        if let Some(had) = place.take() {
            self.counts.merge(&had.counts());
        }
        if let Some((target, fd)) = target.and_then(|target| Some((target, target.fd.as_ref()?))) {
            *place = Some(OpenFlash::new(target, fd)?);
        }
        Ok(())
    }

    fn report(&self) -> EngineReport {
        let mut all = self.counts;
        self.flashes.iter().flatten().for_each(|flash| all.merge(&flash.counts()));
        EngineReport { flash: Some(all), ..EngineReport::default() }
    }

    fn explain(&mut self) -> Option<String> {
        self.why.take()
    }

    unsafe fn read(&mut self, file: File, span: Span) -> i64 {
        if let Err(errno) = self.check(file.index, span.offset, span.len as u64) {
            return errno.as_result();
        }
        // SAFETY: the caller vouches for the memory.
        unsafe { self.calls.read(file, span) }
    }

    unsafe fn write(&mut self, file: File, span: Span) -> i64 {
        let checked = self
            .check(file.index, span.offset, span.len as u64)
            .and_then(|()| self.check_blank(file.index, span));
        if let Err(errno) = checked {
            return errno.as_result();
        }
        // SAFETY: the caller vouches for the memory.
        unsafe { self.calls.write(file, span) }
    }

    fn dataless(&mut self, _file: File, _kind: FileKind, op: &Op) -> Outcome {
        match op.kind {
            OpKind::Trim => self.erase(op).map_or_else(Outcome::err, |()| Outcome::ok(0)),
            // The device has no such call: a write is on the flash when it completes.
            _ => Outcome::ok(0),
        }
    }
}

/// Whether all bits of a range of the flash are 1.
fn is_blank(fd: BorrowedFd<'_>, span: Span) -> Result<bool, Errno> {
    use std::os::fd::AsRawFd;

    let mut piece = [0u8; 4096];
    let mut at = 0;
    while at < span.len {
        let len = (span.len - at).min(piece.len());
        let offset = (span.offset + at as u64).cast_signed();
        // SAFETY: `piece` has room for `len` bytes.
        let ret = unsafe { libc::pread(fd.as_raw_fd(), piece.as_mut_ptr().cast(), len, offset) };
        match raw_result(ret as i64) {
            0 => return Ok(true),
            read if read > 0 => {
                let read = read as usize;
                if piece[..read].iter().any(|byte| *byte != 0xff) {
                    return Ok(false);
                }
                at += read;
            }
            errno => return Err(Errno::from_result(errno)),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use fiord_types::Bytes;

    use super::*;
    use crate::Engine;

    #[test]
    fn what_is_no_raw_flash_is_refused() {
        for (path, kind) in [("/dev/null", FileKind::Char), ("/dev/zero", FileKind::Block)] {
            let config = EngineConfig::plain(EnginePlan::Mtd(MtdPlan { skip_bad: false }), 1, 512);
            let mut engine = Mtd::new(&config).unwrap();
            let fd = Arc::new(std::fs::File::open(path).unwrap().into());
            let (offset, len) = (Bytes::ZERO, Bytes(4096));
            let target = Attachment { fd: Some(fd), kind, offset, len, read_only: true };
            let error = engine.attach(FileIndex(0), &target).unwrap_err();
            assert_eq!(error.errno, Some(Errno::ENOTTY));
            assert!(error.to_string().contains("not the character device of a raw flash"));
        }
    }

    #[test]
    fn only_ones_are_blank() {
        let path = std::env::temp_dir().join(format!("fiord-blank-{}", std::process::id()));
        let mut bytes = vec![0xff; 10_000];
        bytes[9_000] = 0xfe;
        std::fs::write(&path, &bytes).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        let blank = |offset, len| {
            is_blank(file.as_fd(), Span { data: std::ptr::null_mut(), len, offset }).unwrap()
        };
        assert!(blank(0, 9_000) && blank(9_001, 999));
        assert!(!blank(0, 9_001) && !blank(8_192, 1_000));
    }
}
