//! `rados`: objects of a Ceph pool, through librados. Each file of the job is an object.

use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use fiord_plan::model::RadosPlan;
use fiord_plan::{EndpointError, EndpointFacts};
use fiord_types::{Errno, FileIndex};

use super::abi::{CREATE_EXCLUSIVE, CephHandle, rados};
use super::cluster::{CephPool, checked, text};
use crate::callback::connecting::patiently;
use crate::callback::{Client, Ticket};
use crate::error::{about_the_library, about_the_server};
use crate::{Attachment, EndSignal, EngineConfig, EngineError, Op, OpKind, Outcome};

/// How messages name the engine.
const NAME: &str = "rados";

/// Requests to the objects of a pool.
pub struct RadosClient {
    plan: RadosPlan,
    /// The name of the object that each file is.
    objects: Vec<CString>,
    pool: Option<CephPool>,
    end: EndSignal,
}

/// Creates the objects that do not exist.
fn touch(pool: &CephPool, objects: &[CString], end: &EndSignal) -> Result<(), EngineError> {
    for object in objects {
        if end.is_stopped() {
            break;
        }
        create(pool, object).map_err(|errno| {
            let name = object.to_string_lossy();
            let what = format!("ioengine={NAME}: cannot create the object `{name}`: {errno}");
            let help = match errno {
                Errno::EPERM | Errno::EACCES => {
                    "To fix: set `touch_objects=0` if the objects exist, or give the client the right to write"
                }
                _ => "To fix: check the cluster: `ceph -s`",
            };
            EngineError { what, help: Some(help.into()), errno: Some(errno) }
        })?;
    }
    Ok(())
}

