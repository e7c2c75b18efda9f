//! The plan: everything a run needs to know, resolved. Nothing after it reads an option by name.
//!
//! Times are nanoseconds, sizes and offsets are bytes, unless a field says otherwise.

use std::path::PathBuf;

use fiord_job::option::value::PatternPart;

use crate::distribution::{Distribution, Skew, Strided};

/// A whole invocation.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One entry per job instance (`numjobs` multiplied out), in the order in which fio starts and
    /// reports them: sections as written, of each the first instance, then the others backwards.
    pub jobs: Vec<JobPlan>,
    /// What was typed before the first job (documented name, text), for the reports.
    pub global_options: Vec<(String, String)>,
}

/// What one worker thread does. Immutable.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// Who it is.
    pub identity: Identity,
    /// When it starts.
    pub start: Start,
    /// When it ends.
    pub end: End,
    /// What it works on.
    pub target: Target,
    /// Which I/Os it makes.
    pub load: Load,
    /// What the bytes are.
    pub content: Content,
    /// `buffer_crc`: the last four bytes of each block written are the CRC-32C of those before.
    pub crc: bool,
    /// What carries them out.
    pub engine: EnginePlan,
    /// How many at once.
    pub depth: Depth,
    /// How fast.
    pub pace: Pace,
    /// The thread around it.
    pub process: Process,
    /// What is measured.
    pub record: Record,
    /// How it is reported.
    pub reporting: Reporting,
}

/// Who a job instance is.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    /// `name`.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// Index of the job section, from 0: instances of one section share it.
    pub section: usize,
    /// Which instance of its section, from 0 to `numjobs - 1`.
    pub instance: u32,
    /// How many instances the section has.
    pub instances: u32,
    /// Index in [`Plan::jobs`]; fio's thread number less one.
    pub index: usize,
    /// Reporting group, from 0; `stonewall` and `new_group` begin the next one.
    pub group: u32,
    /// Barrier group for `exit_what=stonewall`: jobs between two stonewalls share it.
    pub stonewall_group: u32,
    /// What was typed in the job's own section (documented name, text), for the reports.
    pub options: Vec<(String, String)>,
}

/// When a job starts, and what else ends with it.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// `stonewall`: only after every job before it in the list has ended.
    pub stonewall: bool,
    /// `wait_for`: only after all these instances (indexes into [`Plan::jobs`]) have ended.
    pub wait_for: Vec<usize>,
    /// `startdelay`: drawn from this range, inclusive.
    pub delay: (u64, u64),
    /// `exec_prerun`.
    pub prerun: Option<String>,
    /// `exec_postrun`.
    pub postrun: Option<String>,
}

/// When a job ends.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// `runtime`; `None`: no limit. Ramp time is not part of it.
    pub runtime: Option<u64>,
    /// `time_based`: go on from the start when the work is done, until `runtime`.
    pub time_based: bool,
    /// `ramp_time`: runs, but is not measured.
    pub ramp_time: u64,
    /// `ramp_size`: bytes run before measuring starts, over all directions.
    pub ramp_size: u64,
    /// `loops`: how many times the work is done (at least 1).
    pub loops: u64,
    /// Bytes to transfer in one loop: `io_size`, else what whole blocks of the file regions hold.
    /// Where the source ends before that (`io_size` above the region, `rw=read:4k`), it starts over.
    /// The last I/O is not cut: a loop may transfer up to one block more.
    pub bytes: u64,
    /// `number_ios`; `None`: no limit.
    pub ios: Option<u64>,
    /// `exitall`: when this job ends, those that `exit_what` names end too.
    pub exitall: bool,
    /// `exit_what`.
    pub exit_what: ExitWhat,
    /// `exitall_on_error`: an error in this job ends those too.
    pub exitall_on_error: bool,
    /// `fill_device`: ENOSPC is the expected end of a write.
    pub fill_device: bool,
    /// `space_reserve`: bytes that stay free on the file system of the files; 0: not watched.
    pub space_reserve: u64,
    /// `steadystate`: the job ends when its results have stopped changing.
    pub steady: Option<SteadyPlan>,
}

