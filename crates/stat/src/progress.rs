//! The progress of a run, for the live line and other views, and the data of the header lines.

use std::path::PathBuf;

use fiord_types::{Bytes, Dir, Nanos, PerDir};
use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::live::Totals;
use crate::report::NumberStyle;

/// What a job is doing. Each phase has a letter in the live line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobPhase {
    /// Set up, not started.
    Waiting,
    /// The job's thread exists.
    Created,
    /// The job's thread is set up and waits for the start.
    Initialized,
    /// The job reads its files before the run (`pre_read`).
    PreReading,
    /// The job runs but is not measured yet (`ramp_time`).
    Ramping,
    Running(RunKind),
    /// The job waits for an fsync.
    Syncing,
    /// The job reads back what it wrote.
    Verifying,
    /// The job completes its last I/Os and flushes its files.
    Finishing,
    /// The job has ended but is not reaped yet.
    Exited,
    Reaped,
    /// The job is reaped and had an error.
    Failed,
    /// The job is reaped and was ended by a signal.
    Killed,
}

/// What a running job does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
    #[must_use]
    pub fn letter(self) -> char {
        LETTERS.iter().find(|(_, phase)| *phase == self).map_or('P', |(letter, _)| *letter)
    }
    /// Whether the job is between its start and its end and counts in `Jobs: N`.
    #[must_use]
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

/// The progress of a run at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Time that the rates and latencies cover: since the last event, or since the run began.
    pub interval: Nanos,
    /// The progress of each job, in the order of the jobs.
    pub jobs: Vec<JobProgress>,
    /// Files open in running jobs.
    pub open_files: u64,
    /// Share of the run that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Bytes per second in the interval: read, write, trim.
    pub bw: PerDir<Bytes>,
    /// I/Os per second in the interval: read, write, trim.
    pub iops: PerDir<u64>,
    /// Minimum and maximum rate (`rate_min`, `rate`), bytes per second, summed over running jobs; 0 if not set.
    pub rate_limits: (Bytes, Bytes),
    /// Minimum and maximum rate (`rate_iops_min`, `rate_iops`), I/Os per second, summed over running jobs; 0 if
    /// not set.
    pub rate_iops_limits: (u64, u64),
    /// Estimated time left, in whole seconds; `None` if unknown.
    pub eta: Option<Nanos>,
    /// Time since the run began, in whole seconds.
    pub elapsed: Nanos,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// `unified_rw_reporting=mixed`: one rate for all directions.
    pub unified: bool,
}

