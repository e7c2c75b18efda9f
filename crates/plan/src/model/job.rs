//! The plan of a run and of its job instances: identity, start and end.

use fiord_types::{Bytes, JobIndex, Nanos, SteadyMeasure, SteadyRule};

use super::{
    ContentPlan, Depth, EndpointError, EngineAccess, EnginePlan, ExitWhat, FileKind, IologPlan,
    JournalPlan, Load, LogPlan, Pace, Process, Record, ReplayPlan, Reporting, Step, Target,
    VerifyPlan,
};

/// The plan of one invocation: all its job instances.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// One entry per job instance (`numjobs` multiplied out), in the order in which fio starts and
    /// reports them: sections in the order of the job file; in each section the first instance,
    /// then the others in descending order.
    pub jobs: Vec<JobPlan>,
    /// The options that stand before the first job, as pairs of documented name and typed text, for
    /// the reports.
    pub global_options: Vec<(String, String)>,
}

/// Everything that one worker thread does. Immutable during the run.
#[derive(Debug, Clone, PartialEq)]
pub struct JobPlan {
    /// Name, description and indexes of the instance.
    pub identity: Identity,
    /// When the job starts.
    pub start: Start,
    /// When the job ends.
    pub end: End,
    /// The files or devices that the job reads and writes.
    pub target: Target,
    /// Directions, offsets and block sizes of the I/Os.
    pub load: Load,
    /// The contents of write buffers.
    pub content: ContentPlan,
    /// `buffer_crc`: the last four bytes of each written block are the CRC-32C of the bytes before
    /// them.
    pub crc: bool,
    /// `verify`: what the job verifies. `None`: nothing.
    pub verify: Option<VerifyPlan>,
    /// The job verifies nothing, and other jobs verify files that it writes: it tells their maps which blocks it
    /// overwrites.
    pub informs_maps: bool,
    /// `verify_journal`: the job records its writes for a check after a crash. `None`: it does not.
    pub journal: Option<JournalPlan>,
    /// `read_iolog`: the trace that the job replays. `None`: it generates its I/Os.
    pub replay: Option<ReplayPlan>,
    /// `write_iolog`: the log of the job's I/Os. `None`: it keeps none.
    pub iolog: Option<IologPlan>,
    /// The I/O engine and its options.
    pub engine: EnginePlan,
    /// The queue depth and batch sizes.
    pub depth: Depth,
    /// Rates, think times and latency targets.
    pub pace: Pace,
    /// Properties of the worker thread: CPUs, priority, memory.
    pub process: Process,
    /// Which measurements the job takes.
    pub record: Record,
    /// The logs that the job writes. `None`: none.
    pub log: Option<LogPlan>,
    /// How reports show the job.
    pub reporting: Reporting,
    /// Why the job fails when it starts: its server does not answer or refuses it, or this machine lacks the library of
    /// its engine. The job has no files then. `None`: it can run.
    pub unavailable: Option<Box<EndpointError>>,
}

impl JobPlan {
    /// Whether the job drops the cached pages of a file each time it starts the file over
    /// (`invalidate`).
    ///
    /// Direct I/O and persistent memory leave nothing in the page cache. Random I/O without a map, strided zones and
    /// `rw=read:N` have no passes over a file, as in fio.
    #[must_use]
    pub fn drops_cache_each_pass(&self) -> bool {
        let cached = match self.engine.def().access {
            EngineAccess::PersistentMemory(_) => false,
            EngineAccess::Mapping => true,
            _ => !self.target.open.direct,
        };
        let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
        let load = &self.load;
        self.target.open.invalidate
            && cached
            && self.target.files.iter().any(|file| stored(file.kind))
            && load.strided.is_none()
            && !matches!(load.step, Step::Skip(_))
            && !(load.random && load.no_map)
    }

    /// Whether the job changes its files once it runs: their data, their blocks or their names. What the layout does is not
    /// included.
    #[must_use]
    pub fn changes_files(&self) -> bool {
        self.load.mix.changes_data()
            || self.engine.def().access.reads_change_files()
            || self.target.unlink
            || self.target.unlink_each_loop
    }
}

