//! `rbd`: a block image of a Ceph cluster, through librbd.

use std::ffi::{c_int, c_void};
use std::ptr;

use fiord_plan::model::{EncryptionFormat, RbdPlan};
use fiord_plan::{EndpointError, EndpointFacts};
use fiord_types::{Bytes, Errno, FileIndex};

use super::abi::{
    CephHandle, ImageInfo, LUKS1, LUKS2, LuksOptions, RbdFunctions, load_encryption, rados, rbd,
};
use super::cluster::{CephPool, checked, text};
use crate::callback::connecting::patiently;
use crate::callback::{Client, Ticket};
use crate::error::{about_the_library, about_the_server};
use crate::{Attachment, EndSignal, EngineConfig, EngineError, Op, OpKind};

/// How messages name the engine.
const NAME: &str = "rbd";

/// Requests to an image.
pub struct RbdClient {
    plan: RbdPlan,
    image: Option<Image>,
    end: EndSignal,
    read_only: bool,
}

/// An open image. The image is closed before the connection ends.
struct Image {
    functions: &'static RbdFunctions,
    handle: CephHandle,
    pool: Option<CephPool>,
}

// SAFETY: librbd permits calls with a handle from any thread.
unsafe impl Send for Image {}

impl Image {
    /// Connects to the pool of a plan.
    fn pool(plan: &RbdPlan) -> Result<CephPool, EngineError> {
        // A missing library is an error before the cluster is asked for anything.
        rbd()?;
        CephPool::open(NAME, &plan.ceph, plan.endpoint.timeout)
    }

    /// Opens the image of a plan.
    fn open(pool: CephPool, plan: &RbdPlan, read_only: bool) -> Result<Self, EngineError> {
        let functions = rbd()?;
        let name = text(&plan.image)?;
        let mut handle = ptr::null_mut();
        let open = if read_only { functions.rbd_open_read_only } else { functions.rbd_open };
        // SAFETY: the handle of the pool is open, the name ends with NUL, and the result has room for a handle.
        checked(unsafe { open(pool.io, name.as_ptr(), &raw mut handle, ptr::null()) })
            .map_err(|errno| cannot_open(plan, errno))?;
        let image = Image { functions, handle, pool: Some(pool) };
        image.decrypt(plan)?;
        if !read_only {
            image.write_back(plan)?;
        }
        Ok(image)
    }

    /// Flushes the image. Until its first flush, librbd's cache writes through: it takes the client for one that never
    /// flushes. fio flushes here, too.
    fn write_back(&self, plan: &RbdPlan) -> Result<(), EngineError> {
        // SAFETY: the image is open.
        let flushed = unsafe { (self.functions.rbd_flush)(self.handle) };
        checked(flushed).map(drop).map_err(|errno| cannot_open(plan, errno))
    }

    /// Opens the encryption of the image, if the plan asks for it.
    fn decrypt(&self, plan: &RbdPlan) -> Result<(), EngineError> {
        let Some(encryption) = &plan.encryption else { return Ok(()) };
        let load = load_encryption()?;
        let passphrase = encryption.passphrase.expose();
        let mut options = LuksOptions::to_open(passphrase);
        let format = match encryption.format {
            EncryptionFormat::Luks1 => LUKS1,
            EncryptionFormat::Luks2 => LUKS2,
        };
        let options = (&raw mut options).cast::<c_void>();
        // SAFETY: the image is open, and the options are those of the format; the call does not keep them.
        let loaded = unsafe { load(self.handle, format, options, size_of::<LuksOptions>()) };
        checked(loaded).map(drop).map_err(|errno| {
            let what = format!(
                "ioengine={NAME}: cannot open the encryption of the image `{}`: {errno}",
                plan.image
            );
            let help = match errno {
                Errno::EPERM | Errno::EACCES => "To fix: check `rbd_encryption_passphrase`",
                _ => {
                    "To fix: check `rbd_encryption_format`; `rbd encryption format` prepares an image, which loses its \
                     data"
                }
            };
            EngineError { what, help: Some(help.into()), errno: Some(errno) }
        })
    }

    /// The size of the image in bytes, without what encryption takes.
    fn size(&self, plan: &RbdPlan) -> Result<u64, EngineError> {
        let mut info = ImageInfo::EMPTY;
        // SAFETY: the image is open, and `info` has room for more than the structure that the library knows.
        let found = unsafe {
            (self.functions.rbd_stat)(self.handle, &raw mut info, size_of::<ImageInfo>())
        };
        checked(found).map_err(|errno| {
            let what =
                format!("ioengine={NAME}: cannot read the size of `{}`: {errno}", plan.image);
            EngineError { what, help: None, errno: Some(errno) }
        })?;
        Ok(info.size())
    }

    /// Leaves everything as it is, because the library may still report requests.
    fn abandon(mut self) {
        self.handle = ptr::null_mut();
        if let Some(pool) = self.pool.take() {
            pool.abandon();
        }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the image is open, no request is in flight, and the handle is not used again.
            unsafe { (self.functions.rbd_close)(self.handle) };
        }
    }
}

