//! What an I/O engine can do: the types of the engine table (`table/engines.rs`).
//!
//! Other crates ask an engine's entry, never its name, so that a new engine needs no change there.

use super::def::Support;

/// The name of the engine of a job that sets no `ioengine`: fio's default on Linux.
pub const DEFAULT_ENGINE: &str = "psync";

/// The engine that queues I/Os on all files and devices, buffered ones as well.
pub const QUEUEING_ENGINE: &str = "io_uring";

/// An I/O engine and what it can do.
///
/// ```
/// use fiord_job::option::engine::DepthSupport;
/// use fiord_job::option::table;
///
/// let engine = table::find_engine("libaio").unwrap();
/// assert!(engine.priorities && !engine.virtual_time);
/// assert_eq!(engine.in_flight, DepthSupport::ManyIfDirect);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineDef {
    /// The word after `ioengine=`.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// A description of one sentence.
    pub doc: &'static str,
    /// Whether fiord supports it.
    pub support: Support,
    /// The cargo feature of builds that have the engine. Empty: all builds have it.
    pub feature: &'static str,
    /// What the engine needs besides Linux: a library and its package, a server, special hardware.
    /// Empty if it needs nothing. The end of a sentence that begins with "it needs".
    pub needs: &'static str,
    /// When the engine last ran, and against what: a month, then the targets. Empty if it is not
    /// supported. Update it when the engine has run against something else.
    pub tested: &'static str,
    /// The engines that run its jobs. Empty: it runs them itself.
    pub runs_as: &'static [&'static str],
    /// What the engine does its I/O on, and how.
    pub access: EngineAccess,
    /// How many I/Os it can have in flight.
    pub in_flight: DepthSupport,
    /// Whether a read fills the job's buffer from storage, and a write sends the buffer there.
    pub moves_data: bool,
    /// Whether its writes leave the contents of the files as they are.
    pub keeps_contents: bool,
    /// What the bytes of its I/Os stand for.
    pub counts: CountedBytes,
    /// Which directions of I/O it has.
    pub directions: SupportedDirections,
    /// Whether its ops are I/Os. The ops of an engine that does none are cycles, for example of CPU
    /// load: a cycle has no file, no size and no direction, and reports count it as a read of 0
    /// bytes.
    pub does_io: bool,
    /// Whether reports print rates in bits unless `unit_base` says otherwise, as is usual for networks.
    pub counts_bits: bool,
    /// Whether a job of the engine runs a program or loads code that the job names. A policy can forbid
    /// that (`--no-exec`).
    pub runs_programs: bool,
    /// The option of the engine that names the target of a job, instead of `filename`. Such a target must exist: the job
    /// creates no file and extends none, and it has one target. Empty: `filename` and similar options name the targets.
    pub target_named_by: &'static str,
    /// Whether it works only on devices with zones.
    pub needs_zones: bool,
    /// Whether time is simulated: each job has a virtual clock, which says nothing about this
    /// machine.
    pub virtual_time: bool,
    /// Whether it can request atomic writes (`atomic`), because its system calls accept flags.
    pub atomic: bool,
    /// Whether it can give each I/O a priority of its own (`cmdprio_percentage`).
    pub priorities: bool,
    /// Whether a trim can have several ranges (`num_range`).
    pub trim_ranges: bool,
    /// How it tells the device where writes belong (`dataplacement`).
    pub placement: WritePlacement,
}

impl EngineDef {
    /// The engine with a driver that gets to its target in another way.
    #[must_use]
    pub const fn through(self, access: EngineAccess) -> Self {
        EngineDef { access, ..self }
    }

    /// Whether this build supports the engine.
    #[must_use]
    pub fn is_built(&self) -> bool {
        self.support == Support::Built
    }

    /// Whether the engine needs more than a file or any disk: a device of its kind, a peer, a server or a library.
    #[must_use]
    pub fn is_special(&self) -> bool {
        let on_anything = matches!(
            self.access,
            EngineAccess::Calls
                | EngineAccess::Mapping
                | EngineAccess::Extents
                | EngineAccess::Names(_)
                | EngineAccess::Memory
                | EngineAccess::Nothing
        );
        !on_anything || self.names_target() || !self.needs.is_empty()
    }

