//! What carries the I/Os out, and how many at once.

use fiord_job::option::table;

use super::PassthroughPlan;

/// The engine and its options.
#[derive(Debug, Clone, PartialEq)]
pub enum EnginePlan {
    /// `pread(2)`, `pwrite(2)`.
    Psync,
    /// `lseek(2)` and `read(2)`, `write(2)`.
    Sync,
    /// `lseek(2)` and `readv(2)`, `writev(2)`, neighbours coalesced.
    Vsync,
    /// `preadv(2)`, `pwritev(2)`.
    Pvsync,
    /// `preadv2(2)`, `pwritev2(2)`.
    Pvsync2 {
        /// `RWF_HIPRI` on this share of the I/Os, in per cent; 0: off.
        hipri_percent: u8,
        /// `RWF_DONTCACHE`.
        uncached: bool,
        /// `RWF_NOWAIT`.
        nowait: bool,
    },
    /// `memcpy` to and from a mapping.
    Mmap {
        /// `MADV_HUGEPAGE`.
        thp: bool,
    },
    /// Linux native AIO.
    Libaio {
        /// Reap from the ring in memory.
        userspace_reap: bool,
        /// `RWF_NOWAIT`.
        nowait: bool,
        /// `IOCB_CMD_PREADV` and `PWRITEV`.
        vectored: bool,
    },
    /// `io_uring`.
    IoUring(IoUringPlan),
    /// `io_uring_cmd`.
    IoUringCmd(Box<PassthroughPlan>),
    /// SCSI commands through the generic driver.
    Sg(SgPlan),
    /// Completes at once and does nothing.
    Null,
    /// A simulated device with a virtual clock.
    Sim(SimPlan),
}

impl EnginePlan {
    /// Whether it sends commands of its own to a driver, past the page cache, the I/O scheduler, the
    /// throttling and the counters of the block layer.
    pub const fn sends_commands(&self) -> bool {
        matches!(self, EnginePlan::IoUringCmd(_) | EnginePlan::Sg(_))
    }

    /// The word of `ioengine`.
    pub const fn name(&self) -> &'static str {
        match self {
            EnginePlan::Psync => "psync",
            EnginePlan::Sync => "sync",
            EnginePlan::Vsync => "vsync",
            EnginePlan::Pvsync => "pvsync",
            EnginePlan::Pvsync2 { .. } => "pvsync2",
            EnginePlan::Mmap { .. } => "mmap",
            EnginePlan::Libaio { .. } => "libaio",
            EnginePlan::IoUring(_) => "io_uring",
            EnginePlan::Sg(_) => "sg",
            EnginePlan::IoUringCmd(_) => "io_uring_cmd",
            EnginePlan::Null => "null",
            EnginePlan::Sim(_) => "sim",
        }
    }

    /// Whether it completes each I/O before it takes the next, as the registry of engines has it.
    pub fn is_synchronous(&self) -> bool {
        table::find_engine(self.name()).is_some_and(|engine| engine.synchronous)
    }
}

/// `io_uring`'s options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IoUringPlan {
    /// `hipri`: polled completions (`IORING_SETUP_IOPOLL`).
    pub hipri: bool,
    /// `fixedbufs`.
    pub fixed_buffers: bool,
    /// `registerfiles`.
    pub register_files: bool,
    /// `sqthread_poll`.
    pub sqpoll: bool,
    /// `sqthread_poll_cpu`.
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

/// `sg`'s options.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SgPlan {
    /// `hipri`: completions are polled for.
    pub hipri: bool,
    /// `readfua`: force unit access on reads.
    pub read_fua: bool,
    /// `writefua`: force unit access on writes.
    pub write_fua: bool,
    /// `sg_write_mode`.
    pub write: SgWrite,
    /// `iodepth_batch`: at most this many trims of a batch go in one UNMAP; 0 stands for 1.
    pub trims: u32,
}

/// The SCSI command that writes are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SgWrite {
    /// WRITE.
    #[default]
    Write,
    /// WRITE AND VERIFY.
    WriteAndVerify,
    /// WRITE SAME with one block of data.
    WriteSame,
    /// WRITE SAME without data.
    WriteSameNoData,
    /// VERIFY with this BYTCHK: 0 compares nothing, 1 all blocks, 3 all with one.
    Verify(u8),
    /// WRITE STREAM to this stream; 0: to one that is opened for the job.
    Stream(u16),
}

impl SgWrite {
    /// Whether bytes of the slot's buffer are sent.
    pub const fn has_data(self) -> bool {
        !matches!(self, SgWrite::WriteSameNoData | SgWrite::Verify(0))
    }
}

/// The simulated device.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SimPlan {
    /// Its options as validated texts, by name (`sim_seed`, `sim_latency`, …): the engine module
    /// `sim` defines and reads them, once, before the run.
    pub options: Vec<(String, String)>,
}

/// How many I/Os at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Depth {
    /// `iodepth`, at least 1.
    pub depth: u32,
    /// `iodepth_batch`: at most this many are submitted at once (0: as `depth`). This and the next two
    /// are `None` where the job sets none of the three options: fiord then fills every free slot and
    /// submits with the wait. If the job sets one, the others have fio's defaults.
    pub batch: Option<u32>,
    /// `iodepth_batch_complete_min`: at least this many completions are waited for when the queue is
    /// full; 0: poll without sleeping.
    pub complete_min: Option<u32>,
    /// `iodepth_batch_complete_max`: at most this many completions are taken at once; never less than
    /// `complete_min`.
    pub complete_max: Option<u32>,
    /// `iodepth_low`: queueing resumes when this few are left; `None`: as soon as one is free. 0: each
    /// I/O is waited for before the next one is made (`iodepth_batch_complete_min=0` on its own).
    pub low: Option<u32>,
}
