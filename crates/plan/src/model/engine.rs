//! The I/O engine, its options, and the queue depth.

use std::net::IpAddr;
use std::num::NonZeroU8;
use std::path::{Path, PathBuf};

pub use fiord_job::option::engine::{
    CountedBytes, DepthSupport, EngineAccess, EngineDef, NameCall, PmemTarget, SupportedDirections,
    WritePlacement,
};
pub use fiord_job::option::fault::{CrashTime, FaultEffect, FaultTrigger, SimCrash, SimFault};
pub use fiord_job::option::table::activity::CpuMode;
use fiord_job::option::table::engine;
pub use fiord_job::option::table::net::{Protocol, Verb};
use fiord_job::option::table::sim::{SIM_RECORD, SIM_STORE};
use fiord_types::{Bytes, JobIndex, Nanos, RunNumber};

use super::{
    GfapiPlan, HttpPlan, IscsiPlan, LibblkioPlan, NamesPlan, NbdPlan, NfsPlan, PassthroughPlan,
    RadosPlan, RbdPlan, TreePlan,
};
use crate::for_each_engine;

macro_rules! engine_plan {
    ($($variant:ident $(($options:ty))?: $loops:ident, $kind:ident, [$($name:literal $(, $reader:path)?)?];)*) => {
        /// The I/O engine of a job (`ioengine`) and its options.
        #[derive(Debug, Clone, PartialEq)]
        pub enum EnginePlan {
            $($variant $(($options))?,)*
        }

        impl EnginePlan {
            /// The engine's entry in the engine table: its name and what it can do.
            #[must_use]
            pub const fn def(&self) -> &'static EngineDef {
                match self {
                    $($(EnginePlan::$variant { .. } => const { engine($name) },)?)*
                    EnginePlan::Names(plan) | EnginePlan::NamesRing(plan) => plan.engine,
                    EnginePlan::Libblkio(plan) => plan.instance.def(),
                }
            }
        }
    };
}

for_each_engine!(engine_plan);

impl EnginePlan {
    /// Whether a job with these options writes past the page cache without direct I/O (`uncached`).
    #[must_use]
    pub const fn is_uncached(&self) -> bool {
        match self {
            EnginePlan::Pvsync2(plan) => plan.uncached,
            EnginePlan::IoUring(ring) => ring.uncached,
            _ => false,
        }
    }

    /// What a job does with names, if its engine works on names.
    #[must_use]
    pub fn names(&self) -> Option<&NamesPlan> {
        match self {
            EnginePlan::Names(plan) | EnginePlan::NamesRing(plan) => Some(plan),
            _ => None,
        }
    }

    /// The NVMe commands and their options, if the engine sends them.
    #[must_use]
    pub fn passthrough(&self) -> Option<&PassthroughPlan> {
        match self {
            EnginePlan::IoUringCmd(plan) => Some(plan),
            _ => None,
        }
    }

    /// The tree that a job works on, if it has one.
    pub fn tree_mut(&mut self) -> Option<&mut TreePlan> {
        match self {
            EnginePlan::Names(plan) | EnginePlan::NamesRing(plan) => plan.tree.as_mut(),
            _ => None,
        }
    }

    /// The options of `cpuio`, if this is it.
    #[must_use]
    pub fn cpu_load(&self) -> Option<&CpuioPlan> {
        match self {
            EnginePlan::Cpuio(plan) => Some(plan),
            _ => None,
        }
    }

    /// The program that the job runs, if this is `exec`.
    #[must_use]
    pub fn program(&self) -> Option<&ExecPlan> {
        match self {
            EnginePlan::Exec(plan) => Some(plan),
            _ => None,
        }
    }

    /// The library that contains the engine, if this is `external`.
    #[must_use]
    pub fn library(&self) -> Option<&Path> {
        match self {
            EnginePlan::External(path) => Some(path),
            _ => None,
        }
    }

    /// The file that gives its blocks, if this is `e4defrag`.
    #[must_use]
    pub fn donor(&self) -> Option<&Path> {
        match self {
            EnginePlan::E4defrag(plan) => Some(&plan.donor),
            _ => None,
        }
    }

