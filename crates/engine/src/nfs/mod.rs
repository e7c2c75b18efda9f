//! `nfs`: files of an NFS server, through libnfs, which fiord loads at run time.
//!
//! Each job has a session of its own: one connection, on which the library has as many requests as the job's depth. The
//! library copies the data of a write when the request is queued. It hands over the data of a read in its own memory, and
//! the callback copies them. A job that writes creates its files; a job that also reads fills the part of a file that does
//! not exist yet, because there is nothing to read in it.

mod abi;
mod session;

use std::ffi::{c_int, c_void};
use std::path::PathBuf;

use fiord_plan::{EndpointError, EndpointFacts, NfsPlan};
use fiord_types::{Errno, FileIndex};

use self::abi::{NfsContext, NfsFile};
use self::session::{NfsFailure, NfsSession, PURPOSE, copied, errno_of};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::{LOOK as LOOK_TIME, Requests};
use crate::inbox::{Inbox, LibraryText, finish};
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Slot, Time, Want,
};

/// How long a wait lasts at most before the engine looks at the clock, ns.
const LOOK: u64 = LOOK_TIME.as_nanos() as u64;

/// How many bytes one request of the layout writes.
const LAYOUT_BLOCK: usize = 1 << 20;

/// The `nfs` engine.
#[derive(Debug)]
pub struct Nfs {
    plan: NfsPlan,
    session: Option<NfsSession>,
    /// Why there is no session any more.
    lost: Option<String>,
    files: Vec<Option<OpenFile>>,
    addresses: Vec<PathBuf>,
    buffers: Buffers,
    requests: Requests,
    calls: Inbox<Call>,
    /// Writes are durable when they complete.
    durable: bool,
    /// Queued and not sent.
    unsent: u32,
    clock: MachineClock,
    stop: EndSignal,
    /// The request whose answer did not come in time, which ended the session.
    overdue: Option<Slot>,
    /// The session ended because the job had to stop.
    gave_up: bool,
}

// SAFETY: the pointers are into memory that the value owns, which does not move with it.
unsafe impl Send for Nfs {}

/// An open file of the job.
#[derive(Debug, Clone, Copy)]
struct OpenFile {
    handle: *mut NfsFile,
    read_only: bool,
}

/// The request of a slot, and its answer.
#[derive(Debug)]
struct Call {
    /// Where the data of a read go; null if the request reads nothing.
    data: *mut u8,
    len: u32,
    status: i32,
    /// The library's text about a failure.
    text: Option<String>,
}

/// A record without a request.
const NO_CALL: Call = Call { data: std::ptr::null_mut(), len: 0, status: 0, text: None };

/// Takes the answer to a request.
unsafe extern "C" fn completed(
    status: c_int,
    _context: *mut NfsContext,
    data: *mut c_void,
    private: *mut c_void,
) {
    let take = |call: &mut Call| {
        call.status = status;
        if status > 0 && !call.data.is_null() && !data.is_null() {
            let len = (status as usize).min(call.len as usize);
            // SAFETY: the data have `status` bytes, and the slot's buffer has room for `call.len`.
            unsafe {
                std::ptr::copy_nonoverlapping(data.cast::<u8>().cast_const(), call.data, len)
            };
        }
        if status < 0 {
            // SAFETY: the data of a failure are a text or null.
            call.text = unsafe { copied(data.cast()) };
        }
    };
    // SAFETY: `private` is the record of a slot, which exists as long as the context, and which nothing else uses while the
    // library runs.
    unsafe { finish(private, take) };
}

