//! `external`: an engine in a shared library, through the C interface of `include/fiord-engine.h`.
//!
//! fiord opens the files. The library gets their descriptors and the buffers, and does the I/O. What it
//! returns is checked: a completion of a slot without an op, or of more bytes than were asked for, ends
//! the job.

mod abi;

use std::ffi::{CStr, c_void};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use fiord_types::{Errno, FileIndex};

use self::abi::{Functions, RawCompletion, RawConfig, RawFile, RawOp, kind};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Slot, Want,
};

/// The engine of a library.
#[derive(Debug)]
pub struct External {
    functions: Functions,
    /// The library's engine; `None` when it is closed.
    engine: Option<*mut c_void>,
    /// How messages begin.
    name: String,
    buffers: Buffers,
    clock: MachineClock,
    /// The descriptors that the library uses.
    files: Vec<Option<Arc<OwnedFd>>>,
    /// Bytes of the op in flight of each slot; `None`: it has none.
    in_flight: Vec<Option<u32>>,
    pending: u32,
    /// Room for completions.
    reaped: Vec<RawCompletion>,
}

impl External {
    /// Loads the library and creates its engine.
    ///
    /// # Errors
    ///
    /// The library cannot be loaded, is not built for this interface, or refuses the job.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let path = config.engine.library().ok_or_else(EngineError::other_engine)?;
        let name = format!("ioengine=external:{}", path.display());
        let functions = abi::load(path)?;
        let buffers = Buffers::new(config)?;
        let (base, stride) = buffers.region();
        let raw = RawConfig {
            struct_bytes: size_of::<RawConfig>() as u32,
            depth: config.slots,
            files: config.files,
            direct: config.direct.into(),
            buffer_bytes: config.buffer_bytes.0,
            buffers: base.cast(),
            stride: stride as u64,
        };
        let mut engine = std::ptr::null_mut();
        // SAFETY: both pointers are valid during the call.
        let code = unsafe { (functions.open)(&raw const raw, &raw mut engine) };
        check(&name, "fiord_engine_open", code)?;
        Ok(External {
            functions,
            engine: Some(engine),
            name,
            buffers,
            clock: config.clock,
            files: vec![None; config.files as usize],
            in_flight: vec![None; config.slots as usize],
            pending: 0,
            reaped: vec![RawCompletion::default(); config.slots as usize],
        })
    }

    /// The library's engine. A closed engine must not be used.
    fn engine(&self) -> *mut c_void {
        self.engine.unwrap_or(std::ptr::null_mut())
    }

    fn end(&mut self) -> Result<(), EngineError> {
        let Some(engine) = self.engine.take() else { return Ok(()) };
        // SAFETY: the engine is open, and this is its last use.
        let code = unsafe { (self.functions.close)(engine) };
        let closed = check(&self.name, "fiord_engine_close", code);
        closed.map(drop).inspect_err(|_| self.buffers.leak())
    }

    /// The op as the library gets it. `None`: the interface has no such op, or its data are not in the
    /// buffer.
    fn raw(&self, slot: &FreeSlot, op: &Op) -> Option<RawOp> {
        let kind = match op.kind {
            OpKind::Read => kind::READ,
            OpKind::Write => kind::WRITE,
            OpKind::Trim => kind::TRIM,
            OpKind::Fsync => kind::FSYNC,
            OpKind::Fdatasync => kind::FDATASYNC,
            OpKind::SyncFileRange(_) => return None,
        };
        let data = match op.kind {
            OpKind::Read | OpKind::Write => self.buffers.span(slot, op.at, op.len)?,
            _ => std::ptr::null_mut(),
        };
        Some(RawOp {
            slot: slot.index(),
            kind,
            file: op.file.0,
            bytes: op.len,
            offset: op.offset,
            data: data.cast(),
        })
    }

    /// The result of a completion, and frees its slot for another op.
    fn completed(&mut self, raw: RawCompletion) -> Result<(Slot, Outcome), EngineError> {
        let place = self.in_flight.get_mut(raw.slot as usize);
        let Some(bytes) = place.and_then(Option::take) else {
            let what = format!(
                "{}: the library reported a completion of slot {}, which has no op in flight",
                self.name, raw.slot
            );
            return Err(EngineError::plain(what));
        };
        self.pending -= 1;
        let refused = i32::try_from(raw.result).ok().filter(|code| (-4095..0).contains(code));
        match (u32::try_from(raw.result), refused) {
            (Ok(moved), _) if moved <= bytes => Ok((raw.slot, Outcome::ok(moved))),
            (_, Some(code)) => Ok((raw.slot, Outcome::err(Errno::from_raw(-code)))),
            _ => Err(EngineError::plain(format!(
                "{}: the library returned {} for an op of {bytes} bytes",
                self.name, raw.result
            ))),
        }
    }
}