    /// Whether an option of the engine names the target of a job, instead of `filename`.
    #[must_use]
    pub const fn names_target(&self) -> bool {
        !self.target_named_by.is_empty()
    }

    /// Whether single writes can be durable when they complete, while others in flight are not.
    #[must_use]
    pub const fn durable_writes(&self) -> bool {
        let flags = self.atomic && !self.is_synchronous();
        flags || matches!(self.access, EngineAccess::NvmeCommands)
    }

    /// Whether the engine completes each call before it accepts the next one, so that `iodepth` has
    /// its meaning only with threads that make the calls (`io_submit_mode=offload`).
    #[must_use]
    pub const fn is_synchronous(&self) -> bool {
        matches!(self.in_flight, DepthSupport::One | DepthSupport::Combined)
    }
}

/// What an engine does its I/O on, and how it gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineAccess {
    /// System calls on files and devices.
    Calls,
    /// Copies from and to a mapping of the file.
    Mapping,
    /// Copies from and to a mapping of persistent memory, which has no page cache. Writes flush the
    /// caches of the CPU.
    PersistentMemory(PmemTarget),
    /// NVMe commands to a generic character device.
    NvmeCommands,
    /// SCSI commands to a disk or its generic character device.
    ScsiCommands,
    /// System calls on the character device of a raw flash, which must be erased before it is written. It has no page
    /// cache, and a trim erases.
    Flash,
    /// System calls that change the size or the blocks of an open file, and move no data.
    Extents,
    /// System calls on the names of files, which the job does not open. They move no data.
    Names(NameCall),
    /// Messages to a server that the engine connects to. The target is an address, which no path on
    /// this machine leads to.
    Endpoint,
    /// Files and devices that fiord opens, through a library that the job names. What the library does
    /// with them is unknown.
    Library,
    /// Anonymous memory of the job.
    Memory,
    /// A stream to or from a peer: bytes arrive once and in order. There are no offsets, nothing can
    /// be read again, and there is nothing to trim or to flush.
    Stream,
    /// No file and no device.
    Nothing,
}

impl EngineAccess {
    /// Whether the engine sends commands to a driver and so bypasses the page cache, the I/O
    /// scheduler, the throttling and the counters of the block layer.
    #[must_use]
    pub const fn sends_commands(self) -> bool {
        matches!(self, EngineAccess::NvmeCommands | EngineAccess::ScsiCommands)
    }

    /// Whether the engine copies from and to a mapping of the file, which it cannot extend.
    #[must_use]
    pub const fn maps_files(self) -> bool {
        matches!(self, EngineAccess::Mapping | EngineAccess::PersistentMemory(_))
    }

    /// Whether the engine works only on devices of its kind, so that a name without a file never
    /// means a file to create.
    #[must_use]
    pub const fn needs_device(self) -> bool {
        let is_memory = matches!(self, EngineAccess::PersistentMemory(PmemTarget::Device));
        is_memory || self.sends_commands() || matches!(self, EngineAccess::Flash)
    }

    /// Whether the target is an address, which no path on this machine leads to.
    #[must_use]
    pub const fn is_remote(self) -> bool {
        matches!(self, EngineAccess::Endpoint | EngineAccess::Stream)
    }

    /// Whether reads and writes pass the kernel's file layer, which counts and caches them.
    #[must_use]
    pub const fn uses_file_layer(self) -> bool {
        matches!(self, EngineAccess::Calls | EngineAccess::Mapping)
    }

    /// Whether reads and writes go through the page cache. `direct`: the job sets `direct=1`, which
    /// mappings do not support.
    #[must_use]
    pub const fn uses_page_cache(self, direct: bool) -> bool {
        match self {
            EngineAccess::Calls => !direct,
            EngineAccess::Mapping => true,
            EngineAccess::PersistentMemory(_)
            | EngineAccess::NvmeCommands
            | EngineAccess::ScsiCommands
            | EngineAccess::Flash
            | EngineAccess::Extents
            | EngineAccess::Names(_)
            | EngineAccess::Endpoint
            | EngineAccess::Library
            | EngineAccess::Memory
            | EngineAccess::Stream
            | EngineAccess::Nothing => false,
        }
    }