/// When results have stopped changing.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyPlan {
    /// What is judged.
    pub measure: SteadyMeasure,
    /// How.
    pub rule: SteadyRule,
    /// The criterion as the reports name it: `iops:50.000000%`.
    pub spec: String,
    /// Time between two samples.
    pub interval: u64,
    /// Samples in the window.
    pub samples: u32,
    /// `steadystate_ramp_time`: how long the measured part runs before the first interval.
    pub ramp: u64,
}

/// What `steadystate` judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SteadyMeasure {
    /// I/Os a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// Mean completion latency.
    Latency,
}

/// How it judges. Limits are in per cent of the mean or in I/Os a second, bytes a second, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SteadyRule {
    /// No sample further from the mean.
    Deviation {
        /// The limit.
        limit: f64,
        /// It is a percentage.
        percent: bool,
    },
    /// The regression line no steeper, a sample.
    Slope {
        /// The limit.
        limit: f64,
        /// It is a percentage.
        percent: bool,
    },
    /// Range and slope over five rounds.
    Pts,
}

/// Which jobs `exitall` ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitWhat {
    /// Those of the same reporting group.
    Group,
    /// Those between the same two stonewalls.
    Stonewall,
    /// All.
    All,
}

/// The files or devices of a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// Every file, in order. Empty only for engines that need none.
    pub files: Vec<FilePlan>,
    /// `openfiles`: how many are open at a time (at least 1, at most all).
    pub open_files: u32,
    /// `file_service_type`.
    pub service: FileService,
    /// How they are opened.
    pub open: OpenPlan,
    /// How they are laid out before the run.
    pub layout: Layout,
    /// `lockfile`.
    pub lock: LockFile,
    /// `unlink`: remove regular files when the job is done.
    pub unlink: bool,
    /// `unlink_each_loop`.
    pub unlink_each_loop: bool,
    /// `ioscheduler`, for block devices.
    pub scheduler: Option<String>,
}

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file, there or to be made.
    Regular,
    /// A block device.
    Block,
    /// A character device.
    Char,
    /// A pipe or socket.
    Pipe,
    /// The engine touches no file (`null`, `sim`).
    Virtual,
}

/// One file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePlan {
    /// Its path (a mere name for `Virtual`).
    pub path: PathBuf,
    /// What it is.
    pub kind: FileKind,
    /// First byte that is used.
    pub offset: u64,
    /// Bytes that are used from there: I/O stays in `offset .. offset + len`.
    pub len: u64,
    /// The size it has now, or that the layout of an earlier job in the list will have given it;
    /// `None` when it is not there. The directories on the way to it may be missing too.
    pub size_now: Option<u64>,
    /// The size it must have before the run starts; `None`: take it as it is.
    pub size_needed: Option<u64>,
}

/// Which file is next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FileService {
    /// In turn, each for this many I/Os.
    RoundRobin(u32),
    /// At random, each for this many I/Os.
    Random(u32),
    /// Some files get more than others.
    Skewed(Skew),
    /// One is finished before the next is begun.
    Sequential,
}

/// How files are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenPlan {
    /// `O_DIRECT`.
    pub direct: bool,
    /// `sync`.
    pub sync: SyncMode,
    /// `RWF_ATOMIC` on every write.
    pub atomic: bool,
    /// Drop cached pages of the region after the last open, before the run.
    pub invalidate: bool,
    /// `allow_file_create`: a missing file may be made.
    pub create: bool,
    /// `allow_mounted_write`.
    pub allow_mounted_write: bool,
    /// `fadvise_hint`.
    pub advice: Advice,
    /// `write_hint`: the word.
    pub write_hint: Option<WriteHint>,
    /// `file_append`: opened for appending, offsets begin at the present end.
    pub append: bool,
    /// `--readonly` or a job that only reads: opened without write access.
    pub read_only: bool,
}

/// `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncMode {
    /// Neither.
    None,
    /// `O_SYNC`.
    Sync,
    /// `O_DSYNC`.
    Dsync,
}

/// `fadvise_hint`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Advice {
    /// None given.
    None,
    /// As the job's access pattern is.
    Auto,
    /// `POSIX_FADV_RANDOM`.
    Random,
    /// `POSIX_FADV_SEQUENTIAL`.
    Sequential,
    /// `POSIX_FADV_NOREUSE`.
    NoReuse,
}