/// Converts what a function of the library returned.
fn check(name: &str, function: &str, code: i32) -> Result<u32, EngineError> {
    u32::try_from(code).map_err(|_| EngineError::call(name, function, Errno::from_raw(-code)))
}

impl Engine for External {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let fd = target.fd.clone();
        let raw = RawFile {
            struct_bytes: size_of::<RawFile>() as u32,
            fd: fd.as_ref().map_or(-1, |fd| fd.as_raw_fd()),
            offset: target.offset.0,
            bytes: target.len.0,
            read_only: target.read_only.into(),
            reserved: 0,
        };
        // SAFETY: the engine is open, and the struct is valid during the call.
        let code = unsafe { (self.functions.attach)(self.engine(), file.0, &raw const raw) };
        check(&self.name, "fiord_engine_attach", code)?;
        if let Some(place) = self.files.get_mut(file.get()) {
            *place = fd;
        }
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        // SAFETY: the engine is open.
        let code = unsafe { (self.functions.detach)(self.engine(), file.0) };
        check(&self.name, "fiord_engine_detach", code)?;
        if let Some(place) = self.files.get_mut(file.get()) {
            *place = None;
        }
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        let explain = self.functions.explain?;
        // SAFETY: the engine is open. The text is a C string that stays valid until the next call.
        let text = unsafe { explain(self.engine(), slot.index()) };
        // SAFETY: as above.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let Some(raw) = self.raw(&slot, op) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        // SAFETY: the engine is open, the struct is valid during the call, and its data lie in the slot's
        // buffer, which the token gives to the library until the op completes.
        let code = unsafe { (self.functions.queue)(self.engine(), &raw const raw) };
        if code >= 0 {
            let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
            let index = self.buffers.begin(slot);
            self.in_flight[index as usize] = Some(if moves { op.len } else { 0 });
            self.pending += 1;
            return Queued::Pending;
        }
        let errno = Errno::from_raw(code.saturating_neg());
        // Without an op in flight, nothing would ever make room.
        if errno == Errno::EAGAIN && self.pending > 0 {
            return Queued::Full(slot);
        }
        Queued::Done(slot, Outcome::err(errno))
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        // SAFETY: the engine is open.
        let code = unsafe { (self.functions.flush)(self.engine()) };
        check(&self.name, "fiord_engine_flush", code)
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        let max = want.max.min(self.reaped.len() as u32);
        let min = want.min.min(self.pending).min(max);
        let timeout = want.timeout.map_or(-1, |ns| i64::try_from(ns).unwrap_or(i64::MAX));
        let into = self.reaped.as_mut_ptr();
        // SAFETY: the engine is open, and there is room for `max` completions.
        let code = unsafe { (self.functions.reap)(self.engine(), min, max, timeout, into) };
        let count = check(&self.name, "fiord_engine_reap", code)?;
        if count > max {
            let what = format!("{}: the library returned {count} of {max} completions", self.name);
            return Err(EngineError::plain(what));
        }
        for at in 0..count as usize {
            let (slot, outcome) = self.completed(self.reaped[at])?;
            // SAFETY: the slot had an op in flight until now, and the library says that it has ended.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.end()
    }
}

impl Drop for External {
    fn drop(&mut self) {
        // The buffers stay allocated if the library may still use them.
        let _ = self.end();
    }
}