/// The names and numbers that identify a job instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Identity {
    pub name: String,
    pub description: Option<String>,
    /// Index of the job section, from 0. All instances of a section have the same value.
    pub section: usize,
    /// Index of the instance in its section, from 0 to `numjobs - 1`.
    pub instance: u32,
    /// Number of instances of the section (`numjobs`).
    pub instances: u32,
    /// Index in [`Plan::jobs`]: fio's thread number minus one.
    pub index: JobIndex,
    /// Reporting group, from 0. `stonewall` and `new_group` start the next one.
    pub group: u32,
    /// Barrier group for `exit_what=stonewall`, from 0. Jobs between two stonewalls share it.
    pub stonewall_group: u32,
    /// The options of the job's own section, as pairs of documented name and typed text, for the
    /// reports.
    pub options: Vec<(String, String)>,
}

/// When a job starts, and the commands to run before and after it.
#[derive(Debug, Clone, PartialEq)]
pub struct Start {
    /// `stonewall`: this instance and all later ones in the list start only after every earlier
    /// instance has ended. Of the clones that `numjobs` makes, only the first one has it.
    pub stonewall: bool,
    /// `wait_for`: the job starts only after all these instances (indexes into [`Plan::jobs`]) have
    /// ended.
    pub wait_for: Vec<JobIndex>,
    /// `startdelay`: the delay before the start, drawn at random from this inclusive
    /// range.
    pub delay: (Nanos, Nanos),
    /// `exec_prerun`: shell command to run before the job.
    pub prerun: Option<String>,
    /// `exec_postrun`: shell command to run after the job.
    pub postrun: Option<String>,
}

/// When a job ends.
#[derive(Debug, Clone, PartialEq)]
pub struct End {
    /// `runtime`, without the ramp time. `None`: no limit.
    pub runtime: Option<Nanos>,
    /// `time_based`: when the work is done, the job starts over, until `runtime` has passed.
    pub time_based: bool,
    /// `ramp_time`: the job runs for this time before measuring starts.
    pub ramp_time: Nanos,
    /// `ramp_size`: bytes that the job transfers, over all directions, before measuring starts.
    pub ramp_size: Bytes,
    /// `loops`: how many times the job repeats its work; at least 1.
    pub loops: u64,
    /// Bytes to transfer in one loop: `io_size`, otherwise the whole blocks of all file regions.
    /// If the offsets run out earlier (`io_size` larger than the region, `rw=read:4k`), they start
    /// over. The job does not shorten the last I/O, so a loop may transfer up to one block more.
    pub bytes: Bytes,
    /// `io_size` is set: passes over the files begin until `bytes` are transferred, even if `bytes` is the length of the files.
    pub sized: bool,
    /// `size`, if it is a number of bytes. The last block of a region may cross its end.
    pub size: Option<Bytes>,
    /// `number_ios`: the job ends after this many I/Os. `None`: no limit.
    pub ios: Option<u64>,
    /// `exit_on_io_done`: the job ends when all jobs that do I/O have ended.
    pub with_io: bool,
    /// `exitall`: when this job ends, the jobs that `exit_what` selects end too.
    pub exitall: bool,
    /// `exit_what`: which jobs `exitall` and `exitall_on_error` end.
    pub exit_what: ExitWhat,
    /// `exitall_on_error`: an error in this job ends the jobs that `exit_what` selects.
    pub exitall_on_error: bool,
    /// `fill_device`: the job ends without an error when a write fails with ENOSPC.
    pub fill_device: bool,
    /// `space_reserve`: bytes that must stay free on the file system of the files. 0: no check.
    pub space_reserve: Bytes,
    /// `steadystate`: the job ends when its results have become steady. `None`: no such check.
    pub steady: Option<SteadyPlan>,
}

/// The `steadystate` criterion: when a job counts as steady.
#[derive(Debug, Clone, PartialEq)]
pub struct SteadyPlan {
    /// The measure that must become steady.
    pub measure: SteadyMeasure,
    /// The rule that the samples must satisfy.
    pub rule: SteadyRule,
    /// The criterion in the notation of the reports, such as `iops:50.000000%`.
    pub spec: String,
    /// `steadystate_check_interval`: time between two samples.
    pub interval: Nanos,
    /// Number of samples in the window; at least 2.
    pub samples: u32,
    /// `steadystate_ramp_time`: time of the measured part before the first interval.
    pub ramp: Nanos,
}