/// `write_hint` (`F_SET_RW_HINT`, see `linux/fcntl.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteHint {
    /// `RWH_WRITE_LIFE_NONE`.
    None,
    /// `RWH_WRITE_LIFE_SHORT`.
    Short,
    /// `RWH_WRITE_LIFE_MEDIUM`.
    Medium,
    /// `RWH_WRITE_LIFE_LONG`.
    Long,
    /// `RWH_WRITE_LIFE_EXTREME`.
    Extreme,
}

/// How files are laid out before the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// `create_serialize`: one job at a time.
    pub serialize: bool,
    /// `create_fsync`.
    pub fsync: bool,
    /// `create_on_open`: only made when the job opens it.
    pub on_open: bool,
    /// `create_only`: lay out and stop.
    pub only: bool,
    /// `overwrite`: a file to be written is fully there first.
    pub overwrite: bool,
    /// `pre_read`: read through it before the run.
    pub pre_read: bool,
    /// `fallocate`.
    pub fallocate: Fallocate,
}

/// `fallocate`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fallocate {
    /// Nothing.
    None,
    /// `fallocate(2)`; a file system without it is no error.
    Native,
    /// `posix_fallocate(3)`.
    Posix,
    /// `FALLOC_FL_KEEP_SIZE`.
    Keep,
    /// `ftruncate(2)` to the size.
    Truncate,
}

/// `lockfile`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockFile {
    /// No lock.
    None,
    /// One job at a time on a file.
    Exclusive,
    /// Many readers or one writer.
    ReadWrite,
}

/// A direction of data; indexes every `[T; 3]` of the plan and of the statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(usize)]
pub enum Dir {
    /// Device to memory.
    Read = 0,
    /// Memory to device.
    Write = 1,
    /// Deallocate.
    Trim = 2,
}

impl Dir {
    /// All, in the order of their indexes.
    pub const ALL: [Dir; 3] = [Dir::Read, Dir::Write, Dir::Trim];
}

/// Which I/Os a job makes.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Which directions.
    pub mix: Mix,
    /// Random (true) or sequential offsets.
    pub random: bool,
    /// `percentage_random` per direction, only with `random`.
    pub random_percent: [u8; 3],
    /// The `:N` of `rw`.
    pub step: Step,
    /// `rw_sequencer`.
    pub sequencer: Sequencer,
    /// Block sizes per direction.
    pub blocks: [BlockSize; 3],
    /// `blockalign` per direction: offsets of random I/O are multiples of it.
    pub align: [u64; 3],
    /// `bs_unaligned`: any byte in a range, not only multiples of the minimum.
    pub unaligned: bool,
    /// `random_distribution`, only with `random`.
    pub distribution: Distribution,
    /// `zonemode=strided`.
    pub strided: Option<Strided>,
    /// `norandommap`, or a distribution that is not even: draw offsets without remembering.
    pub no_map: bool,
    /// `random_generator`.
    pub generator: Generator,
    /// Seeds everything random of this instance. The same for every run with `randrepeat=1`.
    pub seed: u64,
    /// `allrandrepeat`/`randrepeat`: draw the same sequence in each loop too? (false: go on drawing)
    pub repeat: bool,
    /// `fsync`: after this many writes; 0: never.
    pub fsync: u32,
    /// `fdatasync`: after this many writes; 0: never.
    pub fdatasync: u32,
    /// `write_barrier`: every this many writes; 0: never.
    pub write_barrier: u32,
    /// `sync_file_range`: after this many writes, with these `SYNC_FILE_RANGE_*` flags.
    pub sync_file_range: Option<(u32, u32)>,
    /// `end_fsync`: fsync when the job is done.
    pub end_fsync: bool,
    /// `fsync_on_close`: fsync whenever a file is closed; counted in the run.
    pub fsync_on_close: bool,
    /// `end_syncfs`.
    pub end_syncfs: bool,
    /// `serialize_overlap`.
    pub serialize_overlap: bool,
}