/// Creates an object if it does not exist.
fn create(pool: &CephPool, object: &CString) -> Result<(), Errno> {
    let functions = pool.functions;
    let (mut size, mut time) = (0, 0);
    // SAFETY: the pool is open, the name ends with NUL, and the results have room for the numbers.
    let found = checked(unsafe {
        (functions.rados_stat)(pool.io, object.as_ptr(), &raw mut size, &raw mut time)
    });
    match found {
        Ok(_) => return Ok(()),
        Err(Errno::ENOENT) => {}
        Err(errno) => return Err(errno),
    }
    // SAFETY: the pool is open, the name ends with NUL, and the list of operations is released once, after its use.
    let created = unsafe {
        let list = (functions.rados_create_write_op)();
        (functions.rados_write_op_create)(list, CREATE_EXCLUSIVE, ptr::null());
        let ret =
            (functions.rados_write_op_operate)(list, pool.io, object.as_ptr(), ptr::null(), 0);
        (functions.rados_release_write_op)(list);
        checked(ret)
    };
    match created {
        // Another job was faster.
        Ok(_) | Err(Errno::EEXIST) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Called by the library when a request has ended.
unsafe extern "C" fn ended(completion: CephHandle, argument: *mut c_void) {
    let Ok(functions) = rados(NAME) else { return };
    // SAFETY: the library calls this once for each completion, which is not used again.
    let result = unsafe {
        let result = (functions.rados_aio_get_return_value)(completion);
        (functions.rados_aio_release)(completion);
        result
    };
    // SAFETY: the argument is that of a ticket, whose request has ended.
    unsafe { Ticket::complete(argument, i64::from(result)) };
}

impl Client for RadosClient {
    const REPORTS_TIMEOUTS: bool = true;

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.rados().cloned().ok_or_else(EngineError::other_engine)?;
        rados(NAME)?;
        let names = config.addresses.iter().map(|path| text(&path.to_string_lossy()));
        Ok(RadosClient {
            plan,
            objects: names.collect::<Result<_, _>>()?,
            pool: None,
            end: config.end.clone(),
        })
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        let (plan, objects, end) = (self.plan.clone(), self.objects.clone(), self.end.clone());
        let timeout = plan.endpoint.timeout;
        self.pool = patiently(NAME, timeout, &self.end, move || {
            let pool = CephPool::open(NAME, &plan.ceph, timeout)?;
            if plan.touch {
                touch(&pool, &objects, &end)?;
            }
            Ok::<_, EngineError>(pool)
        })?;
        Ok(())
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }

    fn detach(&mut self, _file: FileIndex, _abandoned: bool) {}

    unsafe fn start(&mut self, op: &Op, data: *mut u8, ticket: Ticket) -> Result<(), Errno> {
        let Some(CephPool { functions, io, .. }) = self.pool else { return Err(Errno::ENOTCONN) };
        let object = self.objects.get(op.file.get()).ok_or(Errno::EBADF)?.as_ptr();
        let mut completion = ptr::null_mut();
        let (offset, len) = (op.offset, op.len as usize);
        // SAFETY: the result has room for a handle.
        checked(unsafe {
            let argument = ticket.argument();
            (functions.rados_aio_create_completion)(
                argument,
                Some(ended),
                None,
                &raw mut completion,
            )
        })?;
        // SAFETY: the pool is open, the name ends with NUL, and the caller vouches for the buffer.
        let started: c_int = unsafe {
            match op.kind {
                OpKind::Read => {
                    (functions.rados_aio_read)(io, object, completion, data, len, offset)
                }
                OpKind::Write => {
                    (functions.rados_aio_write)(io, object, completion, data, len, offset)
                }
                OpKind::Trim => {
                    let list = (functions.rados_create_write_op)();
                    (functions.rados_write_op_zero)(list, offset, len as u64);
                    let ret = (functions.rados_aio_write_op_operate)(
                        list,
                        io,
                        completion,
                        object,
                        ptr::null(),
                        0,
                    );
                    (functions.rados_release_write_op)(list);
                    ret
                }
                OpKind::Fsync | OpKind::Fdatasync => {
                    (functions.rados_aio_flush_async)(io, completion)
                }
                OpKind::SyncFileRange(_) => Errno::EINVAL.as_result() as c_int,
            }
        };
        checked(started).map(drop).inspect_err(|_| {
            // SAFETY: the library did not accept the request, so it does not use the completion.
            unsafe { (functions.rados_aio_release)(completion) };
        })
    }

    /// A part of an object that was never written reads as zeros, like a hole in a file: librados returns fewer bytes
    /// at the end of an object.
    unsafe fn outcome(&self, op: &Op, data: *mut u8, result: i64) -> Outcome {
        match (u32::try_from(result), op.kind) {
            (Ok(read), OpKind::Read) => {
                let read = read.min(op.len);
                // SAFETY: the buffer has `len` bytes, and the caller vouches that nothing else uses it.
                unsafe { data.add(read as usize).write_bytes(0, (op.len - read) as usize) };
                Outcome::ok(op.len)
            }
            (Ok(_), OpKind::Write) => Outcome::ok(op.len),
            (Ok(_), _) => Outcome::ok(0),
            (Err(_), _) => Outcome::from_raw(result),
        }
    }

    fn reason(&self, request: &str, errno: Errno) -> Option<String> {
        let help = match errno {
            Errno::ENOENT => "To fix: write the object first, or leave out `touch_objects=0`",
            Errno::EPERM | Errno::EACCES => {
                "To fix: give the client the right: `ceph auth caps … osd 'allow rwx pool=…'`"
            }
            Errno::ENOSPC | Errno::EDQUOT => "To fix: free space in the pool: `ceph df`",
            Errno::EFBIG => "To fix: use a smaller `size`, or more files (`nrfiles`)",
            _ => "To fix: check the cluster: `ceph -s`",
        };
        Some(format!("{request} failed: {errno}. {help}"))
    }

    fn close(&mut self, abandoned: bool) {
        match self.pool.take() {
            Some(pool) if abandoned => pool.abandon(),
            pool => drop(pool),
        }
    }
}

impl std::fmt::Debug for RadosClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RadosClient").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// The plan whose pool was asked last, so that a job with many objects asks once.
static ASKED: Mutex<Option<RadosPlan>> = Mutex::new(None);

/// Connects to the pool of a plan, so that wrong names and keys are noticed before the run. The objects have no size
/// that the job must keep to.
pub(crate) fn ask(plan: &RadosPlan) -> Result<Option<EndpointFacts>, EndpointError> {
    rados(NAME).map_err(about_the_library)?;
    let mut asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if asked.as_ref() != Some(plan) {
        let (ceph, timeout) = (plan.ceph.clone(), plan.endpoint.timeout);
        patiently(NAME, timeout, &EndSignal::default(), move || {
            CephPool::open(NAME, &ceph, timeout).map(drop).map_err(about_the_server)
        })?;
        *asked = Some(plan.clone());
    }
    Ok(None)
}
