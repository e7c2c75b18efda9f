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

use self::abi::{NfsContext, NfsFile, NfsFunctions};
use self::session::{NfsFailure, NfsSession, PURPOSE, errno_of};
use crate::error::about_the_library;
use crate::polled::connection::copied;
use crate::polled::inbox::{Inbox, LibraryText, finish};
use crate::polled::{CallResult, LostSession, PolledClient};
use crate::{
    Attachment, EndSignal, EngineConfig, EngineError, MachineClock, Op, OpKind, Outcome, Slot,
};

/// How many bytes one request of the layout writes.
const LAYOUT_BLOCK: usize = 1 << 20;

/// The requests of a job to the files of an export, all on one session.
#[derive(Debug)]
pub struct NfsClient {
    plan: NfsPlan,
    session: Option<NfsSession>,
    files: Vec<Option<OpenFile>>,
    addresses: Vec<PathBuf>,
    /// Writes are durable when they complete.
    durable: bool,
    clock: MachineClock,
    stop: EndSignal,
}

// SAFETY: the pointers are files of the session, which moves with the value.
unsafe impl Send for NfsClient {}

/// An open file of the job.
#[derive(Debug, Clone, Copy)]
struct OpenFile {
    /// Null if the session in which it was opened is over.
    handle: *mut NfsFile,
    read_only: bool,
}

/// The request of a slot, and its answer.
#[derive(Debug)]
pub struct NfsCall {
    /// Where the data of a read go; null if the request reads nothing.
    data: *mut u8,
    len: u32,
    status: i32,
    /// The library's text about a failure.
    text: Option<String>,
}

/// A record without a request.
const NO_CALL: NfsCall = NfsCall { data: std::ptr::null_mut(), len: 0, status: 0, text: None };

/// Takes the answer to a request.
unsafe extern "C" fn completed(
    status: c_int,
    _context: *mut NfsContext,
    data: *mut c_void,
    private: *mut c_void,
) {
    let take = |call: &mut NfsCall| {
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

impl NfsClient {
    /// The session, which the first file opens.
    fn session(&mut self) -> Result<&mut NfsSession, EngineError> {
        let session = match self.session.take() {
            Some(session) => session,
            None => NfsSession::open(&self.plan, self.clock, &self.stop)?,
        };
        Ok(self.session.insert(session))
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

    /// The error of a request that the library does not accept.
    fn not_accepted(&self, text: String) -> LibraryText {
        LibraryText(match self.plan.is_version_4 {
            true if text.contains("encode") => format!(
                "{text}. libnfs 4.0 cannot send writes of more than a few hundred bytes with NFS 4. To fix: write \
                 `version=3` in \
                 `nfs_url`"
            ),
            _ => text,
        })
    }
}

impl PolledClient for NfsClient {
    type Call = NfsCall;
    const OTHER_END: &'static str = "server";

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.nfs().ok_or_else(EngineError::other_engine)?;
        Ok(NfsClient {
            plan: plan.clone(),
            session: None,
            files: vec![None; config.files as usize],
            addresses: config.addresses.clone(),
            durable: config.durable,
            clock: config.clock,
            stop: config.end.clone(),
        })
    }

    fn no_call() -> NfsCall {
        NO_CALL
    }

    fn give_up(call: &mut NfsCall) {
        call.status = Errno::ECONNRESET.as_result() as i32;
    }

    fn files(&self) -> u32 {
        self.files.len() as u32
    }

    fn sessions(&self) -> usize {
        1
    }

    fn session_of(_file: FileIndex) -> usize {
        0
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
            (Some(opened), Some(session))
                if !opened.handle.is_null() && !self.stop.is_interrupted() =>
            {
                session.close_file(opened.handle).map_err(EngineError::from)
            }
            _ => Ok(()),
        }
    }

    fn restore(&mut self, _session: usize) -> Result<(), EngineError> {
        for file in 0..self.files.len() {
            let Some(OpenFile { handle, read_only }) = self.files[file] else { continue };
            let Some(address) = self.addresses.get(file).cloned() else { continue };
            if handle.is_null() {
                let durable = self.durable;
                let handle = self.session()?.open_file(&address, read_only, durable)?;
                self.files[file] = Some(OpenFile { handle, read_only });
            }
        }
        Ok(())
    }

    fn end_session(&mut self, _session: usize) {
        self.session = None;
        for file in self.files.iter_mut().flatten() {
            file.handle = std::ptr::null_mut();
        }
    }

    fn refusal(&self, op: &Op) -> Option<(Errno, Option<String>)> {
        let file = self.files.get(op.file.get()).copied().flatten();
        match (file, op.kind) {
            (None, _) => Some((Errno::EBADF, None)),
            (_, OpKind::Trim) => Some((Errno::EOPNOTSUPP, None)),
            (Some(file), OpKind::Write) if file.read_only => Some((Errno::EBADF, None)),
            _ => None,
        }
    }

    unsafe fn start(
        &mut self,
        slot: Slot,
        op: &Op,
        data: *mut u8,
        calls: &Inbox<NfsCall>,
    ) -> Result<(), LibraryText> {
        let file = self.files.get(op.file.get()).copied().flatten();
        let (Some(session), Some(file)) = (&self.session, file) else {
            return Err(LibraryText::default());
        };
        let (functions, context) = (&session.functions, session.context);
        let (start, len) = (op.offset, u64::from(op.len));
        let into = if op.kind == OpKind::Read { data } else { std::ptr::null_mut() };
        // SAFETY: the library does not have the request yet.
        let call = unsafe { calls.request(slot) };
        (call.data, call.len) = (into, op.len);
        let private = calls.begin(slot);
        // SAFETY: context and file are valid. The caller vouches for the record and the buffer.
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
        calls.cancel(slot);
        Err(self.not_accepted(session.error_text()))
    }

    fn result(&mut self, _op: &Op, call: &mut NfsCall) -> CallResult {
        let text = call.text.take();
        if call.status >= 0 {
            return CallResult::Answered(Outcome::ok(call.status as u32));
        }
        let errno = errno_of(call.status);
        let text = text.unwrap_or_else(|| "the server sent no reason".to_owned());
        CallResult::Failed(errno, with_remedy(text, errno))
    }

    fn send(&mut self, lost: &mut Vec<LostSession>) {
        if let Some(session) = &mut self.session
            && let Err(LibraryText(why)) = session.send()
        {
            lost.push(LostSession::new(0, why));
        }
    }

    fn pump(&mut self, timeout: u64, lost: &mut Vec<LostSession>) -> bool {
        let Some(session) = &mut self.session else { return true };
        session.pump(timeout).unwrap_or_else(|LibraryText(why)| {
            lost.push(LostSession::new(0, why));
            false
        })
    }
}

/// A library's reason for a failure, with the remedy.
fn with_remedy(text: String, errno: Errno) -> String {
    match errno {
        Errno::ENOSPC => {
            format!("{text}. To fix: free space on the server, or use a smaller `size`")
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
    NfsFunctions::load().map_err(about_the_library)?;
    let mut session = NfsSession::open(plan, MachineClock::best(), &EndSignal::default())?;
    let facts = session.facts(address)?;
    Ok(EndpointFacts {
        growable: true,
        read_only: facts.read_only,
        ..EndpointFacts::fixed(facts.size)
    })
}