/// Which directions a job mixes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// `read`, `randread`.
    Read,
    /// `write`, `randwrite`.
    Write,
    /// `trim`, `randtrim`.
    Trim,
    /// `rw`, `randrw`: this share of reads, in per cent.
    ReadWrite {
        /// Share of reads.
        read_percent: u8,
    },
    /// `trimwrite`, `randtrimwrite`: each block is trimmed, then written.
    TrimWrite,
}

impl Mix {
    /// Whether a direction occurs.
    pub fn has(self, dir: Dir) -> bool {
        match self {
            Mix::Read => dir == Dir::Read,
            Mix::Write => dir == Dir::Write,
            Mix::Trim => dir == Dir::Trim,
            Mix::ReadWrite { .. } => dir != Dir::Trim,
            Mix::TrimWrite => dir != Dir::Read,
        }
    }
}

/// The `:N` of `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// None given.
    None,
    /// Random kinds: a new offset only every this many I/Os, sequential in between.
    EveryNth(u32),
    /// Sequential kinds: this is added to the offset after each I/O (may be negative).
    Skip(i64),
}

/// `rw_sequencer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sequencer {
    /// The next offset after the last I/O.
    Sequential,
    /// The same offset again.
    Identical,
}

/// Block size of one direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlockSize {
    /// Always this.
    Fixed(u32),
    /// Evenly between these, inclusive, in multiples of the smaller one (any byte with
    /// `bs_unaligned`).
    Range {
        /// Smallest.
        min: u32,
        /// Largest.
        max: u32,
    },
    /// `bssplit`: sizes with their shares in per cent, adding up to 100.
    Split(Vec<(u32, u8)>),
}

impl BlockSize {
    /// The smallest size.
    pub fn min(&self) -> u32 {
        match self {
            BlockSize::Fixed(b) => *b,
            BlockSize::Range { min, .. } => *min,
            BlockSize::Split(s) => s.iter().map(|x| x.0).min().unwrap_or(0),
        }
    }
    /// The largest size.
    pub fn max(&self) -> u32 {
        match self {
            BlockSize::Fixed(b) => *b,
            BlockSize::Range { max, .. } => *max,
            BlockSize::Split(s) => s.iter().map(|x| x.0).max().unwrap_or(0),
        }
    }
}

/// `random_generator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generator {
    /// 32 bits of period-2^88 quality; with a map.
    Tausworthe,
    /// 64 bits; with a map.
    Tausworthe64,
    /// A maximal-length sequence over the blocks: visits each once without a map.
    Lfsr,
}

/// What the bytes of a write are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// All zero.
    Zero,
    /// Random once per buffer, then made different in a few places before each write.
    Scramble,
    /// Random once per buffer and left so (`scramble_buffers=0`).
    Fixed,
    /// New random bytes for each write.
    Refill,
    /// A pattern, repeated.
    Pattern(Vec<PatternPart>),
    /// New for each write, with a share that compresses, a share that comes twice, or both.
    Shaped(Shape),
}

/// Contents that storage can make smaller by a given share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// What a compressor can take away of every block.
    pub compress: Option<Compress>,
    /// Which blocks come again.
    pub dedupe: Option<Dedupe>,
}

/// Contents that compress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compress {
    /// `buffer_compress_percentage`, 1 to 100.
    pub percent: u8,
    /// `buffer_compress_chunk`: bytes in which random and compressible ones alternate; 0: the whole
    /// block.
    pub chunk: u32,
    /// `buffer_pattern`, which the compressible bytes are made of; empty: zeros.
    pub pattern: Vec<PatternPart>,
}

