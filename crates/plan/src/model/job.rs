//! A whole invocation, its job instances, when they start and when they end.

use super::{
    Content, Depth, EnginePlan, FileKind, Load, Pace, Process, Record, Reporting, Step, Target,
};

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

impl JobPlan {
    /// Whether the cached pages of a file are dropped each time the job begins the file anew
    /// (`invalidate`).
    ///
    /// Direct I/O leaves nothing in the page cache. Random I/O without a map, strided zones and
    /// `rw=read:N` have no passes over a file, as in fio.
    pub fn drops_cache_each_pass(&self) -> bool {
        let cached = !self.target.open.direct || matches!(self.engine, EnginePlan::Mmap { .. });
        let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
        let load = &self.load;
        self.target.open.invalidate
            && cached
            && self.target.files.iter().any(|file| stored(file.kind))
            && load.strided.is_none()
            && !matches!(load.step, Step::Skip(_))
            && !(load.random && load.no_map)
    }
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
    /// `stonewall`: this instance and all after it in the list start only after every instance before
    /// it has ended. Only the first of the clones that `numjobs` makes has it.
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
