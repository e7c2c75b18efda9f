//! Instances of libblkio: a driver that is connected to a target. Jobs share an instance, with a queue each.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};
use std::thread;
use std::time::Duration;

use blkio::{Blkio, Blkioq, MemoryRegion};
use fiord_plan::{BlkioInstance, EndpointError, EndpointFacts, EndpointSubject};
use fiord_sys::file::{self, Device};
use fiord_types::{Bytes, Errno};

use crate::EngineError;

/// How long a server may take to answer the first messages.
const ANSWER: Duration = Duration::from_secs(10);

/// The instances of this process.
static INSTANCES: Mutex<Vec<Weak<Instance>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An instance that was started.
pub(super) struct Instance {
    plan: BlkioInstance,
    /// Device and inode of the file that the driver uses; `None` if it opens none.
    file: Option<(Device, u64)>,
    state: Mutex<State>,
}

/// The library's part of an instance. The queues come first, because they must be dropped first.
struct State {
    /// Queues that no job uses.
    queues: Vec<Blkioq>,
    /// Queues for polling that no job uses.
    poll_queues: Vec<Blkioq>,
    blkio: Blkio,
}

impl Instance {
    /// The instance of a plan. `fd`: the open target, if the driver uses a file.
    pub(super) fn shared(
        plan: &BlkioInstance,
        fd: Option<&OwnedFd>,
    ) -> Result<Arc<Self>, EngineError> {
        let file = match fd {
            Some(fd) => {
                let facts = file::facts_of(fd);
                let facts = facts.map_err(|error| EngineError::from_sys(PURPOSE, &error))?;
                Some((facts.device, facts.inode))
            }
            None => None,
        };
        let mut instances = lock(&INSTANCES);
        instances.retain(|instance| instance.strong_count() > 0);
        let mut known = instances.iter().filter_map(Weak::upgrade);
        if let Some(found) = known.find(|known| known.plan == *plan && known.file == file) {
            return Ok(found);
        }
        drop(known);
        let mut blkio = connected(plan, fd)?;
        let state = start(plan, &mut blkio).map_err(EngineError::from)?;
        let (queues, poll_queues) = state;
        let state = Mutex::new(State { queues, poll_queues, blkio });
        let instance = Arc::new(Instance { plan: plan.clone(), file, state });
        instances.push(Arc::downgrade(&instance));
        Ok(instance)
    }

    /// A queue for a job.
    pub(super) fn take_queue(&self, polled: bool) -> Result<Blkioq, EngineError> {
        let mut state = lock(&self.state);
        let pool = if polled { &mut state.poll_queues } else { &mut state.queues };
        if let Some(queue) = pool.pop() {
            return Ok(queue);
        }
        if state.blkio.get_bool("can-add-queues").unwrap_or(false) {
            let added = state.blkio.add_queue(polled);
            return added.map_err(|error| failure("add a queue", &error, &self.plan).into());
        }
        let most = state.blkio.get_i32("max-queues").unwrap_or(0);
        let what = format!(
            "{PURPOSE}: `{}` has {most} queues, and all of them are in use by other jobs",
            self.plan.path.display()
        );
        Err(EngineError::plain(what).help(
            "To fix: use fewer jobs at a time, or set up the server or device with a queue for each job",
        ))
    }

    /// Takes a queue back that has no requests.
    pub(super) fn give_back(&self, queue: Blkioq, polled: bool) {
        let mut state = lock(&self.state);
        let pool = if polled { &mut state.poll_queues } else { &mut state.queues };
        pool.push(queue);
    }

    /// Lets the driver use memory.
    pub(super) fn map(&self, region: &MemoryRegion) -> Result<(), EngineError> {
        let mapped = lock(&self.state).blkio.map_mem_region(region);
        mapped.map_err(|error| failure("register the buffers", &error, &self.plan).into())
    }

    /// Ends the driver's use of memory.
    pub(super) fn unmap(&self, region: &MemoryRegion) {
        lock(&self.state).blkio.unmap_mem_region(region);
    }

    /// The size of the target in bytes.
    pub(super) fn capacity(&self) -> Result<u64, EngineError> {
        let capacity = lock(&self.state).blkio.get_u64("capacity");
        capacity.map_err(|error| failure("read the size of the target", &error, &self.plan).into())
    }
}

/// How the messages of the engine begin.
pub(super) const PURPOSE: &str = "ioengine=libblkio";

pub(super) struct LibraryFailure {
    error: EndpointError,
}

impl From<LibraryFailure> for EngineError {
    fn from(failure: LibraryFailure) -> Self {
        let EndpointError { what, help, errno, .. } = failure.error;
        EngineError { what, help, errno }
    }
}

impl From<LibraryFailure> for EndpointError {
    fn from(failure: LibraryFailure) -> Self {
        failure.error
    }
}

/// What fails if a target cannot be reached.
const CONNECT: &str = "connect";

/// The failure to do something: `doing` follows "cannot".
fn failure(doing: &str, error: &blkio::Error, plan: &BlkioInstance) -> LibraryFailure {
    let errno = Errno::from_raw(error.errno().raw_os_error());
    let what = format!(
        "{PURPOSE}: driver {} on `{}` cannot {doing}: {}",
        plan.driver_name(),
        plan.path.display(),
        error.message()
    );
    let connects = doing == CONNECT && !plan.opens_file();
    let help = remedy(error.message(), errno, connects).map(String::from);
    let error = EngineError { what, help, errno: Some(errno) };
    LibraryFailure { error: error.into() }
}