/// Contents that come again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dedupe {
    /// `dedupe_percentage`, 1 to 100.
    pub percent: u8,
    /// `dedupe_working_set_percentage` with `dedupe_mode=working_set`; `None`: `repeat`.
    pub working_set: Option<u8>,
    /// `dedupe_global`: other jobs repeat the same blocks.
    pub global: bool,
    /// How many blocks of 4 KiB will be there in the end: of this job, or of all that share its
    /// blocks.
    pub blocks: u64,
}

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
    /// Completes at once and does nothing.
    Null,
    /// A simulated device with a virtual clock.
    Sim(SimPlan),
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
    /// `iodepth_batch` when the job sets it: at most this many are submitted at once (0: as
    /// `depth`). `None`: fiord fills every free slot and submits with the wait.
    pub batch: Option<u32>,
    /// `iodepth_batch_complete_min` when the job sets it; 0: poll without waiting.
    pub complete_min: Option<u32>,
    /// `iodepth_batch_complete_max`.
    pub complete_max: Option<u32>,
    /// `iodepth_low`: queueing resumes when this few are left; `None`: as soon as one is free.
    pub low: Option<u32>,
}

/// How fast a job makes its I/Os.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pace {
    /// `rate`, `rate_iops`: of each direction; `None`: as fast as it goes.
    pub rate: [Option<Rate>; 3],
    /// `rate_min`, `rate_iops_min`: below it the job ends with an error.
    pub floor: [Option<Rate>; 3],
    /// `rate_cycle`: over this time the floor is checked.
    pub cycle: u64,
    /// `rate_process`.
    pub process: RateProcess,
    /// `rate_ignore_thinktime`: what was not done in a think time is not made up for.
    pub forgive_think: bool,
    /// `thinktime` and its family.
    pub think: Option<Think>,
    /// `flow`: the share among the jobs with the same `flow_id`.
    pub flow: Option<FlowShare>,
    /// `max_latency`: an I/O that takes longer ends the job.
    pub max_latency: [Option<u64>; 3],
    /// `latency_target`: look for the depth that keeps it.
    pub goal: Option<LatencyGoal>,
    /// `io_submit_mode=offload`: a synchronous engine gets a thread for each of its I/Os.
    pub offload: bool,
}

impl Pace {
    /// Whether anything but the device and the depth decides when an I/O is made, or is checked
    /// when one ends.
    pub fn is_free(&self) -> bool {
        self.rate == [None; 3]
            && self.floor == [None; 3]
            && self.think.is_none()
            && self.flow.is_none()
            && self.max_latency == [None; 3]
            && self.goal.is_none()
    }
}

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Bytes a second, at least 1.
    Bytes(u64),
    /// I/Os a second, at least 1.
    Ios(u64),
}

/// `rate_process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateProcess {
    /// Evenly spaced.
    #[default]
    Linear,
    /// Exponentially distributed spaces.
    Poisson,
}

/// `thinktime` and its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Think {
    /// `thinktime`: how long a pause is.
    pub time: u64,
    /// `thinktime_spin`: how much of it is spent busy.
    pub spin: u64,
    /// `thinkcycles`: busy for this many cycles after each I/O.
    pub cycles: u64,
    /// `thinktime_blocks`: a pause after so many I/Os; `None`: only after `io_time`.
    pub blocks: Option<u32>,
    /// `thinktime_blocks_type=issue`: they count when they are issued.
    pub on_issue: bool,
    /// `thinktime_iotime`: a pause after so long; 0: only after `blocks`.
    pub io_time: u64,
}

/// A job's part of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowShare {
    /// `flow_id`.
    pub id: u32,
    /// `flow`: its weight, at least 1.
    pub weight: u32,
    /// `flow_sleep`: how long it waits before it looks again.
    pub sleep: u64,
}

/// `latency_target` and its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyGoal {
    /// `latency_target`: no I/O is to take longer.
    pub target: u64,
    /// `latency_window`: how long a depth is tried.
    pub window: u64,
    /// `latency_percentile`: the share of I/Os that has to keep the target, in millionths.
    pub share_ppm: u32,
    /// `latency_run`: go on adjusting when the depth is found.
    pub keep_on: bool,
}