    /// The options of the connections, if the engine sends or receives over sockets.
    #[must_use]
    pub const fn network(&self) -> Option<&NetPlan> {
        match self {
            EnginePlan::Net(plan) | EnginePlan::Netsplice(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of the engines on sockets, to complete them.
    pub(crate) const fn network_mut(&mut self) -> Option<&mut NetPlan> {
        match self {
            EnginePlan::Net(plan) | EnginePlan::Netsplice(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of `libblkio`, if this is it.
    #[must_use]
    pub fn blkio(&self) -> Option<&LibblkioPlan> {
        match self {
            EnginePlan::Libblkio(plan) => Some(plan),
            _ => None,
        }
    }

    /// The options of the connection, if the engine is `rdma`.
    #[must_use]
    pub const fn rdma(&self) -> Option<&RdmaPlan> {
        match self {
            EnginePlan::Rdma(plan) => Some(plan),
            _ => None,
        }
    }

    /// Whether trims work on regular files too.
    #[must_use]
    pub fn trims_files(&self) -> bool {
        let zeroes = self.blkio().is_some_and(|plan| plan.zeroes_on_trim);
        zeroes || matches!(self.def().access, EngineAccess::Extents)
    }

    /// The options of the simulated device, if this is one.
    #[must_use]
    pub fn simulated(&self) -> Option<&SimPlan> {
        match self {
            EnginePlan::Sim(plan) => Some(plan),
            _ => None,
        }
    }

    /// Turns on `sim_store` if this is a simulated device whose options do not mention it.
    pub fn store_if_simulated(&mut self) {
        let Self::Sim(plan) = self else { return };
        let name = SIM_STORE.name();
        if !plan.options.iter().any(|(option, _)| option == name) {
            plan.options.push((name.to_owned(), "1".to_owned()));
        }
    }

    /// The engine of the job with this index: its files have the number of the job in their names (`sim_record`).
    #[must_use]
    pub fn of_instance(&self, index: JobIndex) -> EnginePlan {
        let mut engine = self.clone();
        if let Self::Sim(plan) = &mut engine {
            let record = plan.options.iter_mut().find(|(option, _)| option == SIM_RECORD.name());
            if let Some((_, path)) = record {
                *path = format!("{path}_sim.{}.log", index.get() + 1);
            }
        }
        engine
    }

    /// Whether the engine's virtual clock runs at the speed of the machine's clock
    /// (`sim_real_time`).
    #[must_use]
    pub fn is_real_time(&self) -> bool {
        let mut options = self.simulated().into_iter().flat_map(|sim| &sim.options);
        options.any(|(name, value)| name == "sim_real_time" && value == "1")
    }
}

/// The options of `pvsync2`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pvsync2Plan {
    /// `hipri_percentage`: `RWF_HIPRI` on this share of the I/Os, in per cent. `None`: off.
    pub hipri_percent: Option<NonZeroU8>,
    /// `uncached`: `RWF_DONTCACHE`.
    pub uncached: bool,
    /// `nowait`: `RWF_NOWAIT`.
    pub nowait: bool,
}

/// The options of `libaio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LibaioPlan {
    /// `userspace_reap`: read completions from the ring in memory without a system call.
    pub userspace_reap: bool,
    /// `nowait`: `RWF_NOWAIT`.
    pub nowait: bool,
    /// `libaio_vectored`: `IOCB_CMD_PREADV` and `IOCB_CMD_PWRITEV`.
    pub vectored: bool,
}

/// The options of `mmap`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MmapPlan {
    /// `thp`: `MADV_HUGEPAGE` on the mapping.
    pub thp: bool,
}

/// The options of `page_fault`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PageFaultPlan {
    /// `thp`: requests or forbids transparent huge pages. `None`: the kernel decides.
    pub thp: Option<bool>,
}

/// The options of `mtd`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MtdPlan {
    /// `skip_bad`: fail I/Os on bad blocks and do not issue them.
    pub skip_bad: bool,
}

/// The options of the `e4defrag` engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct E4defragPlan {
    /// `donorname`: the file that gives its blocks, below `directory`.
    pub donor: PathBuf,
    /// `inplace`: the donor's blocks are allocated before each exchange, and freed after it.
    pub inplace: bool,
}