impl Nfs {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.nfs().ok_or_else(EngineError::other_engine)?;
        Ok(Nfs {
            plan: plan.clone(),
            session: None,
            lost: None,
            files: vec![None; config.files as usize],
            addresses: config.addresses.clone(),
            buffers: Buffers::new(config)?,
            requests: Requests::new(config),
            calls: Inbox::new(config.slots, || NO_CALL),
            durable: config.durable,
            unsent: 0,
            clock: config.clock,
            stop: config.end.clone(),
            overdue: None,
            gave_up: false,
        })
    }

    /// The session, which the first file opens.
    fn session(&mut self) -> Result<&mut NfsSession, EngineError> {
        if let Some(lost) = &self.lost {
            let what = format!("{PURPOSE}: {}: {lost}", self.plan.url);
            return Err(EngineError { what, help: None, errno: Some(Errno::ENOTCONN) });
        }
        let session = match self.session.take() {
            Some(session) => session,
            None => NfsSession::open(&self.plan, self.clock, &self.stop)?,
        };
        Ok(self.session.insert(session))
    }

    /// Passes a request to the library. On failure, returns its reason.
    fn start(
        &mut self,
        slot: Slot,
        op: &Op,
        file: OpenFile,
        data: *mut u8,
    ) -> Result<(), LibraryText> {
        let Some(session) = &self.session else { return Err(LibraryText::default()) };
        let (functions, context) = (&session.functions, session.context);
        let (start, len) = (op.offset, u64::from(op.len));
        let into = if op.kind == OpKind::Read { data } else { std::ptr::null_mut() };
        // SAFETY: the library does not have the request yet.
        let call = unsafe { self.calls.request(slot) };
        (call.data, call.len) = (into, op.len);
        let private = self.calls.begin(slot);
        // SAFETY: context and file are valid. The record and the buffer outlive the request: they are freed after the
        // session has ended.
        let queued = unsafe {
            match op.kind {
                OpKind::Read => (functions.nfs_pread_async)(
                    context,
                    file.handle,
                    start,
                    len,
                    completed,
                    private,
                ),
                OpKind::Write => (functions.nfs_pwrite_async)(
                    context,
                    file.handle,
                    start,
                    len,
                    data.cast_const().cast(),
                    completed,
                    private,
                ),
                _ => (functions.nfs_fsync_async)(context, file.handle, completed, private),
            }
        };
        if queued == 0 {
            return Ok(());
        }
        self.calls.cancel(slot);
        let text = session.error_text();
        Err(LibraryText(match self.plan.is_version_4 {
            true if text.contains("encode") => format!(
                "{text}. libnfs 4.0 sends no writes above some hundred bytes with NFS 4. To fix: write `version=3` in \
                 `nfs_url`"
            ),
            _ => text,
        }))
    }

    /// The outcome of a request that is over.
    fn outcome(&mut self, slot: Slot, status: i32, text: Option<String>) -> Outcome {
        if status >= 0 {
            return Outcome::ok(status as u32);
        }
        match &self.lost {
            Some(_) if self.gave_up => Outcome::ENDED,
            Some(_) if self.overdue == Some(slot) => self.requests.time_out(slot),
            Some(lost) => {
                self.requests.fail(slot, lost.clone());
                Outcome::err(Errno::ECONNRESET)
            }
            None => {
                let errno = errno_of(status);
                let text = text.unwrap_or_else(|| "the server sent no reason".to_owned());
                self.requests.fail(slot, with_remedy(text, errno));
                Outcome::err(errno)
            }
        }
    }

    /// Moves completions to `done`, up to `max`. Returns their number.
    fn deliver(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut count = 0;
        while count < max
            && let Some(slot) = self.calls.take()
        {
            // SAFETY: the request is over.
            let call = unsafe { self.calls.request(slot) };
            let (status, text) = (call.status, call.text.take());
            self.requests.end(slot);
            let outcome = self.outcome(slot, status, text);
            // SAFETY: the library has completed the request of the slot, and each request is taken once.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
            count += 1;
        }
        count
    }

    /// Ends the session. The requests in flight complete with an error.
    fn lose(&mut self, why: &str) {
        if self.lost.is_none() {
            self.lost = Some(format!(
                "the session is over: {why}. fiord does not reconnect. To fix: check the server and its log"
            ));
        }
        self.unsent = 0;
        // Each request that the library has completes within the call, and none afterwards.
        self.session = None;
        self.calls.end_all(|call| call.status = Errno::ECONNRESET.as_result() as i32);
    }

    /// Gives the session up if a request is overdue, or if the job must stop and the server does not answer.
    fn look(&mut self, now: u64) {
        if let Some(slot) = self.requests.overdue(now) {
            self.overdue = Some(slot);
            let name = self.requests.name(slot);
            // This request completes first, because it tells what happened.
            self.calls.end(slot, |call| call.status = Errno::ETIMEDOUT.as_result() as i32);
            self.lose(&format!("the server did not answer {name} in time"));
        } else if self.requests.must_give_up(self.stop.is_stopped(), now) {
            self.gave_up = true;
            self.lose("the job had to stop");
        }
    }

    /// Opens a file, and fills the part that the job may read and that does not exist.
    fn open(&mut self, address: PathBuf, target: &Attachment) -> Result<OpenFile, EngineError> {
        let (durable, reads) = (self.durable, self.plan.reads);
        let session = self.session()?;
        let handle = session.open_file(&address, target.read_only, durable)?;
        let end = target.offset.saturating_add(target.len).0;
        let filled = match session.size(handle) {
            Ok(size) if !reads || size >= end => Ok(()),
            Ok(size) if target.read_only => Err(too_short(&self.plan, &address, size, end)),
            Ok(size) => lay_out(session, handle, size, end),
            Err(failure) => Err(failure),
        };
        if let Err(failure) = filled {
            if let Some(session) = &mut self.session {
                // The first failure is the one to report.
                let _ = session.close_file(handle);
            }
            return Err(failure.into());
        }
        Ok(OpenFile { handle, read_only: target.read_only })
    }

    /// Waits until the requests in flight are over, or the session is.
    fn drain(&mut self) {
        let mut done = Completions::with_capacity(self.requests.in_flight());
        while self.requests.in_flight() > 0 {
            if let Some(session) = &mut self.session
                && let Err(LibraryText(why)) = session.pump(LOOK)
            {
                self.lose(&why);
            }
            self.look(self.clock.now());
            let _ = self.deliver(u32::MAX, &mut done);
        }
    }
}