fn cannot_open(plan: &RbdPlan, errno: Errno) -> EngineError {
    let RbdPlan { image, ceph, .. } = plan;
    let pool = &ceph.pool;
    let what =
        format!("ioengine={NAME}: cannot open the image `{image}` in the pool `{pool}`: {errno}");
    let help = match errno {
        Errno::ENOENT => {
            format!("To fix: check `rbdname`, or create it: `rbd create --size 10G {pool}/{image}`")
        }
        Errno::EPERM | Errno::EACCES => format!(
            "To fix: give {} the right: `ceph auth caps … osd 'profile rbd pool={pool}'`",
            ceph.user()
        ),
        Errno::ETIMEDOUT => "To fix: check the cluster: `ceph -s`".to_owned(),
        _ => "To fix: check the image: `rbd info`".to_owned(),
    };
    EngineError { what, help: Some(help), errno: Some(errno) }
}

/// Called by the library when a request has ended.
unsafe extern "C" fn ended(completion: CephHandle, argument: *mut c_void) {
    let Ok(functions) = rbd() else { return };
    // SAFETY: the library calls this once for each completion, which is not used again.
    let result = unsafe {
        let result = (functions.rbd_aio_get_return_value)(completion);
        (functions.rbd_aio_release)(completion);
        result
    };
    // SAFETY: the argument is that of a ticket, whose request has ended.
    unsafe { Ticket::complete(argument, result as i64) };
}

impl Client for RbdClient {
    const REPORTS_TIMEOUTS: bool = true;

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.rbd().cloned().ok_or_else(EngineError::other_engine)?;
        rbd()?;
        Ok(RbdClient { plan, image: None, end: config.end.clone(), read_only: false })
    }

    fn connect(&mut self) -> Result<(), EngineError> {
        let (plan, read_only) = (self.plan.clone(), self.read_only);
        let timeout = plan.endpoint.timeout;
        let open = move || Image::open(Image::pool(&plan)?, &plan, read_only);
        self.image = patiently(NAME, timeout, &self.end, open)?;
        Ok(())
    }

    fn attach(&mut self, _file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.read_only = target.read_only;
        Ok(())
    }

    fn detach(&mut self, _file: FileIndex, _abandoned: bool) {}

    unsafe fn start(&mut self, op: &Op, data: *mut u8, ticket: Ticket) -> Result<(), Errno> {
        let Some(Image { functions, handle, .. }) = self.image else { return Err(Errno::ENOTCONN) };
        let mut completion = ptr::null_mut();
        let (offset, len) = (op.offset, op.len as usize);
        // SAFETY: the result has room for a handle.
        checked(unsafe {
            (functions.rbd_aio_create_completion)(ticket.argument(), ended, &raw mut completion)
        })?;
        // SAFETY: the image is open, and the caller vouches for the buffer.
        let started: c_int = unsafe {
            match op.kind {
                OpKind::Read => (functions.rbd_aio_read)(handle, offset, len, data, completion),
                OpKind::Write => (functions.rbd_aio_write)(handle, offset, len, data, completion),
                OpKind::Trim => (functions.rbd_aio_discard)(handle, offset, len as u64, completion),
                OpKind::Fsync | OpKind::Fdatasync => (functions.rbd_aio_flush)(handle, completion),
                OpKind::SyncFileRange(_) => Errno::EINVAL.as_result() as c_int,
            }
        };
        checked(started).map(drop).inspect_err(|_| {
            // SAFETY: the library did not accept the request, so it does not use the completion.
            unsafe { (functions.rbd_aio_release)(completion) };
        })
    }

    fn reason(&self, request: &str, errno: Errno) -> Option<String> {
        let help = match errno {
            Errno::EROFS | Errno::EPERM | Errno::EACCES => format!(
                "To fix: use `rw=read`, or give {} the right to write",
                self.plan.ceph.user()
            ),
            Errno::ENOSPC => "To fix: free space in the pool: `ceph df`".to_owned(),
            Errno::ESHUTDOWN => {
                "To fix: check whether the client was fenced off: `ceph osd blocklist ls`"
                    .to_owned()
            }
            Errno::ENOENT => "To fix: check whether the image still exists: `rbd info`".to_owned(),
            _ => "To fix: check the cluster: `ceph -s`".to_owned(),
        };
        Some(format!("{request} failed: {errno}. {help}"))
    }

    fn close(&mut self, abandoned: bool) {
        match self.image.take() {
            Some(image) if abandoned => image.abandon(),
            image => drop(image),
        }
    }
}

impl std::fmt::Debug for RbdClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RbdClient").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// Connects to the image of a plan, asks for its size, and disconnects.
pub(crate) fn ask(plan: &RbdPlan) -> Result<Option<EndpointFacts>, EndpointError> {
    rbd().map(drop).and_then(|()| rados(NAME).map(drop)).map_err(about_the_library)?;
    let asked = plan.clone();
    let size = patiently(NAME, plan.endpoint.timeout, &EndSignal::default(), move || {
        let pool = Image::pool(&asked).map_err(about_the_server)?;
        let image = Image::open(pool, &asked, true)?;
        Ok::<_, EndpointError>(image.size(&asked)?)
    })?;
    Ok(size.map(|size| EndpointFacts::fixed(Bytes(size))))
}