/// The options of `io_uring` rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoUringPlan {
    /// `hipri`: polled completions (`IORING_SETUP_IOPOLL`).
    pub hipri: bool,
    /// `fixedbufs`: register the buffers with the ring.
    pub fixed_buffers: bool,
    /// `registerfiles`: register the files with the ring.
    pub register_files: bool,
    /// `sqthread_poll`: a kernel thread polls the submission queue.
    pub sqpoll: bool,
    /// `sqthread_poll_cpu`: the CPU of that thread.
    pub sqpoll_cpu: Option<u32>,
    /// `nonvectored`: `IORING_OP_READ` instead of `READV`.
    pub nonvectored: bool,
    /// `uncached`: `RWF_DONTCACHE`.
    pub uncached: bool,
    /// `nowait`: `RWF_NOWAIT`.
    pub nowait: bool,
    /// `force_async`: `IOSQE_ASYNC` on every Nth I/O; 0: never.
    pub force_async: u32,
}

/// The options of the `sg` engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SgPlan {
    /// `hipri`: polled completions.
    pub hipri: bool,
    /// `readfua`: Force Unit Access on reads.
    pub read_fua: bool,
    /// `writefua`: Force Unit Access on writes.
    pub write_fua: bool,
    /// `sg_write_mode`: the command that carries out writes.
    pub write: SgWrite,
    /// `iodepth_batch`: the largest number of trims that one UNMAP command combines; 0 means 1.
    pub trims: u32,
}

/// `sg_write_mode`: the SCSI command that carries out writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SgWrite {
    #[default]
    Write,
    WriteAndVerify,
    /// WRITE SAME with one block of data.
    WriteSame,
    /// WRITE SAME without data.
    WriteSameNoData,
    /// VERIFY with this BYTCHK field: 0 compares no data, 1 compares all blocks, 3 compares every
    /// block with the same data.
    Verify(u8),
    /// WRITE STREAM to the stream of this number; 0: to a stream that the job opens.
    Stream(u16),
}

impl SgWrite {
    /// Whether the command sends the bytes of the buffer.
    #[must_use]
    pub const fn has_data(self) -> bool {
        !matches!(self, SgWrite::WriteSameNoData | SgWrite::Verify(0))
    }
}

/// How the engines for persistent memory write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PmemPlan {
    /// `direct`: stores bypass the caches of the CPU. Otherwise the job writes back each cache line after it has stored
    /// to it.
    pub non_temporal: bool,
    /// `sync`: each write waits until its data has left the caches.
    pub drain: bool,
    /// `pmem_force`: files need not be in persistent memory.
    pub any_file: bool,
}

/// The options of `cpuio`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuioPlan {
    /// `cpuload`: the share of the run time that the job uses a CPU, in per cent; at most 100.
    pub load_percent: NonZeroU8,
    /// `cpuchunks`: the CPU time of one cycle; at least 1 ns.
    pub chunk: Nanos,
    /// `cpumode`: what the CPU does.
    pub mode: CpuMode,
}

/// The options of `exec`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecPlan {
    /// `program`: a path, or a name that is searched in `PATH`.
    pub program: String,
    /// `arguments`, with the runtime and the name of the job in place of `%r` and `%n`.
    pub arguments: Vec<String>,
    /// `grace_time`: how long the program may run after it was asked to end.
    pub grace: Nanos,
    /// `std_redirect`: the files for standard output and standard error. `None`: those of fiord.
    pub output: Option<(PathBuf, PathBuf)>,
}

/// How many routers a packet passes at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopLimit(u8);

impl HopLimit {
    /// A limit of `hops` routers; 0: the packet stays on this machine.
    #[must_use]
    pub const fn new(hops: u8) -> Self {
        HopLimit(hops)
    }

