//! The options of `libblkio`.

use std::path::PathBuf;

use fiord_job::option::engine::{EngineAccess, EngineDef};
use fiord_job::option::handle::WordEnum;
use fiord_job::option::table::engine;

pub use fiord_job::option::table::library::{LibblkioDriver, LibblkioWaitMode};

/// The options of a job with `ioengine=libblkio`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LibblkioPlan {
    /// The instance that the job uses. Jobs with equal instances share one, with a queue each.
    pub instance: BlkioInstance,
    /// `hipri`: the job has a queue whose completions are polled.
    pub polled: bool,
    /// `libblkio_vectored`: reads and writes with vectors.
    pub vectored: bool,
    /// `libblkio_write_zeroes_on_trim`: trims write zeroes.
    pub zeroes_on_trim: bool,
    /// `libblkio_wait_mode`: how the job waits for completions.
    pub wait: LibblkioWaitMode,
    /// The event descriptor for completions is enabled while nothing waits for it
    /// (`libblkio_force_enable_completion_eventfd`), or because the job waits for it.
    pub completion_events: bool,
}

/// An instance of libblkio: a driver that is connected to a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlkioInstance {
    pub driver: LibblkioDriver,
    /// `libblkio_path`: the target.
    pub path: PathBuf,
    /// `libblkio_pre_connect_props`: names and values of properties, set in this order.
    pub before_connect: Vec<(String, String)>,
    /// Properties that are set after the connection (`libblkio_num_entries`, `libblkio_queue_size`,
    /// `libblkio_pre_start_props`).
    pub before_start: Vec<(String, String)>,
    pub direct: bool,
    /// No job writes to the target.
    pub read_only: bool,
    /// The number of jobs that share the instance.
    queues: u32,
    /// The number of those that poll.
    poll_queues: u32,
}

impl BlkioInstance {
    /// An instance for one job, which does not poll.
    #[must_use]
    pub fn new(driver: LibblkioDriver, path: PathBuf) -> Self {
        BlkioInstance {
            driver,
            path,
            before_connect: Vec::new(),
            before_start: Vec::new(),
            direct: false,
            read_only: false,
            queues: 1,
            poll_queues: 0,
        }
    }

    /// The entry of the engine with this driver, which decides how the job gets to its target.
    pub(super) const fn def(&self) -> &'static EngineDef {
        match self.driver {
            LibblkioDriver::IoUring => const { engine("libblkio") },
            LibblkioDriver::NvmeIoUring => {
                const { &engine("libblkio").through(EngineAccess::NvmeCommands) }
            }
            LibblkioDriver::VfioPci | LibblkioDriver::VhostUser | LibblkioDriver::VhostVdpa => {
                const { &engine("libblkio").through(EngineAccess::Endpoint) }
            }
        }
    }

    /// Sets how many jobs share the instance, by whether they poll.
    #[must_use]
    pub(crate) fn shared_by(self, queues: u32, poll_queues: u32) -> Self {
        BlkioInstance { queues, poll_queues, ..self }
    }

    /// The number of queues that jobs use which do not poll.
    #[must_use]
    pub const fn queues(&self) -> u32 {
        self.queues
    }

    /// The number of queues that jobs use which poll.
    #[must_use]
    pub const fn poll_queues(&self) -> u32 {
        self.poll_queues
    }

    #[must_use]
    pub fn driver_name(&self) -> &'static str {
        self.driver.word()
    }

    /// Whether the target is a file or a device that a job opens. Otherwise the driver connects to it.
    #[must_use]
    pub const fn opens_file(&self) -> bool {
        matches!(self.driver, LibblkioDriver::IoUring | LibblkioDriver::NvmeIoUring)
    }
}
