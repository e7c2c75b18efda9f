//! `gfapi_async`: many requests in flight.

use std::ffi::{c_int, c_void};
use std::ptr;

use fiord_types::{Errno, FileIndex, Nanos};

use super::abi::GlfsHandle;
use super::volume::GlfsSession;
use crate::callback::{Client, Ticket};
use crate::{Attachment, EngineConfig, EngineError, Op, OpKind};

/// Requests to the files of a volume.
#[derive(Debug)]
pub struct GfapiClient {
    session: GlfsSession,
}

/// Called by the library when a request has ended.
unsafe extern "C" fn ended(
    _file: GlfsHandle,
    result: isize,
    _before: *mut c_void,
    _after: *mut c_void,
    argument: *mut c_void,
) {
    let result = if result < 0 { Errno::last().as_result() } else { result as i64 };
    // SAFETY: the argument is that of a ticket, whose request has ended.
    unsafe { Ticket::complete(argument, result) };
}

impl Client for GfapiClient {
    const REPORTS_TIMEOUTS: bool = false;

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        Ok(GfapiClient { session: GlfsSession::new("gfapi_async", config)? })
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        self.session.connect()
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.session.attach(file.get(), target)
    }

    fn detach(&mut self, file: FileIndex, abandoned: bool) {
        self.session.detach(file.get(), abandoned);
    }

    unsafe fn start(&mut self, op: &Op, data: *mut u8, ticket: Ticket) -> Result<(), Errno> {
        let Some(volume) = &self.session.volume else { return Err(Errno::ENOTCONN) };
        let functions = volume.functions;
        let file = self.session.files.get(op.file.get()).copied().unwrap_or(ptr::null_mut());
        if file.is_null() {
            return Err(Errno::EBADF);
        }
        let (offset, len, argument) = (op.offset as i64, op.len as usize, ticket.argument());
        // SAFETY: the file is open, and the caller vouches for the buffer.
        let ret: c_int = unsafe {
            match op.kind {
                OpKind::Read => {
                    (functions.glfs_pread_async)(file, data, len, offset, 0, ended, argument)
                }
                OpKind::Write => {
                    let len = c_int::try_from(len).map_err(|_| Errno::EINVAL)?;
                    (functions.glfs_pwrite_async)(file, data, len, offset, 0, ended, argument)
                }
                OpKind::Trim => (functions.glfs_discard_async)(file, offset, len, ended, argument),
                OpKind::Fsync => (functions.glfs_fsync_async)(file, ended, argument),
                OpKind::Fdatasync => (functions.glfs_fdatasync_async)(file, ended, argument),
                OpKind::SyncFileRange(_) => return Err(Errno::EINVAL),
            }
        };
        if ret == 0 { Ok(()) } else { Err(Errno::last()) }
    }

    unsafe fn outcome(&self, op: &Op, _data: *mut u8, result: i64) -> crate::Outcome {
        match op.kind {
            OpKind::Read | OpKind::Write => crate::Outcome::from_raw(result),
            _ => crate::Outcome::from_raw(result.min(0)),
        }
    }

    fn has_given_up(&self, errno: Errno, waited: Nanos) -> bool {
        self.session.has_given_up(errno, waited)
    }

    fn reason(&self, request: &str, errno: Errno) -> Option<String> {
        Some(self.session.reason(request, errno))
    }

    fn close(&mut self, abandoned: bool) {
        self.session.close(abandoned);
    }
}