/// The thread around a job.
#[derive(Debug, Clone, PartialEq)]
pub struct Process {
    /// CPUs this very instance may use (`cpus_allowed` after `cpus_allowed_policy`, `cpumask`,
    /// `numa_cpu_nodes`); `None`: as inherited.
    pub cpus: Option<Vec<u32>>,
    /// `numa_mem_policy`.
    pub mem_policy: Option<MemPolicy>,
    /// `nice`.
    pub nice: i32,
    /// `prioclass`, `prio`, `priohint`.
    pub ioprio: Option<IoPrio>,
    /// `uid`, `gid`.
    pub uid: Option<u32>,
    /// See `uid`.
    pub gid: Option<u32>,
    /// `cgroup` with weight.
    pub cgroup: Option<Cgroup>,
    /// `comm`.
    pub comm: Option<String>,
    /// `mem`/`iomem`.
    pub memory: Memory,
    /// Buffer alignment in bytes (`iomem_align`), a power of two.
    pub memory_align: u64,
    /// `hugepage-size`: bytes of a huge page for `ShmHuge` and `MmapHuge`.
    pub huge_page: u64,
    /// `lockmem`: bytes pinned.
    pub lock_memory: u64,
}

/// `numa_mem_policy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MemPolicy {
    /// The kernel's own.
    Default,
    /// The node that runs the thread.
    Local,
    /// Rather this node.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// In turn over these nodes.
    Interleave(Vec<u32>),
}

/// I/O priority (`ioprio_set(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoPrio {
    /// 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 (highest) to 7.
    pub level: u8,
    /// 0 to 1023.
    pub hint: u16,
}

/// A control group for the job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cgroup {
    /// Its path below the mount of the hierarchy.
    pub name: String,
    /// `cgroup_weight`.
    pub weight: Option<u32>,
    /// `cgroup_nodelete`.
    pub keep: bool,
}

/// `mem`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Memory {
    /// The allocator.
    Malloc,
    /// System V shared memory.
    Shm,
    /// The same in huge pages.
    ShmHuge,
    /// Anonymous, or of this file.
    Mmap(Option<PathBuf>),
    /// In huge pages, or of this file on hugetlbfs.
    MmapHuge(Option<PathBuf>),
    /// Shared mapping of a file or anonymous.
    MmapShared(Option<PathBuf>),
}

/// What is measured.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Completion latency.
    pub clat: bool,
    /// Submission latency.
    pub slat: bool,
    /// Total latency.
    pub lat: bool,
    /// Bandwidth and IOPS over windows.
    pub bandwidth: bool,
    /// Length of a bandwidth window (`bwavgtime`).
    pub bandwidth_window: u64,
    /// Length of an IOPS window (`iopsavgtime`).
    pub iops_window: u64,
    /// `clat_percentiles`, `lat_percentiles`, `slat_percentiles`.
    pub clat_percentiles: bool,
    /// See `clat_percentiles`.
    pub lat_percentiles: bool,
    /// See `clat_percentiles`.
    pub slat_percentiles: bool,
    /// `percentile_list`, ascending.
    pub percentiles: Vec<f64>,
    /// Decimals with which they are printed: as many as the finest was typed with.
    pub percentile_decimals: u32,
    /// `clocksource`.
    pub clock: ClockSource,
    /// `gtod_cpu`: this CPU does nothing but keep the time.
    pub clock_cpu: Option<u32>,
    /// `job_start_clock_id`: the clock of `job_start` in JSON.
    pub start_clock_id: Option<i32>,
}

/// `clocksource`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockSource {
    /// The best there is.
    Auto,
    /// `gettimeofday(2)`.
    Gettimeofday,
    /// `clock_gettime(2)`.
    ClockGettime,
    /// The CPU's time stamp counter.
    Cpu,
}

/// How a job is reported.
#[derive(Debug, Clone, PartialEq)]
pub struct Reporting {
    /// `group_reporting`.
    pub group: bool,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `significant_figures`.
    pub significant_figures: u8,
    /// `stats`: this job appears in the report.
    pub stats: bool,
    /// `disk_util`.
    pub disk_util: bool,
    /// `core_bandwidth`: the bandwidth of the group is also divided by the cores.
    pub per_core: bool,
    /// `kb_base`.
    pub kb_base: u32,
    /// `unit_base`: 0 (by the engine), 1 (bits) or 8 (bytes).
    pub unit_base: u8,
    /// `continue_on_error` per kind: read, write, verify.
    pub continue_on_error: [bool; 3],
}

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unified {
    /// Each direction apart.
    None,
    /// Only the sum.
    Mixed,
    /// Both.
    Both,
}
