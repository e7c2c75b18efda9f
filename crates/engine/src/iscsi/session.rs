//! A session with an iSCSI target: a context of libiscsi, its connection, and calls that wait for their answer.

use std::ffi::{CStr, c_int, c_void};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fiord_plan::{EndpointError, IscsiPlan, iscsi_shown};
use fiord_sys::poll::{self, PollEntry, Waited};
use fiord_sys::scsi::Sense;
use fiord_sys::signal;
use fiord_types::{Bytes, Errno, Nanos};

use super::abi::{
    IscsiCallback, IscsiContext, IscsiFunctions, IscsiUrl, NORMAL_SESSION, ScsiTask, status,
};
use crate::endpoint::shown;
use crate::polled::LOOK;
use crate::polled::connection::{copied, entry, ready, text};
use crate::polled::inbox::LibraryText;
use crate::{EndSignal, EngineError, MachineClock, Time};

/// How the messages of the engine begin.
pub(super) const PURPOSE: &str = "ioengine=libiscsi";

/// How long the engine waits for the target to answer a logout, ns.
const LOGOUT: u64 = 1_000_000_000;

/// The sense key of a command that the target does not know.
const ILLEGAL_REQUEST: u8 = 5;

/// A failure to do something on the target.
#[derive(Debug)]
pub(super) struct IscsiFailure {
    pub what: String,
    pub help: Option<String>,
    pub errno: Errno,
    sense: Option<Sense>,
}

impl From<IscsiFailure> for EngineError {
    fn from(failure: IscsiFailure) -> Self {
        EngineError { what: failure.what, help: failure.help, errno: Some(failure.errno) }
    }
}

impl From<IscsiFailure> for EndpointError {
    fn from(failure: IscsiFailure) -> Self {
        EngineError::from(failure).into()
    }
}

impl From<EngineError> for IscsiFailure {
    fn from(error: EngineError) -> Self {
        let EngineError { what, help, errno } = error;
        IscsiFailure { what, help, errno: errno.unwrap_or(Errno::EIO), sense: None }
    }
}

/// The target's answer to a call of the set-up.
#[derive(Debug)]
struct Answer {
    arrived: bool,
    status: c_int,
    sense: Option<Sense>,
    data: Vec<u8>,
    /// The task of the command, which is to be freed; null without one.
    task: *mut ScsiTask,
}