impl Engine for Nfs {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let Some(address) = self.addresses.get(file.get()).cloned() else {
            return Err(EngineError::plain(format!("{PURPOSE}: file {file} has no address")));
        };
        let opened = self.open(address, target)?;
        if let Some(entry) = self.files.get_mut(file.get()) {
            *entry = Some(opened);
        }
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        let opened = self.files.get_mut(file.get()).and_then(Option::take);
        match (opened, &mut self.session) {
            (Some(opened), Some(session)) if !self.stop.is_stopped() => {
                session.close_file(opened.handle).map_err(EngineError::from)
            }
            _ => Ok(()),
        }
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.requests.explain(slot)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let moves_data = matches!(op.kind, OpKind::Read | OpKind::Write);
        let index = slot.index();
        let Some(data) = self.buffers.span(&slot, op.at, if moves_data { op.len } else { 0 })
        else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        if let Some(lost) = &self.lost {
            self.requests.fail(index, lost.clone());
            return Queued::Done(slot, Outcome::err(Errno::ENOTCONN));
        }
        let Some(file) = self.files.get(op.file.get()).copied().flatten() else {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        };
        if op.kind == OpKind::Trim {
            return Queued::Done(slot, Outcome::err(Errno::EOPNOTSUPP));
        }
        if file.read_only && op.kind == OpKind::Write {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        }
        if let Err(LibraryText(reason)) = self.start(index, op, file, data) {
            self.requests.fail(index, reason);
            return Queued::Done(slot, Outcome::err(Errno::EIO));
        }
        let slot = self.buffers.begin(slot);
        self.requests.begin(slot, op, self.clock.now());
        self.unsent += 1;
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let sent = std::mem::take(&mut self.unsent);
        if sent > 0
            && let Some(session) = &mut self.session
            && let Err(LibraryText(why)) = session.send()
        {
            self.lose(&why);
        }
        Ok(sent)
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let max = want.max.min(self.requests.in_flight());
        let min = want.min.min(max);
        let mut taken = self.deliver(max, done);
        let end = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        let mut now = self.clock.now();
        loop {
            if taken >= max || (taken >= min && min > 0) {
                return Ok(());
            }
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(now));
            let wait = if min == 0 { 0 } else { left.min(LOOK) };
            let interrupted = match &mut self.session {
                Some(session) => session.pump(wait),
                None => Ok(true),
            };
            let interrupted = interrupted.unwrap_or_else(|LibraryText(why)| {
                self.lose(&why);
                false
            });
            taken += self.deliver(max - taken, done);
            if taken >= min || interrupted {
                return Ok(());
            }
            now = self.clock.now();
            self.look(now);
            if left == 0 && self.calls.ready() == 0 {
                return Ok(());
            }
        }
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.drain();
        for file in 0..self.files.len() {
            self.detach(FileIndex(file as u32))?;
        }
        self.session = None;
        Ok(())
    }
}

impl Drop for Nfs {
    /// Ends the session before the memory is freed that the library writes to.
    fn drop(&mut self) {
        self.session = None;
    }
}

/// A library's reason for a failure, with the remedy.
fn with_remedy(text: String, errno: Errno) -> String {
    match errno {
        Errno::ENOSPC => {
            format!("{text}. To fix: make space on the server, or use a smaller `size`")
        }
        Errno::EROFS => format!("{text}. To fix: export the file system for writing"),
        Errno::EDQUOT => format!("{text}. To fix: raise the quota on the server"),
        Errno::ESTALE => {
            format!("{text}. To fix: let no other program replace the files of the job")
        }
        _ => text,
    }
}

fn too_short(plan: &NfsPlan, address: &std::path::Path, size: u64, end: u64) -> NfsFailure {
    NfsFailure {
        what: format!(
            "{PURPOSE}: {}: `{}` has {size} bytes, but the job reads it up to byte {end}",
            plan.url,
            address.display()
        ),
        help: Some(
            "To fix: write the file first (`rw=write`), or use a smaller `size` or `offset`"
                .to_owned(),
        ),
        errno: Errno::ENODATA,
    }
}

/// Fills a file from byte `from` to byte `to`, with bytes that do not compress.
fn lay_out(
    session: &mut NfsSession,
    file: *mut NfsFile,
    from: u64,
    to: u64,
) -> Result<(), NfsFailure> {
    let mut block = vec![0u8; LAYOUT_BLOCK];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for word in block.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_le_bytes());
    }
    let mut at = from;
    while at < to {
        let len = (to - at).min(LAYOUT_BLOCK as u64) as usize;
        session.write(file, at, &block[..len])?;
        at += len as u64;
    }
    Ok(())
}

/// Asks a server about a file, and disconnects.
pub(crate) fn ask(
    plan: &NfsPlan,
    address: &std::path::Path,
) -> Result<EndpointFacts, EndpointError> {
    let mut session = NfsSession::open(plan, MachineClock::best(), &EndSignal::default())?;
    let facts = session.facts(address)?;
    Ok(EndpointFacts {
        growable: true,
        read_only: facts.read_only,
        ..EndpointFacts::fixed(facts.size)
    })
}
