//! The connection to a volume, and the files that a job has open there.

use std::ffi::{CString, c_int};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use fiord_plan::model::GfapiPlan;
use fiord_types::{Errno, Nanos};

use super::abi::{GlfsHandle, GlusterFunctions, gluster};
use crate::callback::connecting::patiently;
use crate::{Attachment, EndSignal, EngineConfig, EngineError};

/// Bytes that one call writes when a file is laid out.
const PIECE: usize = 1 << 20;

/// A volume that this value is connected to. Each job has its own connection, with threads of libgfapi.
pub(super) struct Volume {
    pub(super) functions: &'static GlusterFunctions,
    handle: GlfsHandle,
}

// SAFETY: libgfapi permits calls with a handle from any thread.
unsafe impl Send for Volume {}

impl Volume {
    /// Connects to the volume of a plan.
    ///
    /// # Errors
    ///
    /// The library is missing, the server does not answer, or it has no such volume.
    pub(super) fn open(engine: &'static str, plan: &GfapiPlan) -> Result<Self, EngineError> {
        let functions = gluster(engine)?;
        let (name, server) = (text(&plan.volume)?, text(&plan.server)?);
        // SAFETY: the name ends with NUL.
        let handle = unsafe { (functions.glfs_new)(name.as_ptr()) };
        if handle.is_null() {
            return Err(refused(engine, plan, Errno::last()));
        }
        let volume = Volume { functions, handle };
        let patience = text(&ping_timeout(plan.endpoint.timeout).to_string())?;
        // SAFETY: the volume is not connected yet, and the texts end with NUL. Port 0 is the port of glusterd.
        let ready = unsafe {
            let transport = c"tcp".as_ptr();
            let (connections, ping) = (c"*-client-*".as_ptr(), c"ping-timeout".as_ptr());
            (functions.glfs_set_volfile_server)(handle, transport, server.as_ptr(), 0) == 0
                && (functions.glfs_set_xlator_option)(handle, connections, ping, patience.as_ptr())
                    == 0
                && (functions.glfs_init)(handle) == 0
        };
        match ready {
            true => Ok(volume),
            false => Err(refused(engine, plan, Errno::last())),
        }
    }

    /// The size of a file in bytes; `None` if it does not exist.
    pub(super) fn size(&self, path: &CString) -> Result<Option<u64>, Errno> {
        let mut found = std::mem::MaybeUninit::<libc::stat>::zeroed();
        // SAFETY: the volume is connected, the path ends with NUL, and the result has room for the attributes.
        let ret =
            unsafe { (self.functions.glfs_stat)(self.handle, path.as_ptr(), found.as_mut_ptr()) };
        if ret == 0 {
            // SAFETY: attributes consist of numbers, which may be 0.
            return Ok(Some(unsafe { found.assume_init() }.st_size as u64));
        }
        match Errno::last() {
            Errno::ENOENT => Ok(None),
            errno => Err(errno),
        }
    }

    /// Opens a file, and creates it if `create` says so.
    fn open_file(&self, path: &CString, flags: c_int, create: bool) -> Result<OpenFile, Errno> {
        // SAFETY: the volume is connected, and the path ends with NUL.
        let handle = unsafe {
            match create {
                true => (self.functions.glfs_creat)(self.handle, path.as_ptr(), flags, 0o644),
                false => (self.functions.glfs_open)(self.handle, path.as_ptr(), flags),
            }
        };
        match handle.is_null() {
            true => Err(Errno::last()),
            false => Ok(OpenFile { functions: self.functions, handle }),
        }
    }

    /// Ends the connection without waiting: the library may still report requests, so all of it stays as it is.
    fn abandon(mut self) {
        self.handle = ptr::null_mut();
    }
}

impl Drop for Volume {
    /// Ends the connection on a thread of its own, because the library takes 10 s for it. The files are closed, so that
    /// their data are on the servers, and a process that ends earlier loses nothing.
    fn drop(&mut self) {
        if self.handle.is_null() {
            return;
        }
        let leaving = Volume { functions: self.functions, handle: self.handle };
        let thread = thread::Builder::new().name("gfapi close".into());
        // Without a thread, the connection lasts until the process ends.
        let _ = thread.spawn(move || {
            let leaving = ManuallyDrop::new(leaving);
            // SAFETY: no request is in flight, no file is open, and the handle is not used again.
            unsafe { (leaving.functions.glfs_fini)(leaving.handle) };
        });
    }
}

/// After how many seconds without an answer to its ping the library gives a server up. It notices that between once and
/// twice this time after the last answer, so that a call lasts at most as long as the timeout of the job.
fn ping_timeout(timeout: Nanos) -> u64 {
    /// Maximum that the library accepts.
    const MAX_SECONDS: u64 = 1013;
    timeout.0.div_ceil(2_000_000_000).clamp(1, MAX_SECONDS)
}