    /// The number of routers.
    #[must_use]
    pub const fn hops(self) -> u8 {
        self.0
    }
}

/// The options of the engines that send or receive over a socket. The address of each peer is the
/// path of its [`super::FilePlan`]: `HOST:PORT`, `CID:PORT`, or the path of a Unix socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetPlan {
    /// `protocol`: the kind of socket.
    pub protocol: Protocol,
    /// Blocks pass through a pipe with `splice(2)` (`netsplice`).
    pub spliced: bool,
    /// This end receives blocks; otherwise it sends them.
    pub receives: bool,
    /// This end waits for its peer: it listens, or it receives datagrams.
    pub waits: bool,
    /// `pingpong`: the receiver sends each block back, and the sender waits for it.
    pub pingpong: bool,
    /// `nodelay`: `TCP_NODELAY`.
    pub nodelay: bool,
    /// `interface`: the address of the interface for multicast. `None`: the kernel chooses.
    pub interface: Option<IpAddr>,
    /// `ttl`: how many routers a multicast packet passes at most.
    pub ttl: HopLimit,
    /// `window_size`: size of the socket's buffer, which the kernel doubles. `None`: the kernel's
    /// default.
    pub window: Option<Bytes>,
    /// `mss`: the largest TCP segment. `None`: the kernel chooses.
    pub segment: Option<Bytes>,
    /// Further blocks follow each block without a pause, so that the kernel may wait for them before
    /// it sends a segment that is not full (`MSG_MORE`).
    pub continuous: bool,
    /// The peer is on another host of the run (`peer`), which may be behind: the end that connects tries again, and the end
    /// that waits gives up after a time.
    pub patient: bool,
    /// The number of the run, if the peer is on another host of it: only an end that knows the number is the peer.
    pub run: Option<RunNumber>,
}

/// The options of `rdma`. The address of the peer, or that to wait at, is the path of the job's
/// [`super::FilePlan`]: `HOST:PORT`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RdmaPlan {
    /// `verb`: what the end that connects does.
    pub verb: Verb,
    /// This end waits for its peer.
    pub waits: bool,
    /// `bindname`: the local address of an end that connects. `None`: the kernel chooses.
    pub bind: Option<String>,
}

impl RdmaPlan {
    /// Maximum `iodepth`: fio's message about the buffers of an end has room for this number of buffers.
    pub const MAX_IN_FLIGHT: u32 = 512;
}

/// The options of the simulated device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimPlan {
    /// Pairs of option name (`sim_seed`, `sim_latency`, …) and validated text. The engine module
    /// `sim` defines the options and parses them once before the run.
    pub options: Vec<(String, String)>,
    /// `sim_faults`: the faults of the device.
    pub faults: Vec<SimFault>,
    /// `sim_crash`: the crash of the device.
    pub crash: Option<SimCrash>,
}

/// The queue depth, and how many I/Os the job submits and reaps at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// `iodepth`: the largest number of I/Os in flight; at least 1.
    pub depth: u32,
    /// `iodepth_batch`: the largest number of I/Os to submit at once; 0 means `depth`. `batch`,
    /// `complete_min` and `complete_max` are `None` if the job sets none of their options: the job
    /// then fills every free slot and submits in the call that waits. If the job sets one of the
    /// options, the others have fio's defaults.
    pub batch: Option<u32>,
    /// `iodepth_batch_complete_min`: the number of completions that the job waits for when the
    /// queue is full; 0: the job polls without sleeping.
    pub complete_min: Option<u32>,
    /// `iodepth_batch_complete_max`: the largest number of completions to reap at once; at least
    /// `complete_min`.
    pub complete_max: Option<u32>,
    /// `iodepth_low`: the job resumes queueing when only this many I/Os are in flight. `None`: as
    /// soon as a slot is free. 0: the job waits for each I/O before it issues the next one
    /// (`iodepth_batch_complete_min=0` without `iodepth_batch_complete_max`).
    pub low: Option<u32>,
}
