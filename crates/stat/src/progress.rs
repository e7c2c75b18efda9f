//! The data of the live line and of the header lines.

use fiord_types::PerDir;

/// What a job is doing. Each phase has a letter in the live line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobPhase {
    /// Set up, not started.
    Waiting,
    /// Its thread exists.
    Created,
    /// Its thread is set up and waits for the start.
    Initialized,
    /// It reads its files before the run (`pre_read`).
    PreReading,
    /// It runs but is not measured yet (`ramp_time`).
    Ramping,
    /// It runs.
    Running(RunKind),
    /// It waits for an fsync.
    Syncing,
    /// It reads back what it wrote.
    Verifying,
    /// It completes its last I/Os and flushes its files.
    Finishing,
    /// It has ended but is not reaped yet.
    Exited,
    /// It is reaped.
    Reaped,
    /// It is reaped and had an error.
    Failed,
    /// It is reaped and was ended by a signal.
    Killed,
}

/// What a running job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum RunKind {
    Read,
    RandRead,
    Write,
    RandWrite,
    Mixed,
    RandMixed,
    Trim,
    RandTrim,
}

const LETTERS: [(char, JobPhase); 20] = [
    ('P', JobPhase::Waiting),
    ('C', JobPhase::Created),
    ('I', JobPhase::Initialized),
    ('p', JobPhase::PreReading),
    ('/', JobPhase::Ramping),
    ('R', JobPhase::Running(RunKind::Read)),
    ('r', JobPhase::Running(RunKind::RandRead)),
    ('W', JobPhase::Running(RunKind::Write)),
    ('w', JobPhase::Running(RunKind::RandWrite)),
    ('M', JobPhase::Running(RunKind::Mixed)),
    ('m', JobPhase::Running(RunKind::RandMixed)),
    ('D', JobPhase::Running(RunKind::Trim)),
    ('d', JobPhase::Running(RunKind::RandTrim)),
    ('F', JobPhase::Syncing),
    ('V', JobPhase::Verifying),
    ('f', JobPhase::Finishing),
    ('E', JobPhase::Exited),
    ('_', JobPhase::Reaped),
    ('X', JobPhase::Failed),
    ('K', JobPhase::Killed),
];

impl JobPhase {
    /// The letter in the live line.
    pub fn letter(self) -> char {
        LETTERS.iter().find(|(_, phase)| *phase == self).map_or('P', |(letter, _)| *letter)
    }
    /// Whether the job is between its start and its end and counts in `Jobs: N`.
    pub fn is_running(self) -> bool {
        matches!(
            self,
            JobPhase::PreReading
                | JobPhase::Ramping
                | JobPhase::Running(_)
                | JobPhase::Syncing
                | JobPhase::Verifying
                | JobPhase::Finishing
        )
    }
}

/// The numbers of the live line at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// The phase of each job, in the order of the jobs.
    pub phases: Vec<JobPhase>,
    /// Files open in running jobs.
    pub open_files: u64,
    /// Share of the run that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Bytes per second since the last line: read, write, trim.
    pub bw: PerDir<u64>,
    /// I/Os per second since the last line: read, write, trim.
    pub iops: PerDir<u64>,
    /// Minimum and maximum rate (`rate_min`, `rate`), bytes per second, summed over running jobs; 0 if not set.
    pub rate_limits: (u64, u64),
    /// Minimum and maximum rate (`rate_iops_min`, `rate_iops`), I/Os per second, summed over running jobs; 0 if
    /// not set.
    pub rate_iops_limits: (u64, u64),
    /// Estimated seconds left; `None` if unknown.
    pub eta_s: Option<u64>,
    /// Seconds since the run began.
    pub elapsed_s: u64,
    /// How numbers are printed.
    pub style: crate::report::NumberStyle,
    /// `unified_rw_reporting=mixed`: one rate for all directions.
    pub unified: bool,
}

/// The lines that introduce a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobHeader {
    /// The name.
    pub name: String,
    /// The run status group.
    pub group_id: u32,
    /// The kind of job.
    pub kind: HeaderKind,
    /// `numjobs`. With more than one job, the header has an extra line of three dots.
    pub members: u32,
}

/// The kind of job that a header line describes.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderKind {
    /// It does I/O.
    Io {
        /// The value of `rw`.
        rw: String,
        /// Smallest and largest block, bytes: read, write, trim.
        bs: PerDir<(u64, u64)>,
        /// The block sizes are for sequential and random I/O instead of read and write (`bs_is_seq_rand`).
        seq_rand: bool,
        /// The engine.
        engine: String,
        /// `iodepth`.
        iodepth: u32,
    },
    /// It burns CPU.
    Cpu {
        /// `cpuload`, percent.
        load: u32,
        /// `cpuchunks`, µs.
        chunk_us: u64,
    },
}