/// What the user can do about a failure.
fn remedy(message: &str, errno: Errno, connects: bool) -> Option<&'static str> {
    match errno {
        _ if message.contains("Poll queues") => {
            Some("To fix: leave out `hipri`, or use `direct=1` on a device that has poll queues")
        }
        _ if message.contains("max-queues") || message.contains("must not be greater than") => {
            Some("To fix: use fewer jobs, or set up the server or device with a queue for each job")
        }
        Errno::ENOENT | Errno::ECONNREFUSED if connects => Some(
            "To fix: start the server or bind the device to its driver, and check `libblkio_path`",
        ),
        Errno::EACCES | Errno::EPERM => Some("To fix: run as root, or change the permissions"),
        Errno::EROFS => Some("To fix: use `rw=read` or `rw=randread`"),
        _ => None,
    }
}

/// Sets properties in their order.
fn set(
    blkio: &mut Blkio,
    properties: &[(String, String)],
    plan: &BlkioInstance,
) -> Result<(), LibraryFailure> {
    for (name, value) in properties {
        if let Err(error) = blkio.set_str(name, value) {
            let doing = format!("set the property `{name}` to `{value}`");
            let mut failure = failure(&doing, &error, plan);
            let help = "To fix: leave it out, or look it up in the documentation of libblkio's drivers \
                        (https://libblkio.gitlab.io/libblkio/blkio.html#drivers)";
            failure.error.errno = failure.error.errno.map(|errno| match errno {
                Errno::ENOENT => Errno::EINVAL,
                other => other,
            });
            failure.error.help = Some(help.to_owned());
            failure.error.about = EndpointSubject::Property;
            return Err(failure);
        }
    }
    Ok(())
}

/// Connects to a target. A server that does not answer is an error.
fn connected(plan: &BlkioInstance, fd: Option<&OwnedFd>) -> Result<Blkio, LibraryFailure> {
    let fd = match fd.map(OwnedFd::try_clone).transpose() {
        Ok(fd) => fd,
        Err(error) => {
            let error = blkio::Error::from_io_error(error, blkio::Errno::MFILE);
            return Err(failure("use the open file", &error, plan));
        }
    };
    if plan.opens_file() {
        return connect(plan, fd);
    }
    let (sender, answer) = mpsc::sync_channel(1);
    let asked = plan.clone();
    // The thread stays blocked in the connection if the server never answers.
    let name = "libblkio connect".to_owned();
    let spawned = thread::Builder::new().name(name).spawn(move || {
        let _ = sender.send(connect(&asked, None));
    });
    if spawned.is_err() {
        return connect(plan, None);
    }
    answer.recv_timeout(ANSWER).unwrap_or_else(|_| {
        let what = format!(
            "{PURPOSE}: the server at `{}` accepted the connection and does not answer",
            plan.path.display()
        );
        let help = "To fix: end the other client of the server; most serve one at a time";
        let error =
            EngineError { what, help: Some(help.to_owned()), errno: Some(Errno::ETIMEDOUT) };
        Err(LibraryFailure { error: error.into() })
    })
}

fn connect(plan: &BlkioInstance, fd: Option<OwnedFd>) -> Result<Blkio, LibraryFailure> {
    let mut blkio =
        Blkio::new(plan.driver_name()).map_err(|error| failure("be used", &error, plan))?;
    let target = match &fd {
        Some(fd) => blkio.set_i32("fd", fd.as_raw_fd()),
        None => blkio
            .set_str("path", &plan.path.to_string_lossy())
            .and_then(|()| blkio.set_bool("read-only", plan.read_only)),
    };
    target.map_err(|error| failure("use the target", &error, plan))?;
    set(&mut blkio, &plan.before_connect, plan)?;
    // The driver closes the descriptor from here on.
    let _ = fd.map(IntoRawFd::into_raw_fd);
    blkio.connect().map_err(|error| failure(CONNECT, &error, plan))?;
    Ok(blkio)
}

/// Starts a connected instance, with a queue for each job. Returns the queues, and those for polling.
fn start(
    plan: &BlkioInstance,
    blkio: &mut Blkio,
) -> Result<(Vec<Blkioq>, Vec<Blkioq>), LibraryFailure> {
    let cannot = |error| failure("start", &error, plan);
    let (mut queues, mut poll_queues) = (plan.queues(), plan.poll_queues());
    if blkio.get_bool("can-add-queues").map_err(cannot)? {
        // Each job adds its own.
        (queues, poll_queues) = (0, 0);
    } else {
        // Jobs that run one after the other take turns.
        let most = blkio.get_i32("max-queues").map_err(cannot)?;
        let most = u32::try_from(most).unwrap_or(0).max(1);
        match (queues, poll_queues) {
            (_, 0) => queues = queues.min(most),
            (0, _) => poll_queues = poll_queues.min(most),
            _ => {}
        }
    }
    let number = |count: u32| i32::try_from(count).unwrap_or(i32::MAX);
    blkio.set_i32("num-queues", number(queues)).map_err(cannot)?;
    blkio.set_i32("num-poll-queues", number(poll_queues)).map_err(cannot)?;
    set(blkio, &plan.before_start, plan)?;
    let started = blkio.start().map_err(cannot)?;
    Ok((started.queues, started.poll_queues))
}

/// Connects to a target, asks for its properties, and disconnects.
pub(super) fn ask(plan: &BlkioInstance) -> Result<EndpointFacts, EndpointError> {
    let blkio = connected(plan, None)?;
    let cannot = |error| failure("read the size of the target", &error, plan);
    let size = blkio.get_u64("capacity").map_err(cannot)?;
    let block = blkio.get_i32("request-alignment").map_err(cannot)?;
    let block = Bytes(u64::try_from(block).unwrap_or(1));
    Ok(EndpointFacts { block, ..EndpointFacts::fixed(Bytes(size)) })
}
