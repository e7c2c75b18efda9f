//! `gfapi`: one synchronous call at a time.

use std::ptr;

use fiord_types::{Errno, FileIndex, Nanos};

use super::volume::GlfsSession;
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::Requests;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Time, Want,
};

/// The `gfapi` engine.
pub struct Gfapi {
    session: GlfsSession,
    buffers: Buffers,
    requests: Requests,
    clock: MachineClock,
}

impl Gfapi {
    /// Loads the library and allocates the buffer.
    ///
    /// # Errors
    ///
    /// The library is missing, or the buffer cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(Gfapi {
            session: GlfsSession::new("gfapi", config)?,
            buffers: Buffers::new(config)?,
            requests: Requests::new(config),
            clock: config.clock,
        })
    }

    /// Carries out an op with the buffer `data`, which has room for it.
    fn call(&self, op: &Op, data: *mut u8) -> Outcome {
        let Some(volume) = &self.session.volume else { return Outcome::err(Errno::ENOTCONN) };
        let file = self.session.files.get(op.file.get()).copied().unwrap_or(ptr::null_mut());
        if file.is_null() {
            return Outcome::err(Errno::EBADF);
        }
        let functions = volume.functions;
        let (offset, len, nothing) = (op.offset as i64, op.len as usize, ptr::null_mut());
        // SAFETY: the file is open, and the buffer is that of the slot and has `len` bytes.
        let ret = unsafe {
            match op.kind {
                OpKind::Read => (functions.glfs_pread)(file, data, len, offset, 0, nothing),
                OpKind::Write => {
                    (functions.glfs_pwrite)(file, data, len, offset, 0, nothing, nothing)
                }
                OpKind::Trim => (functions.glfs_discard)(file, offset, len) as isize,
                OpKind::Fsync => (functions.glfs_fsync)(file, nothing, nothing) as isize,
                OpKind::Fdatasync => (functions.glfs_fdatasync)(file, nothing, nothing) as isize,
                OpKind::SyncFileRange(_) => return Outcome::err(Errno::EINVAL),
            }
        };
        if ret >= 0 { Outcome::from_raw(ret as i64) } else { Outcome::err(Errno::last()) }
    }

    /// Remembers why a call failed. Returns its outcome.
    #[cold]
    fn failed(&mut self, (slot, op): (Slot, &Op), errno: Errno, waited: Nanos) -> Outcome {
        self.requests.refuse(slot, op, "");
        if self.session.has_given_up(errno, waited) {
            return self.requests.time_out_after(slot, waited);
        }
        let why = self.session.reason(&self.requests.name(slot), errno);
        self.requests.fail(slot, why);
        Outcome::err(errno)
    }
}

impl Engine for Gfapi {
    const ASYNC: bool = false;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.session.attach(file.get(), target)
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        self.session.connect()
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.session.detach(file.get(), false);
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.requests.explain(slot)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let Some(data) = self.buffers.data_of(&slot, op) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let began = self.clock.now();
        let outcome = self.call(op, data);
        match outcome.get() {
            Ok(_) => Queued::Done(slot, outcome),
            Err(errno) => {
                let waited = Nanos(self.clock.now().saturating_sub(began));
                let outcome = self.failed((slot.index(), op), errno, waited);
                Queued::Done(slot, outcome)
            }
        }
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }

    fn reap(&mut self, _want: Want, _done: &mut Completions) -> Result<(), EngineError> {
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.session.close(false);
        Ok(())
    }
}

impl std::fmt::Debug for Gfapi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gfapi").field("session", &self.session).finish_non_exhaustive()
    }
}