/// The connections for questions before the run, with the plans that they are for. They stay open until the process ends.
///
/// No job uses them. The threads of the library inherit the CPUs, the priority and the limits of the thread that connects, so
/// each job connects by itself, and its options also hold for these threads, as in fio.
static IDLE: Mutex<Vec<(GfapiPlan, Volume)>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<(GfapiPlan, Volume)>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Volume {
    /// A connection that answered a question before, or a new one.
    pub(super) fn idle_or_new(engine: &'static str, plan: &GfapiPlan) -> Result<Self, EngineError> {
        let mut idle = idle();
        let fits = |(other, _): &(GfapiPlan, Volume)| {
            let key = |plan: &GfapiPlan| {
                (plan.volume.clone(), plan.server.clone(), plan.endpoint.timeout)
            };
            key(other) == key(plan)
        };
        let found = idle.iter().position(fits).map(|at| idle.swap_remove(at).1);
        drop(idle);
        found.map_or_else(|| Volume::open(engine, plan), Ok)
    }

    /// Keeps a connection for the next question.
    pub(super) fn keep(self, plan: &GfapiPlan) {
        idle().push((plan.clone(), self));
    }
}

pub(super) struct OpenFile {
    functions: &'static GlusterFunctions,
    pub(super) handle: GlfsHandle,
}

// SAFETY: libgfapi permits calls with a handle from any thread.
unsafe impl Send for OpenFile {}

impl OpenFile {
    /// Writes bytes that cannot be compressed from `at` to `end`.
    fn fill(&self, mut at: u64, end: u64) -> Result<(), Errno> {
        let mut state = at | 1;
        let mut data = vec![0u8; PIECE];
        for word in data.as_chunks_mut::<8>().0 {
            // Xorshift: the contents must only be incompressible.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state.to_le_bytes();
        }
        while at < end {
            let len = (end - at).min(PIECE as u64) as usize;
            let (nothing, offset) = (ptr::null_mut(), at as i64);
            // SAFETY: the file is open, and the data has `len` bytes.
            let written = unsafe {
                let data = data.as_mut_ptr();
                (self.functions.glfs_pwrite)(self.handle, data, len, offset, 0, nothing, nothing)
            };
            match u64::try_from(written) {
                Ok(0) => return Err(Errno::EIO),
                Ok(written) => at += written,
                Err(_) => return Err(Errno::last()),
            }
        }
        Ok(())
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: the file is open, no request is in flight, and the handle is not used again.
            unsafe { (self.functions.glfs_close)(self.handle) };
        }
    }
}

/// The connection of a job, and its open files. The files are closed before the connection ends.
pub(super) struct GlfsSession {
    engine: &'static str,
    plan: GfapiPlan,
    /// The path of each file on the volume.
    paths: Vec<CString>,
    /// The open files, by index; the handle of others is null.
    pub(super) files: Vec<GlfsHandle>,
    open: Vec<Option<OpenFile>>,
    /// The files that were attached before the connection.
    early: Vec<(usize, Attachment)>,
    pub(super) volume: Option<Volume>,
    end: EndSignal,
    direct: bool,
    durable: bool,
}

// SAFETY: the handles are those of `open`.
unsafe impl Send for GlfsSession {}

impl GlfsSession {
    pub(super) fn new(engine: &'static str, config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.gfapi().cloned().ok_or_else(EngineError::other_engine)?;
        gluster(engine)?;
        let paths = config.addresses.iter().map(|path| text(&path.to_string_lossy()));
        let count = config.files as usize;
        Ok(GlfsSession {
            engine,
            plan,
            paths: paths.collect::<Result<_, _>>()?,
            files: vec![ptr::null_mut(); count],
            open: (0..count).map(|_| None).collect(),
            early: Vec::new(),
            volume: None,
            end: config.end.clone(),
            direct: config.direct,
            durable: config.durable,
        })
    }

    /// Connects, and opens the files that were attached before.
    pub(super) fn connect(&mut self) -> Result<(), EngineError> {
        let (plan, engine) = (self.plan.clone(), self.engine);
        let timeout = plan.endpoint.timeout;
        self.volume = patiently(engine, timeout, &self.end, move || Volume::open(engine, &plan))?;
        if self.volume.is_none() {
            return Ok(());
        }
        for (file, target) in std::mem::take(&mut self.early) {
            self.attach(file, &target)?;
        }
        Ok(())
    }