impl Progress {
    /// The progress of all hosts of a run together, for one live line: jobs of all hosts, rates summed. The run is as far
    /// as its slowest host; its share and its remaining time are unknown if those of a host are.
    ///
    /// ```
    /// use fiord_stat::progress::Progress;
    /// use fiord_types::Nanos;
    ///
    /// let host = |done, eta, open_files| Progress {
    ///     done: Some(done), eta: Some(Nanos::from_secs(eta)), open_files, ..Progress::default()
    /// };
    /// let all = Progress::of_hosts(&[host(0.5, 10, 1), host(0.25, 30, 2)]);
    /// assert_eq!((all.done, all.eta, all.open_files), (Some(0.25), Some(Nanos::from_secs(30)), 3));
    /// ```
    #[must_use]
    pub fn of_hosts<'a>(hosts: impl IntoIterator<Item = &'a Progress>) -> Progress {
        let mut hosts = hosts.into_iter();
        let mut all = hosts.next().cloned().unwrap_or_default();
        hosts.for_each(|host| all.add_host(host));
        all
    }

    fn add_host(&mut self, host: &Progress) {
        self.interval = self.interval.max(host.interval);
        self.jobs.extend_from_slice(&host.jobs);
        self.open_files = self.open_files.saturating_add(host.open_files);
        self.done = self.done.zip(host.done).map(|(a, b)| a.min(b));
        for dir in Dir::ALL {
            self.bw[dir] = self.bw[dir].saturating_add(host.bw[dir]);
            self.iops[dir] = self.iops[dir].saturating_add(host.iops[dir]);
        }
        let (least, most) = &mut self.rate_limits;
        *least = least.saturating_add(host.rate_limits.0);
        *most = most.saturating_add(host.rate_limits.1);
        let (least, most) = &mut self.rate_iops_limits;
        *least = least.saturating_add(host.rate_iops_limits.0);
        *most = most.saturating_add(host.rate_iops_limits.1);
        self.eta = self.eta.zip(host.eta).map(|(a, b)| a.max(b));
        self.elapsed = self.elapsed.max(host.elapsed);
        self.unified |= host.unified;
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
    /// What it does.
    pub phase: JobPhase,
    /// Bytes and I/Os since its measured part began.
    pub totals: Totals,
    /// Bytes per second in the interval: read, write, trim.
    pub bw: PerDir<Bytes>,
    /// I/Os per second in the interval: read, write, trim.
    pub iops: PerDir<u64>,
    /// Latencies of the I/Os that completed since the last event with latencies: read, write, trim. `None` if the
    /// run does not report them, or if the job waits in a system call.
    pub latency: Option<PerDir<IntervalLatency>>,
    /// Share of its work or of its run time that is done, 0 to 1; `None` if unknown.
    pub done: Option<f64>,
    /// Estimated time left, in whole seconds; `None` if unknown.
    pub eta: Option<Nanos>,
    /// How far its replay is behind the trace; `None` if it replays none, or not at recorded times.
    #[serde(default)]
    pub behind: Option<Nanos>,
}

/// Percentages of [`IntervalLatency::percentiles`]. The last one is the largest latency.
pub const PROGRESS_PERCENTILES: [f64; 5] = [50.0, 90.0, 99.0, 99.9, 100.0];

/// Latencies of one direction in an interval: total latencies if they have a histogram, else completion latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct IntervalLatency {
    /// Number of latencies.
    pub n: u64,
    /// Percentage and latency for each of [`PROGRESS_PERCENTILES`]; empty without latencies.
    pub percentiles: Vec<(f64, Nanos)>,
    /// All of them. Histograms of several jobs or intervals can be merged, percentiles cannot.
    #[serde(default)]
    pub histogram: Histogram,
}

impl IntervalLatency {
    #[must_use]
    pub fn of(histogram: Histogram) -> Self {
        let mut percentiles = histogram.percentiles(&PROGRESS_PERCENTILES);
        // The largest latency is at most the upper end of its bucket.
        if let (Some((_, last)), Some((_, to))) = (percentiles.last_mut(), histogram.last_bucket())
        {
            *last = to;
        }
        IntervalLatency { n: histogram.count(), percentiles, histogram }
    }
}

/// The lines that introduce a job.
#[derive(Debug, Clone, PartialEq)]
pub struct JobHeader {
    pub name: String,
    /// The run status group.
    pub group_id: u32,
    pub kind: HeaderKind,
    /// `numjobs`. With more than one job, the header has an extra line of three dots.
    pub members: u32,
}

/// The kind of job that a header line describes.
#[derive(Debug, Clone, PartialEq)]
pub enum HeaderKind {
    /// The job does I/O.
    Io {
        /// The value of `rw`.
        rw: String,
        /// Smallest and largest block: read, write, trim.
        bs: PerDir<(Bytes, Bytes)>,
        /// The block sizes are for sequential and random I/O instead of read and write (`bs_is_seq_rand`).
        seq_rand: bool,
        engine: String,
        iodepth: u32,
    },
    /// The job runs a program.
    Program {
        program: String,
        /// The arguments, separated by spaces.
        arguments: String,
        /// The files for standard output and standard error. `None`: those of fiord.
        output: Option<(PathBuf, PathBuf)>,
    },
    /// The job burns CPU.
    Cpu {
        engine: String,
        /// `cpumode`.
        mode: String,
        /// `cpuload`, percent.
        load: u32,
        /// `cpuchunks`.
        chunk: Nanos,
    },
}
