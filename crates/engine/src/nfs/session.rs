//! A session with an NFS server: a context of libnfs, its connection, and calls that wait for their answer.

use std::ffi::{CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use fiord_plan::{EndpointError, NfsPlan};
use fiord_sys::poll::{self, Waited};
use fiord_sys::signal;
use fiord_types::{Bytes, Errno, Nanos};

use super::abi::{NfsCallback, NfsContext, NfsFile, NfsFunctions, NfsStat};
use crate::endpoint::{GRACE, shown};
use crate::polled::LOOK;
use crate::polled::connection::{copied, entry, ready, text};
use crate::polled::inbox::LibraryText;
use crate::{EndSignal, EngineError, MachineClock, Time};

/// How the messages of the engine begin.
pub(super) const PURPOSE: &str = "ioengine=nfs";

/// The status with which libnfs completes calls that the connection did not survive (`-EFAULT`), and those that end with
/// the context (`-EINTR`).
const BROKEN: [i32; 2] = [-14, -4];

/// A failure to do something on the server.
#[derive(Debug)]
pub(super) struct NfsFailure {
    pub what: String,
    pub help: Option<String>,
    pub errno: Errno,
}

impl From<NfsFailure> for EngineError {
    fn from(failure: NfsFailure) -> Self {
        let NfsFailure { what, help, errno } = failure;
        EngineError { what, help, errno: Some(errno) }
    }
}

impl From<NfsFailure> for EndpointError {
    fn from(failure: NfsFailure) -> Self {
        EngineError::from(failure).into()
    }
}

impl From<EngineError> for NfsFailure {
    fn from(error: EngineError) -> Self {
        let EngineError { what, help, errno } = error;
        NfsFailure { what, help, errno: errno.unwrap_or(Errno::EIO) }
    }
}

/// The server's answer to a call of the set-up.
#[derive(Debug, Default)]
struct Answer {
    arrived: bool,
    status: i32,
    /// The open file.
    file: Option<*mut NfsFile>,
    /// The size of a file.
    size: u64,
    /// The library's text about a failure.
    text: String,
}

/// The size of a file on the server, and what it allows.
#[derive(Debug, Clone, Copy)]
pub(super) struct NfsFacts {
    /// Bytes; 0 for a file that does not exist.
    pub size: Bytes,
    /// The server does not permit this client to write to it or to create it.
    pub read_only: bool,
}

/// A context of libnfs that has mounted an export.
#[derive(Debug)]
pub(super) struct NfsSession {
    pub functions: Arc<NfsFunctions>,
    pub context: *mut NfsContext,
    /// The answer to the call that waits, on the heap, because the library keeps its address.
    answer: *mut Answer,
    /// Server and export, for messages.
    server: String,
    /// ns.
    timeout: u64,
    clock: MachineClock,
    stop: EndSignal,
    /// The call that waits closes a file.
    closing: bool,
}

// SAFETY: the library has no threads of its own and keeps no state outside the context, which only this value uses.
unsafe impl Send for NfsSession {}

impl NfsSession {
    /// Connects to the server of a job and mounts its export.
    pub(super) fn open(
        plan: &NfsPlan,
        clock: MachineClock,
        stop: &EndSignal,
    ) -> Result<Self, NfsFailure> {
        let functions = Arc::new(NfsFunctions::load()?);
        // SAFETY: the function has no preconditions.
        let context = unsafe { (functions.nfs_init_context)() };
        if context.is_null() {
            return Err(EngineError::plain(format!("{PURPOSE}: nfs_init_context failed")).into());
        }
        let mut session = NfsSession {
            functions,
            context,
            answer: Box::into_raw(Box::default()),
            server: plan.url.clone(),
            timeout: plan.endpoint.timeout.0,
            clock,
            stop: stop.clone(),
            closing: false,
        };
        session.mount(plan)?;
        Ok(session)
    }

    fn mount(&mut self, plan: &NfsPlan) -> Result<(), NfsFailure> {
        static SESSIONS: AtomicU32 = AtomicU32::new(0);
        // NFS 4 forgets the files of an earlier session with the same name.
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        let name = format!("fiord {} {number} {:p}", std::process::id(), self.context);
        let (name, url) = (text(name.as_bytes(), PURPOSE)?, text(plan.url.as_bytes(), PURPOSE)?);
        let functions = self.functions.clone();
        // A lost session is an error. An option of the URL can still ask for attempts to get it back.
        // SAFETY: the context is valid, and the texts live until after the calls.
        let parsed = unsafe {
            (functions.nfs_set_autoreconnect)(self.context, 0);
            (functions.nfs4_set_client_name)(self.context, name.as_ptr());
            (functions.nfs_parse_url_dir)(self.context, url.as_ptr())
        };
        if parsed.is_null() {
            let what = format!("{PURPOSE}: `{}`: {}", plan.url, self.error_text());
            let help = "To fix: write `nfs_url=nfs://SERVER/EXPORT?version=3`".to_owned();
            return Err(NfsFailure { what, help: Some(help), errno: Errno::EINVAL });
        }
        // SAFETY: the library filled in the structure, whose texts live until it is destroyed.
        let (server, path) = unsafe { ((*parsed).server, (*parsed).path) };
        let mounted = self.call("mount the export", |context, answered, private| {
            // SAFETY: context and texts are valid.
            unsafe { (functions.nfs_mount_async)(context, server, path, answered, private) }
        });
        // SAFETY: the library copied the texts.
        unsafe { (functions.nfs_destroy_url)(parsed) };
        mounted.map(drop)
    }

    /// The library's text about the last failure.
    pub(super) fn error_text(&self) -> String {
        // SAFETY: the context is valid, and its text ends with NUL.
        let text = unsafe { copied((self.functions.nfs_get_error)(self.context)) };
        text.unwrap_or_else(|| "the connection failed".to_owned())
    }

    /// Sends what is queued, without waiting.
    pub(super) fn send(&mut self) -> Result<(), LibraryText> {
        self.service(libc::POLLOUT)
    }

    fn service(&mut self, events: i16) -> Result<(), LibraryText> {
        // SAFETY: the context is valid, and the callbacks use memory that outlives the calls.
        match unsafe { (self.functions.nfs_service)(self.context, c_int::from(events)) } {
            0.. => Ok(()),
            _ => Err(LibraryText(self.error_text())),
        }
    }

    /// Waits for the connection for at most `timeout` ns, sends and receives. Returns whether a signal ended the wait.
    ///
    /// # Errors
    ///
    /// The connection is lost: the library's text.
    pub(super) fn pump(&mut self, timeout: u64) -> Result<bool, LibraryText> {
        // SAFETY: the context is valid.
        let (fd, events) = unsafe {
            (
                (self.functions.nfs_get_fd)(self.context),
                (self.functions.nfs_which_events)(self.context),
            )
        };
        let mut entries = [entry(fd, events)];
        match poll::wait(&mut entries, Some(Duration::from_nanos(timeout))) {
            Err(error) => return Err(LibraryText(error.to_string())),
            Ok(Waited::Interrupted) => return Ok(true),
            Ok(Waited::TimedOut) => return Ok(false),
            Ok(Waited::Ready) => {}
        }
        self.service(ready(entries[0])).map(|()| false)
    }

    /// Makes a call and waits for its answer. `doing` follows "cannot". Returns the answer's status, which is not
    /// negative.
    fn call(
        &mut self,
        doing: &str,
        start: impl FnOnce(*mut NfsContext, NfsCallback, *mut c_void) -> c_int,
    ) -> Result<i32, NfsFailure> {
        self.call_with(answered, doing, start)
    }

    fn call_with(
        &mut self,
        callback: NfsCallback,
        doing: &str,
        start: impl FnOnce(*mut NfsContext, NfsCallback, *mut c_void) -> c_int,
    ) -> Result<i32, NfsFailure> {
        // SAFETY: no call waits, so that only this function uses the answer.
        unsafe { *self.answer = Answer::default() };
        let end = self.clock.now().saturating_add(self.timeout);
        let mut noticed = None;
        if start(self.context, callback, self.answer.cast()) != 0 {
            return Err(self.failure(doing, Errno::EIO, &self.error_text()));
        }
        loop {
            // SAFETY: callbacks write to the answer only within `pump`.
            let answer = unsafe { &*self.answer };
            if answer.arrived && answer.status >= 0 {
                return Ok(answer.status);
            }
            if answer.arrived {
                let text = match answer.text.is_empty() {
                    true => self.error_text(),
                    false => answer.text.clone(),
                };
                return Err(self.failure(doing, errno_of(answer.status), &text));
            }
            let left = end.saturating_sub(self.clock.now());
            if left == 0 {
                let text = format!("no answer within {}", shown(Nanos(self.timeout)));
                return Err(self.failure(doing, Errno::ETIMEDOUT, &text));
            }
            if self.must_give_up(&mut noticed) {
                return Err(self.failure(doing, Errno::ECANCELED, "a signal asked fiord to stop"));
            }
            if let Err(LibraryText(text)) = self.pump(left.min(LOOK)) {
                // SAFETY: as above.
                let told = unsafe { (*self.answer).text.clone() };
                let text = if told.is_empty() { text } else { told };
                return Err(self.failure(doing, Errno::ECONNREFUSED, &text));
            }
        }
    }

    /// Whether to wait no longer for an answer because the run must stop. A file is closed also at the normal end of a job,
    /// when the server may have much to write; after a signal, it gets a moment for that. `noticed`: when the signal was
    /// first seen, ns.
    fn must_give_up(&self, noticed: &mut Option<u64>) -> bool {
        if !self.closing {
            return self.stop.is_stopped() || signal::stop_requested();
        }
        let now = self.clock.now();
        signal::stop_requested() && now.saturating_sub(*noticed.get_or_insert(now)) >= GRACE
    }

    fn failure(&self, doing: &str, errno: Errno, text: &str) -> NfsFailure {
        let help = remedy(doing, errno, text).map(String::from);
        NfsFailure {
            what: format!("{PURPOSE}: {}: cannot {doing}: {text}", self.server),
            help,
            errno,
        }
    }

    /// The size of the file at a path below the export, and whether it can be written.
    pub(super) fn facts(&mut self, path: &Path) -> Result<NfsFacts, NfsFailure> {
        let functions = self.functions.clone();
        let name = inside(path)?;
        let doing = format!("read the attributes of `{}`", path.display());
        let found = self.call_with(answered_with_size, &doing, |context, answered, private| {
            // SAFETY: context and text are valid.
            unsafe { (functions.nfs_stat64_async)(context, name.as_ptr(), answered, private) }
        });
        let size = match found {
            // SAFETY: the call is over.
            Ok(_) => Some(unsafe { (*self.answer).size }),
            Err(failure) if failure.errno == Errno::ENOENT => None,
            Err(failure) => return Err(failure),
        };
        // A missing file is created in its directory.
        let parent = path.parent().filter(|_| size.is_none()).unwrap_or(Path::new("/"));
        let place = inside(if size.is_some() { path } else { parent })?;
        let doing = format!("find out who may write to `{}`", path.display());
        let allowed = self.call(&doing, |context, answered, private| {
            // SAFETY: context and text are valid.
            unsafe { (functions.nfs_access2_async)(context, place.as_ptr(), answered, private) }
        })?;
        Ok(NfsFacts {
            size: Bytes(size.unwrap_or(0)),
            read_only: allowed & super::abi::MAY_WRITE == 0,
        })
    }

    /// Opens the file at a path below the export. One that is to be written is created if it is missing.
    pub(super) fn open_file(
        &mut self,
        path: &Path,
        read_only: bool,
        durable: bool,
    ) -> Result<*mut NfsFile, NfsFailure> {
        let access = if read_only { libc::O_RDONLY } else { libc::O_RDWR };
        let flags = access | if durable { libc::O_SYNC } else { 0 };
        let opened = self.open_as(path, flags);
        match opened {
            Err(failure) if failure.errno == Errno::ENOENT && !read_only => {}
            other => return other,
        }
        match self.open_as(path, flags | libc::O_CREAT) {
            // Another job created it in between.
            Err(failure) if failure.errno == Errno::EEXIST => self.open_as(path, flags),
            other => other,
        }
    }

    fn open_as(&mut self, path: &Path, flags: c_int) -> Result<*mut NfsFile, NfsFailure> {
        let functions = self.functions.clone();
        let name = inside(path)?;
        let doing = match flags & libc::O_CREAT {
            0 => format!("open `{}`", path.display()),
            _ => format!("create `{}`", path.display()),
        };
        self.call_with(answered_with_file, &doing, |context, answered, private| {
            // SAFETY: context and text are valid.
            unsafe {
                (functions.nfs_open2_async)(context, name.as_ptr(), flags, 0o644, answered, private)
            }
        })?;
        // SAFETY: the call is over.
        let file = unsafe { (*self.answer).file };
        file.ok_or_else(|| self.failure(&doing, Errno::EIO, "the library returned no file"))
    }

    /// The size of an open file in bytes.
    pub(super) fn size(&mut self, file: *mut NfsFile) -> Result<u64, NfsFailure> {
        let functions = self.functions.clone();
        self.call_with(
            answered_with_size,
            "read the size of the file",
            |context, answered, private| {
                // SAFETY: context and file are valid.
                unsafe { (functions.nfs_fstat64_async)(context, file, answered, private) }
            },
        )?;
        // SAFETY: the call is over.
        Ok(unsafe { (*self.answer).size })
    }

    /// Writes all of `data` at `offset` of an open file.
    pub(super) fn write(
        &mut self,
        file: *mut NfsFile,
        offset: u64,
        data: &[u8],
    ) -> Result<(), NfsFailure> {
        let functions = self.functions.clone();
        let mut done = 0;
        while done < data.len() {
            let (rest, at) = (&data[done..], offset + done as u64);
            let doing = "lay out the file";
            let wrote = self.call(doing, |context, answered, private| {
                let (len, start) = (rest.len() as u64, rest.as_ptr().cast());
                // SAFETY: the data outlive the call, unless it fails; then the session ends.
                unsafe {
                    (functions.nfs_pwrite_async)(context, file, at, len, start, answered, private)
                }
            })?;
            if wrote == 0 {
                return Err(self.failure(doing, Errno::EIO, "the server wrote nothing"));
            }
            done += wrote as usize;
        }
        Ok(())
    }

    /// Closes an open file.
    pub(super) fn close_file(&mut self, file: *mut NfsFile) -> Result<(), NfsFailure> {
        let functions = self.functions.clone();
        self.closing = true;
        let closed = self.call("close the file", |context, answered, private| {
            // SAFETY: context and file are valid, and the caller does not use the file again.
            unsafe { (functions.nfs_close_async)(context, file, answered, private) }
        });
        self.closing = false;
        closed.map(drop)
    }
}

impl Drop for NfsSession {
    /// Closes the connection. Calls in flight end with an error.
    fn drop(&mut self) {
        // SAFETY: the context is valid, and the callbacks of calls in flight use memory that still exists.
        unsafe { (self.functions.nfs_destroy_context)(self.context) };
        // SAFETY: the answer comes from `Box::into_raw`, and no call is left that uses it.
        drop(unsafe { Box::from_raw(self.answer) });
    }
}

/// Takes the answer to a call. `data` is the text of a failure.
unsafe extern "C" fn answered(
    status: c_int,
    _context: *mut NfsContext,
    data: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: `private` is the answer of a session, which exists as long as its context, and which nothing else uses
    // while the library runs.
    let answer = unsafe { &mut *private.cast::<Answer>() };
    answer.arrived = true;
    answer.status = status;
    if status < 0 {
        // SAFETY: the data of a failure are a text or null.
        answer.text = unsafe { copied(data.cast()) }.unwrap_or_default();
    }
}

/// Takes the answer to a call whose data are an open file.
unsafe extern "C" fn answered_with_file(
    status: c_int,
    context: *mut NfsContext,
    data: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: the same conditions.
    unsafe { answered(status, context, data, private) };
    // SAFETY: as in `answered`.
    let answer = unsafe { &mut *private.cast::<Answer>() };
    answer.file = (status >= 0 && !data.is_null()).then_some(data.cast());
}

/// Takes the answer to a call whose data are the attributes of a file.
unsafe extern "C" fn answered_with_size(
    status: c_int,
    context: *mut NfsContext,
    data: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: the same conditions.
    unsafe { answered(status, context, data, private) };
    if status >= 0 && !data.is_null() {
        // SAFETY: the data are attributes, and the answer is as in `answered`.
        unsafe { (*private.cast::<Answer>()).size = (*data.cast::<NfsStat>()).size };
    }
}

/// The errno of a negative status.
pub(super) fn errno_of(status: i32) -> Errno {
    match BROKEN.contains(&status) {
        true => Errno::ECONNRESET,
        false => Errno::from_raw(status.saturating_neg()),
    }
}

/// A path as the library knows paths: relative to the export, and with a slash.
fn inside(path: &Path) -> Result<CString, NfsFailure> {
    let bytes = path.as_os_str().as_bytes();
    let slash: &[u8] = if bytes.starts_with(b"/") { b"" } else { b"/" };
    Ok(text(&[slash, bytes].concat(), PURPOSE)?)
}

/// What the user can do about a failure.
fn remedy(doing: &str, errno: Errno, text: &str) -> Option<&'static str> {
    let mounts = doing.starts_with("mount");
    Some(match errno {
        Errno::ETIMEDOUT => {
            "To fix: check that the server runs and that no firewall drops the packets, or raise `endpoint_timeout`"
        }
        Errno::EACCES | Errno::ENOENT | Errno::EPERM if mounts => {
            "To fix: compare the path in `nfs_url` with the server's exports (`showmount -e SERVER`), and check that the \
             export admits this host"
        }
        _ if mounts && !text.contains("MNT3ERR") => {
            "To fix: start the NFS server, and check server and ports in `nfs_url`: without `nfsport` and `mountport`, the \
             server must run rpcbind"
        }
        Errno::EROFS => "To fix: use `rw=read`, or export the file system for writing",
        Errno::EACCES | Errno::EPERM => {
            "To fix: set `uid` and `gid` in `nfs_url` to an owner of the files, or change their permissions"
        }
        Errno::ENOENT if doing.starts_with("open") => {
            "To fix: write the file first (`rw=write`): a job that only reads creates no file on a server"
        }
        Errno::ENOENT => "To fix: create the directory on the server",
        _ => return None,
    })
}