impl Default for Answer {
    fn default() -> Self {
        let task = std::ptr::null_mut();
        Answer { arrived: false, status: 0, sense: None, data: Vec::new(), task }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct LogicalUnit {
    /// Logical unit number.
    pub lun: c_int,
    pub size: Bytes,
    pub block: Bytes,
    /// The unit deallocates blocks (UNMAP).
    pub unmaps: bool,
    /// The unit is write-protected.
    pub read_only: bool,
}

/// A context of libiscsi that is logged in to a target.
#[derive(Debug)]
pub(super) struct IscsiSession {
    pub functions: Arc<IscsiFunctions>,
    pub context: *mut IscsiContext,
    /// The answer to the call that waits, on the heap, because the library keeps its address.
    answer: *mut Answer,
    pub unit: LogicalUnit,
    /// The target's URL without secrets, for messages.
    pub shown: String,
    /// The library's text after the set-up, which is about none of the job's commands.
    stale: Option<String>,
    /// ns.
    timeout: u64,
    clock: MachineClock,
    stop: EndSignal,
}

// SAFETY: the library has no threads of its own and keeps no state outside the context, which only this value uses.
unsafe impl Send for IscsiSession {}

impl IscsiSession {
    /// Logs in to the target at a URL, and asks for the properties of the logical unit.
    pub(super) fn open(
        plan: &IscsiPlan,
        address: &Path,
        clock: MachineClock,
        stop: &EndSignal,
    ) -> Result<Self, IscsiFailure> {
        let functions = Arc::new(IscsiFunctions::load()?);
        let name = text(plan.initiator.as_bytes(), PURPOSE)?;
        // SAFETY: the text ends with NUL.
        let context = unsafe { (functions.iscsi_create_context)(name.as_ptr()) };
        if context.is_null() {
            let what = format!("{PURPOSE}: libiscsi refuses `initiator={}`", plan.initiator);
            return Err(EngineError::plain(what).into());
        }
        let mut session = IscsiSession {
            functions,
            context,
            answer: Box::into_raw(Box::default()),
            unit: LogicalUnit {
                lun: 0,
                size: Bytes(0),
                block: Bytes(1),
                unmaps: false,
                read_only: false,
            },
            shown: iscsi_shown(address),
            stale: None,
            timeout: plan.endpoint.timeout.0,
            clock,
            stop: stop.clone(),
        };
        session.log_in(address)?;
        session.ask()?;
        session.stale = session.library_text();
        Ok(session)
    }

    fn log_in(&mut self, address: &Path) -> Result<(), IscsiFailure> {
        let functions = self.functions.clone();
        let url = text(address.as_os_str().as_bytes(), PURPOSE)?;
        // SAFETY: context and text are valid.
        let parsed = unsafe { (functions.iscsi_parse_full_url)(self.context, url.as_ptr()) };
        if parsed.is_null() {
            let what = format!("{PURPOSE}: `{}` is not the URL of a logical unit", self.shown);
            let help = "To fix: write `filename=iscsi\\://HOST\\:PORT/TARGET/LUN`".to_owned();
            return Err(IscsiFailure { what, help: Some(help), errno: Errno::EINVAL, sense: None });
        }
        // SAFETY: the library filled in the structure.
        let logged_in = self.log_in_to(unsafe { &*parsed });
        // SAFETY: nothing uses the structure any longer.
        unsafe { (functions.iscsi_destroy_url)(parsed) };
        logged_in
    }

    fn log_in_to(&mut self, url: &IscsiUrl) -> Result<(), IscsiFailure> {
        let functions = self.functions.clone();
        // SAFETY: the context is valid, and the texts of the URL end with NUL.
        unsafe {
            // A lost session is an error: libiscsi would otherwise reconnect forever, and send the I/Os again.
            (functions.iscsi_set_noautoreconnect)(self.context, 1);
            (functions.iscsi_set_reconnect_max_retries)(self.context, 0);
            (functions.iscsi_set_session_type)(self.context, NORMAL_SESSION);
            (functions.iscsi_set_targetname)(self.context, url.target.as_ptr());
            if url.user[0] != 0 {
                let (user, password) = (url.user.as_ptr(), url.password.as_ptr());
                (functions.iscsi_set_initiator_username_pwd)(self.context, user, password);
            }
            if url.target_user[0] != 0 {
                let (user, password) = (url.target_user.as_ptr(), url.target_password.as_ptr());
                (functions.iscsi_set_target_username_pwd)(self.context, user, password);
            }
        }
        self.unit.lun = url.lun;
        let (portal, lun) = (url.portal.as_ptr(), url.lun);
        let connected =
            self.call("log in", (answered, self.timeout), |context, answered, private| {
                // SAFETY: context and text are valid.
                unsafe {
                    (functions.iscsi_full_connect_async)(context, portal, lun, answered, private)
                        == 0
                }
            });
        connected.map(drop).map_err(|failure| {
            // SAFETY: the text ends with NUL.
            let portal = unsafe { CStr::from_ptr(portal) }.to_string_lossy();
            self.with_reason(failure, &portal)
        })
    }

    /// The failure to connect, with the reason that the library does not tell.
    fn with_reason(&self, failure: IscsiFailure, portal: &str) -> IscsiFailure {
        if failure.errno != Errno::ECONNREFUSED {
            return failure;
        }
        let with_port = match portal.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => portal.to_owned(),
            _ => format!("{portal}:3260"),
        };
        let first = with_port.to_socket_addrs().map(|mut addresses| addresses.next());
        let reached = first.and_then(|address| match address {
            Some(address) => TcpStream::connect_timeout(&address, Duration::from_secs(1)).map(drop),
            None => Ok(()),
        });
        match reached {
            Ok(()) => failure,
            Err(error) => {
                let what =
                    format!("{PURPOSE}: {}: cannot connect to {with_port}: {error}", self.shown);
                IscsiFailure { what, ..failure }
            }
        }
    }

    /// Asks for the properties of the logical unit.
    fn ask(&mut self) -> Result<(), IscsiFailure> {
        let (functions, lun) = (self.functions.clone(), self.unit.lun);
        let doing = "read the capacity";
        let long = self.command(doing, |context, answered, private| {
            // SAFETY: the context is valid.
            unsafe {
                !(functions.iscsi_readcapacity16_task)(context, lun, answered, private).is_null()
            }
        });
        let (last, block, unmaps) = match long {
            Ok(data) => {
                let provisioned = data.get(14).is_some_and(|byte| byte & 0x80 != 0);
                (number(&data, 0, 8), number(&data, 8, 4), provisioned)
            }
            Err(failure) if failure.sense.is_some_and(|sense| sense.key == ILLEGAL_REQUEST) => {
                let data = self.command(doing, |context, answered, private| {
                    // SAFETY: the context is valid.
                    let task = unsafe {
                        (functions.iscsi_readcapacity10_task)(context, lun, 0, 0, answered, private)
                    };
                    !task.is_null()
                })?;
                (number(&data, 0, 4), number(&data, 4, 4), false)
            }
            Err(failure) => return Err(failure),
        };
        let block = u32::try_from(block).unwrap_or(0);
        if block == 0 {
            return Err(self.failure(
                doing,
                Errno::EIO,
                "the target answered with blocks of 0 bytes",
            ));
        }
        let size = last.saturating_add(1).saturating_mul(block.into());
        // Every page. Targets that do not know the command are writable as far as fiord knows.
        let modes = self.command("read the mode", |context, answered, private| {
            // SAFETY: the context is valid.
            let task = unsafe {
                (functions.iscsi_modesense6_task)(
                    context, lun, 0, 0, 0x3f, 0, 255, answered, private,
                )
            };
            !task.is_null()
        });
        let read_only = match modes {
            Ok(data) => data.get(2).is_some_and(|byte| byte & 0x80 != 0),
            Err(failure) if failure.sense.is_some() => false,
            Err(failure) => return Err(failure),
        };
        self.unit =
            LogicalUnit { lun, size: Bytes(size), block: Bytes(block.into()), unmaps, read_only };
        Ok(())
    }

    /// The library's text about the last failure.
    pub(super) fn error_text(&self) -> String {
        let text = self.library_text().filter(|text| Some(text) != self.stale.as_ref());
        text.unwrap_or_else(|| "the target closed the connection".to_owned())
    }

    fn library_text(&self) -> Option<String> {
        // SAFETY: the context is valid, and its text ends with NUL.
        unsafe { copied((self.functions.iscsi_get_error)(self.context)) }
    }

    /// Sends what is queued, without waiting.
    pub(super) fn send(&mut self) -> Result<(), LibraryText> {
        self.service(libc::POLLOUT)
    }

    /// Sends and receives.
    ///
    /// # Errors
    ///
    /// The session is lost: the library's text.
    pub(super) fn service(&mut self, events: i16) -> Result<(), LibraryText> {
        let functions = &self.functions;
        // SAFETY: the context is valid, and the callbacks use memory that outlives the calls.
        let alive = unsafe {
            (functions.iscsi_service)(self.context, c_int::from(events)) >= 0
                && (functions.iscsi_get_fd)(self.context) >= 0
        };
        if alive { Ok(()) } else { Err(LibraryText(self.error_text())) }
    }

    /// The descriptor of the connection, and what to wait for.
    pub(super) fn entry(&self) -> PollEntry {
        // SAFETY: the context is valid.
        let (fd, events) = unsafe {
            let functions = &self.functions;
            ((functions.iscsi_get_fd)(self.context), (functions.iscsi_which_events)(self.context))
        };
        entry(fd, events)
    }

    /// Makes a call and waits for its answer for at most `patience` ns. `doing` follows "cannot". Returns the answer's data.
    fn call(
        &mut self,
        doing: &str,
        (callback, patience): (IscsiCallback, u64),
        start: impl FnOnce(*mut IscsiContext, IscsiCallback, *mut c_void) -> bool,
    ) -> Result<Vec<u8>, IscsiFailure> {
        // SAFETY: no call waits, so that only this function uses the answer.
        unsafe { *self.answer = Answer::default() };
        let end = self.clock.now().saturating_add(patience);
        if !start(self.context, callback, self.answer.cast()) {
            return Err(self.failure(doing, Errno::EIO, &self.error_text()));
        }
        loop {
            // SAFETY: callbacks write to the answer only within `service`.
            let answer = unsafe { &mut *self.answer };
            if answer.arrived && answer.status == status::GOOD {
                return Ok(std::mem::take(&mut answer.data));
            }
            if answer.arrived {
                let sense = answer.sense;
                let text = self.error_text();
                let errno = match sense {
                    Some(_) => Errno::EIO,
                    None if text.contains("log in") || text.contains("Status:") => Errno::EACCES,
                    None => Errno::ECONNREFUSED,
                };
                return Err(IscsiFailure { sense, ..self.failure(doing, errno, &text) });
            }
            let left = end.saturating_sub(self.clock.now());
            if left == 0 {
                let text = format!("no answer within {}", shown(Nanos(patience)));
                return Err(self.failure(doing, Errno::ETIMEDOUT, &text));
            }
            if self.stop.is_stopped() || signal::stop_requested() {
                return Err(self.failure(doing, Errno::ECANCELED, "a signal asked fiord to stop"));
            }
            if let Err(LibraryText(text)) = self.pump(left.min(LOOK)) {
                return Err(self.failure(doing, Errno::ECONNREFUSED, &text));
            }
        }
    }

    /// Makes a SCSI command and waits for its answer.
    fn command(
        &mut self,
        doing: &str,
        start: impl FnOnce(*mut IscsiContext, IscsiCallback, *mut c_void) -> bool,
    ) -> Result<Vec<u8>, IscsiFailure> {
        let answered = self.call(doing, (answered_command, self.timeout), start);
        // SAFETY: the call is over.
        let task = std::mem::replace(unsafe { &mut (*self.answer).task }, std::ptr::null_mut());
        if !task.is_null() {
            // SAFETY: the task is over, and nothing else frees it.
            unsafe { (self.functions.scsi_free_scsi_task)(task) };
        }
        answered
    }

    /// Waits for the connection for at most `timeout` ns, sends and receives.
    fn pump(&mut self, timeout: u64) -> Result<(), LibraryText> {
        let mut entries = [self.entry()];
        match poll::wait(&mut entries, Some(Duration::from_nanos(timeout))) {
            Err(error) => Err(LibraryText(error.to_string())),
            Ok(Waited::Interrupted | Waited::TimedOut) => Ok(()),
            Ok(Waited::Ready) => self.service(ready(entries[0])),
        }
    }

    fn failure(&self, doing: &str, errno: Errno, text: &str) -> IscsiFailure {
        let help = remedy(doing, errno, text).map(String::from);
        let what = format!("{PURPOSE}: {}: cannot {doing}: {text}", self.shown);
        IscsiFailure { what, help, errno, sense: None }
    }

    /// Logs out. A target that does not answer does not matter.
    pub(super) fn log_out(&mut self) {
        let functions = self.functions.clone();
        let _ = self.call(
            "log out",
            (answered, LOGOUT.min(self.timeout)),
            |context, answered, private| {
                // SAFETY: the context is valid.
                unsafe { (functions.iscsi_logout_async)(context, answered, private) == 0 }
            },
        );
    }
}

impl Drop for IscsiSession {
    /// Closes the connection. Commands in flight end with an error.
    fn drop(&mut self) {
        // SAFETY: the context is valid, and the callbacks of commands in flight use memory that still exists.
        unsafe { (self.functions.iscsi_destroy_context)(self.context) };
        // SAFETY: the answer comes from `Box::into_raw`, and no call is left that uses it.
        drop(unsafe { Box::from_raw(self.answer) });
    }
}

/// Takes the answer to a login or a logout.
unsafe extern "C" fn answered(
    _context: *mut IscsiContext,
    status: c_int,
    _data: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: `private` is the answer of a session, which exists as long as its context, and which nothing else uses while
    // the library runs.
    let answer = unsafe { &mut *private.cast::<Answer>() };
    answer.arrived = true;
    answer.status = status;
}

/// Takes the answer to a SCSI command, whose data are the task. Its callers keep the context alive.
unsafe extern "C" fn answered_command(
    context: *mut IscsiContext,
    code: c_int,
    data: *mut c_void,
    private: *mut c_void,
) {
    // SAFETY: the same conditions.
    unsafe { answered(context, code, data, private) };
    if data.is_null() {
        return;
    }
    // SAFETY: the data of a command are its task, and the answer is as in `answered`.
    let (task, answer) = unsafe { (&*data.cast::<ScsiTask>(), &mut *private.cast::<Answer>()) };
    if code == status::CHECK_CONDITION {
        answer.sense = Some(sense_of(task));
    }
    if code == status::GOOD && !task.data.is_null() {
        let len = usize::try_from(task.data_bytes).unwrap_or(0);
        // SAFETY: the task has `data_bytes` bytes of data.
        answer.data = unsafe { std::slice::from_raw_parts(task.data, len) }.to_vec();
    }
    answer.task = data.cast();
}

/// The sense data of a task whose status is CHECK CONDITION.
pub(super) fn sense_of(task: &ScsiTask) -> Sense {
    Sense {
        key: task.sense_key as u8,
        asc: (task.sense_code >> 8) as u8,
        ascq: task.sense_code as u8,
    }
}

/// A number of `len` bytes, the most significant first.
fn number(data: &[u8], at: usize, len: usize) -> u64 {
    let bytes = data.get(at..at + len).unwrap_or_default();
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// What the user can do about a failure.
fn remedy(doing: &str, errno: Errno, text: &str) -> Option<&'static str> {
    let logs_in = doing == "log in";
    Some(match errno {
        Errno::ETIMEDOUT => {
            "To fix: check that the target runs and that no firewall drops the packets, or raise `endpoint_timeout`"
        }
        _ if logs_in && text.contains("LOGICAL_UNIT_NOT_SUPPORTED") => {
            "To fix: write a LUN that the target has (`iscsi-ls -s iscsi://HOST:PORT` lists them)"
        }
        _ if logs_in && text.contains("not found") => {
            "To fix: write the name of a target of this portal (`iscsi-ls iscsi://HOST:PORT` lists them)"
        }
        Errno::EACCES => {
            "To fix: let the target admit this initiator (`initiator`), or write user and password in the URL: \
             `iscsi\\://USER%PASSWORD@HOST/TARGET/LUN`"
        }
        Errno::ECONNREFUSED => {
            "To fix: start the target, and check host and port: the port is 3260 unless the URL names one"
        }
        _ => return None,
    })
}