    /// Whether an I/O uses the buffer that the job prepares for it. `null` and `sim` do not look at the buffer,
    /// but a job on them prepares it, so that they measure that too.
    #[must_use]
    pub const fn uses_buffers(self) -> bool {
        !matches!(self, EngineAccess::Extents | EngineAccess::Names(_))
    }

    /// Whether I/Os change files even if all of them are reads.
    #[must_use]
    pub const fn reads_change_files(self) -> bool {
        match self {
            EngineAccess::Extents => true,
            EngineAccess::Names(call) => call.changes(),
            _ => false,
        }
    }

    /// The system call of an engine that works on names.
    #[must_use]
    pub const fn name_call(self) -> Option<NameCall> {
        match self {
            EngineAccess::Names(call) => Some(call),
            _ => None,
        }
    }
}

/// How an engine reaches persistent memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PmemTarget {
    /// Files of a file system that is mounted with DAX.
    File,
    /// Device-DAX character devices.
    Device,
}

/// What an engine that works on names does with each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameCall {
    CreateFile,
    /// Reads the attributes of a file.
    StatFile,
    RemoveFile,
    CreateDirectory,
    /// Reads the attributes of a directory.
    StatDirectory,
    RemoveDirectory,
}

impl NameCall {
    /// Whether the names are those of directories.
    #[must_use]
    pub const fn on_directories(self) -> bool {
        use NameCall::{CreateDirectory, RemoveDirectory, StatDirectory};
        matches!(self, CreateDirectory | StatDirectory | RemoveDirectory)
    }

    /// Whether it creates the names, so that they need not exist before the run.
    #[must_use]
    pub const fn creates(self) -> bool {
        matches!(self, NameCall::CreateFile | NameCall::CreateDirectory)
    }

    #[must_use]
    pub const fn removes(self) -> bool {
        matches!(self, NameCall::RemoveFile | NameCall::RemoveDirectory)
    }

    /// Whether it creates or removes names.
    #[must_use]
    pub const fn changes(self) -> bool {
        self.creates() || self.removes()
    }
}

/// What the bytes of an engine's I/Os stand for. Reports compute the bandwidth from them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedBytes {
    /// Data that a device, a peer or memory receives or returns, or that the engine pretends to move.
    Data,
    /// Space that the file system reserves, adds to files or frees.
    Space,
    /// The block size of the job, whatever an I/O does.
    BlockSize,
}

/// The directions of I/O that an engine has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SupportedDirections {
    /// Reads, writes and trims.
    All,
    ReadsAndWrites,
    Writes,
}

/// How many I/Os an engine can have in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DepthSupport {
    /// One: each I/O completes before the engine accepts the next one.
    One,
    /// The engine combines adjacent I/Os, up to `iodepth`, into one call, which returns when all of
    /// them are done.
    Combined,
    /// As many as `iodepth`, but only with `direct=1`: otherwise submission waits for each I/O.
    ManyIfDirect,
    /// As many as `iodepth` on a character device; one at a time on a block device.
    ManyOnCharDevice,
    /// As many as `iodepth`, but one at a time for each file: the threads of the C library that carry
    /// out the I/Os do not share a file.
    OnePerFile,
    /// As many as `iodepth`.
    Many,
}

impl DepthSupport {
    /// Whether the engine uses more than one buffer at a depth above 1.
    #[must_use]
    pub const fn uses_depth(self) -> bool {
        !matches!(self, DepthSupport::One)
    }
}

/// How an engine tells the device where writes belong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePlacement {
    /// The engine gives no placement hints.
    None,
    /// The kernel passes the number of a write stream on.
    KernelStreams,
    /// The write command names a placement handle or a stream.
    Commands,
}