    /// Opens a file, creates it if needed, and writes what the job reads and what is missing.
    pub(super) fn attach(&mut self, file: usize, target: &Attachment) -> Result<(), EngineError> {
        let Some(volume) = &self.volume else {
            self.early.push((file, target.clone()));
            return Ok(());
        };
        let Some(path) = self.paths.get(file) else { return Err(EngineError::other_engine()) };
        let cannot = |what: &str, errno: Errno| self.cannot(what, path, errno);
        let size = volume.size(path).map_err(|errno| cannot("look up", errno))?;
        let end = target.offset.saturating_add(target.len).0;
        let missing = self.plan.lays_out && size.unwrap_or(0) < end;
        if missing {
            let flags = libc::O_RDWR;
            let opened = volume.open_file(path, flags, size.is_none());
            let opened = opened.map_err(|errno| cannot("create", errno))?;
            opened.fill(size.unwrap_or(0), end).map_err(|errno| cannot("lay out", errno))?;
        }
        let mut flags = if target.read_only { libc::O_RDONLY } else { libc::O_RDWR };
        if self.direct {
            flags |= libc::O_DIRECT;
        }
        if self.durable {
            flags |= libc::O_SYNC;
        }
        let create = size.is_none() && !missing && !target.read_only;
        let opened =
            volume.open_file(path, flags, create).map_err(|errno| cannot("open", errno))?;
        self.files[file] = opened.handle;
        self.open[file] = Some(opened);
        Ok(())
    }

    /// Closes a file. `abandoned`: requests were given up, so that the call would wait for the server.
    pub(super) fn detach(&mut self, file: usize, abandoned: bool) {
        self.files[file] = ptr::null_mut();
        let open = self.open[file].take();
        if abandoned {
            std::mem::forget(open);
        }
    }

    /// The error about a file: `what` says what failed.
    fn cannot(&self, what: &str, path: &CString, errno: Errno) -> EngineError {
        let GfapiPlan { volume, .. } = &self.plan;
        let what = format!(
            "ioengine={}: cannot {what} the file `{}` on the volume `{volume}`: {errno}",
            self.engine,
            path.to_string_lossy()
        );
        let help = match errno {
            Errno::ENOENT => "To fix: check the name, and create the directories on the way to it",
            Errno::EACCES | Errno::EPERM | Errno::EROFS => {
                "To fix: check the permissions, and that the volume is not read-only"
            }
            Errno::ENOSPC | Errno::EDQUOT => {
                "To fix: free space on the volume, or use a smaller `size`"
            }
            _ => "To fix: check the volume: `gluster volume status`",
        };
        EngineError { what, help: Some(help.into()), errno: Some(errno) }
    }

    /// Whether the library closed the connection because the server did not answer its ping. `waited`: how long the failed
    /// request took.
    pub(super) fn has_given_up(&self, errno: Errno, waited: Nanos) -> bool {
        let patience = Nanos::from_secs(ping_timeout(self.plan.endpoint.timeout));
        matches!(errno, Errno::ENOTCONN | Errno::ETIMEDOUT) && waited >= patience
    }

    /// What a request failed for, and what the user can do.
    pub(super) fn reason(&self, request: &str, errno: Errno) -> String {
        let help = match errno {
            Errno::ENOSPC | Errno::EDQUOT => "To fix: free space on the volume",
            Errno::EROFS | Errno::EACCES | Errno::EPERM => {
                "To fix: check the permissions, and that the volume is not read-only"
            }
            Errno::EINVAL if self.direct => {
                "To fix: use a `bs` that is a multiple of 512 or 4096, or leave out `direct=1`"
            }
            Errno::EOPNOTSUPP => "To fix: leave out trims: the file system of the brick has none",
            _ => "To fix: check the volume: `gluster volume status`",
        };
        format!("{request} failed: {errno}. {help}")
    }

    /// Ends the connection. `abandoned`: requests are in flight.
    pub(super) fn close(&mut self, abandoned: bool) {
        self.files.fill(ptr::null_mut());
        for file in self.open.iter_mut().filter_map(Option::take) {
            if abandoned {
                std::mem::forget(file);
            }
        }
        match self.volume.take() {
            Some(volume) if abandoned => volume.abandon(),
            volume => drop(volume),
        }
    }
}

impl Drop for GlfsSession {
    fn drop(&mut self) {
        self.close(false);
    }
}

impl std::fmt::Debug for GlfsSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GlfsSession").field("plan", &self.plan).finish_non_exhaustive()
    }
}

/// A name for a function of the library.
pub(super) fn text(value: &str) -> Result<CString, EngineError> {
    CString::new(value).map_err(|_| {
        EngineError::plain(format!("the name `{}` contains NUL", value.escape_debug()))
    })
}

/// The error for a volume that cannot be used.
fn refused(engine: &str, plan: &GfapiPlan, errno: Errno) -> EngineError {
    let GfapiPlan { volume, server, .. } = plan;
    let what = format!(
        "ioengine={engine}: cannot connect to the volume `{volume}` on the server `{server}`: {errno}"
    );
    EngineError { what, help: None, errno: Some(errno) }.help(
        "To fix: check `brick`, `volume` and that the volume is started: `gluster volume info`",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_given_up_within_the_timeout() {
        let seconds = [1, 4, 5, 30, 100_000];
        let pings = seconds.map(|seconds| ping_timeout(Nanos(seconds * 1_000_000_000)));
        assert_eq!(pings, [1, 2, 3, 15, 1013]);
    }
}
