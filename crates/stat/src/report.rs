//! The report: everything that an output format prints, as plain data. All numbers are final; a format only
//! arranges them.

use serde::{Deserialize, Serialize};

use fiord_types::Dir;

use crate::delays::ThreadDelays;
use crate::device::DeviceView;
use crate::finding::{Finding, RunWarning, Unchecked};
use crate::shares::TimeShares;
use crate::slices::SliceTable;
use crate::timeline::IopsTimeline;

/// The version of this data model. It increases when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// The results of one run, or of a run so far (`--status-interval`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`] of the program that wrote the report.
    pub schema: u32,
    /// The program that wrote the report: starts with `fio-3.42`, then names fiord.
    pub version: String,
    /// When the report was written, milliseconds since 1970 (UTC).
    pub unix_ms: u64,
    /// Offset of local time from UTC at that moment, seconds.
    pub utc_offset_s: i32,
    /// Options of the global sections: name and value, in the order of the job file.
    pub global_options: Vec<(String, String)>,
    /// One entry for each job, or for each group of jobs with `group_reporting`.
    pub jobs: Vec<JobReport>,
    /// The run status groups.
    pub groups: Vec<GroupReport>,
    /// Block devices under the targets.
    pub disks: Vec<DiskReport>,
    /// Results that fio does not report.
    pub extras: Extras,
}

/// Results that fiord adds to those of fio.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Extras {
    /// The clock that timed the latencies.
    pub clock: Option<ClockReport>,
    /// The cost of the load generator itself.
    #[serde(default)]
    pub generator: Option<GeneratorReport>,
    /// Bandwidth of each group per CPU core, if a job asks for it (`core_bandwidth`).
    #[serde(default)]
    pub per_core: Vec<CoreBandwidth>,
    /// Latencies by time slice, with a verdict (`latency_limits`).
    #[serde(default)]
    pub slices: Vec<SliceTable>,
    /// Results compared with the manufacturer's specification (`spec`).
    #[serde(default)]
    pub spec: Vec<SpecReport>,
    /// The run as the devices under the targets counted it.
    #[serde(default)]
    pub devices: Vec<DeviceView>,
    /// Problems that make the results doubtful or invalid.
    pub findings: Vec<Finding>,
    /// Things that the run could not do as asked. Each becomes a finding.
    #[serde(default)]
    pub warnings: Vec<RunWarning>,
    /// Findings that could not be checked.
    #[serde(default)]
    pub unchecked: Vec<Unchecked>,
    /// The IOPS timeline of each job of the plan, in plan order. Empty for jobs on a virtual clock.
    #[serde(default)]
    pub courses: Vec<IopsTimeline>,
    /// Pages in the page cache of the files of jobs with `direct=1`, when the jobs began and ended.
    #[serde(default)]
    pub cached: Vec<CachedUnderDirect>,
    /// Jobs still run: the report was requested by `--status-interval` or a signal.
    #[serde(default)]
    pub interim: bool,
}

/// Pages in the page cache of a file or device that a job used with `direct=1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedUnderDirect {
    /// Index of the job in the plan.
    pub job: usize,
    /// Index of the file in the job.
    pub file: usize,
    /// Cached pages when the job ended; `None` if the kernel does not report them.
    pub pages: Option<u64>,
    /// Cached pages just before the first I/O, after the job had opened its files and dropped their pages; `None`
    /// if the kernel does not report them.
    #[serde(default)]
    pub at_start: Option<u64>,
}

/// Time that the load generator itself needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// Shares of the time of all threads; `None` if it could not be sampled.
    pub shares: Option<TimeShares>,
    /// Why `shares` is `None`, in words.
    pub why_none: Option<String>,
    /// Shares of the threads' time by group and job name, in the order of the run.
    pub jobs: Vec<JobShares>,
    /// IOPS of each group if storage took no time (`--ceiling`).
    pub ceilings: Vec<Ceiling>,
}

/// How the threads of all jobs with one name in a group spent their time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobShares {
    /// The group.
    pub group_id: u32,
    /// The name of the jobs.
    pub name: String,
    /// Shares of their time.
    pub shares: TimeShares,
}

/// The highest rate of a group of jobs: its rate on `ioengine=null`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The group.
    pub group_id: u32,
    /// I/Os per second of all its jobs together on `ioengine=null`.
    pub iops: f64,
    /// I/Os per second of all its jobs together in the run itself.
    pub reached: f64,
}

impl Ceiling {
    /// The share of the ceiling that the run reached, from 0 to about 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.reached / self.iops.max(1.0)
    }
}

/// The bandwidth of a group, all directions together, per CPU core.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreBandwidth {
    /// The group's number.
    pub group_id: u32,
    /// Processor cores that the run could use.
    pub cores: u64,
    /// Bytes a second.
    pub bw: u64,
    /// Bytes per second and core.
    pub bw_per_core: f64,
}

/// A result compared with the manufacturer's specification.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpecReport {
    /// The I/O pattern, a value of `rw`.
    pub pattern: String,
    /// The target's path, or the number of targets.
    pub target: String,
    /// The specified rate, I/Os or bytes per second.
    pub stated: f64,
    /// The measured rate, I/Os or bytes per second.
    pub achieved: f64,
    /// The rates are bytes per second, not I/Os per second.
    pub bytes: bool,
}

impl SpecReport {
    /// The measured rate as a percentage of the specified one; 0 if none is specified.
    #[must_use]
    pub fn percent(&self) -> f64 {
        if self.stated > 0.0 { self.achieved * 100.0 / self.stated } else { 0.0 }
    }
}

/// The clock of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReport {
    /// Name of the clock source: `tsc`, `clock_monotonic` …
    pub source: String,
    /// Cost of one clock read, ns.
    pub cost_ns: f64,
    /// Resolution of the clock, ns.
    pub resolution_ns: f64,
}

/// A row of a job's report: one direction, or all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirKind {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Trims.
    Trim,
    /// All together (`unified_rw_reporting`).
    Mixed,
}

impl From<Dir> for DirKind {
    fn from(dir: Dir) -> Self {
        match dir {
            Dir::Read => DirKind::Read,
            Dir::Write => DirKind::Write,
            Dir::Trim => DirKind::Trim,
        }
    }
}

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unified {
    /// Each direction separately.
    #[default]
    Separate,
    /// Only the sum.
    Mixed,
    /// Each direction, and the sum.
    Both,
}

/// How numbers are formatted in output for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberStyle {
    /// `significant_figures`: 1 to 10.
    pub figures: u32,
    /// `kb_base`: 1024 or 1000.
    pub kb_base: u32,
    /// `unit_base`: true prints rates in bits (1), false in bytes (8).
    pub bits: bool,
}

impl Default for NumberStyle {
    fn default() -> Self {
        NumberStyle { figures: 4, kb_base: 1024, bits: false }
    }
}

impl JobReport {
    /// I/Os issued in the directions of a row, including those that failed.
    #[must_use]
    pub fn issued_in(&self, kind: DirKind) -> u64 {
        match kind {
            DirKind::Read => self.issued[0],
            DirKind::Write => self.issued[1],
            DirKind::Trim => self.issued[2],
            DirKind::Mixed => self.issued[..3].iter().sum(),
        }
    }
    /// Whether the job issued any I/O.
    #[must_use]
    pub fn did_io(&self) -> bool {
        self.issued_in(DirKind::Mixed) > 0 || self.dirs.iter().any(|d| d.io_bytes > 0)
    }
}

/// One job entry of the report: a job, or several jobs that were merged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// The name.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// The run status group of the entry.
    pub group_id: u32,
    /// Number of jobs in this entry.
    pub members: u32,
    /// Thread id of the first job.
    pub pid: u32,
    /// When the job began, milliseconds since 1970 or of the clock of `job_start_clock_id`.
    pub start_ms: u64,
    /// errno of the error that ended the job, else of the first error that it survived
    /// (`continue_on_error`), else 0: no error.
    pub error: i32,
    /// An error ended a job of this entry.
    #[serde(default)]
    pub failed: bool,
    /// Meaning of `error` and where it occurred, in words; empty without an error.
    pub error_text: String,
    /// Estimated seconds left; `None` if unknown.
    pub eta_s: Option<u64>,
    /// Seconds since the run began; a started second counts as a whole one.
    pub elapsed_s: u64,
    /// Options of the job: name and value, in the order of the job file.
    pub options: Vec<(String, String)>,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// The percentages of the reported percentiles, ascending; empty if neither completion nor total
    /// latencies have percentiles.
    pub percentile_list: Vec<f64>,
    /// Decimals of those percentages in the percentile block.
    pub percentile_decimals: u32,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// Rows for read, write, trim and mixed, as far as `unified` shows them; idle directions too.
    pub dirs: Vec<DirReport>,
    /// Syncs.
    pub sync: SyncReport,
    /// Run time, ms; the sum if the entry has several jobs.
    pub runtime_ms: u64,
    /// User time, percent of the runtime.
    pub usr_cpu: f64,
    /// System time, percent of the runtime.
    pub sys_cpu: f64,
    /// Context switches.
    pub ctx: u64,
    /// Page faults that needed I/O.
    pub majf: u64,
    /// Page faults without I/O.
    pub minf: u64,
    /// Percent of I/Os issued at depth 1, 2-3, 4-7, … 64 and more.
    pub depth_level: [f64; 7],
    /// Percent of submission calls with 0, 1-4, 5-8 … more than 64 I/Os.
    pub depth_submit: [f64; 7],
    /// Percent of completion calls with 0, 1-4, 5-8 … more than 64 I/Os.
    pub depth_complete: [f64; 7],
    /// I/Os issued: read, write, trim, sync.
    pub issued: [u64; 4],
    /// I/Os that were short: read, write, trim, sync.
    pub short: [u64; 4],
    /// I/Os dropped: read, write, trim, sync.
    pub dropped: [u64; 4],
    /// Percent of I/Os under 2, 4, 10 … 1000 ns.
    pub latency_ns: [f64; 10],
    /// Percent of I/Os under 2, 4, 10 … 1000 µs.
    pub latency_us: [f64; 10],
    /// Percent of I/Os under 2 µs, including those under 1000 ns.
    pub latency_under_2us: f64,
    /// Percent of I/Os under 2, 4, 10 … 2000 ms, and over.
    pub latency_ms: [f64; 12],
    /// Errors survived; `None` without `continue_on_error`.
    pub errors: Option<ErrorReport>,
    /// `iodepth`, or the depth that `latency_target` found.
    pub latency_depth: u32,
    /// `latency_target`, ns.
    pub latency_target_ns: u64,
    /// `latency_percentile`.
    pub latency_percentile: f64,
    /// `latency_window`, µs.
    pub latency_window_us: u64,
    /// `steadystate`; `None` if it is not set.
    pub steady_state: Option<SteadyState>,
    /// Zones that were reset; `None` if the target is not zoned.
    pub zone_resets: Option<u64>,
    /// Times that a job which reads zones found no zone with data and therefore ended its pass over a file.
    #[serde(default)]
    pub nothing_to_read: u64,
    /// Latency from the time at which each I/O was due, ns, for rows that have a rate. Unlike completion
    /// latency, it includes the delay of I/Os that were due while the device stalled (coordinated omission).
    #[serde(default)]
    pub intended: Vec<(DirKind, LatencySummary)>,
    /// Delays of the job's threads that the machine caused.
    #[serde(default)]
    pub delays: ThreadDelays,
}

/// Errors that a job survived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// Number of errors.
    pub total: u64,
    /// errno of the first error.
    pub first: i32,
    /// Meaning of `first`, in words.
    pub first_text: String,
}

/// One direction of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirReport {
    /// The direction.
    pub kind: DirKind,
    /// Bytes moved.
    pub io_bytes: u64,
    /// Bytes per second.
    pub bw_bytes: u64,
    /// I/Os per second.
    pub iops: f64,
    /// Time in which the job did I/O in this direction, ms.
    pub runtime_ms: u64,
    /// I/Os completed.
    pub total_ios: u64,
    /// I/Os that moved fewer bytes than requested.
    pub short_ios: u64,
    /// I/Os dropped.
    pub drop_ios: u64,
    /// Submission latency, ns.
    pub slat: LatencySummary,
    /// Completion latency, ns.
    pub clat: LatencySummary,
    /// Total latency, ns.
    pub lat: LatencySummary,
    /// Latency by priority; empty if all I/Os have the same priority.
    #[serde(default)]
    pub priorities: Vec<PriorityReport>,
    /// Bandwidth samples, KiB/s.
    pub bw_samples: RateSummary,
    /// IOPS samples.
    pub iops_samples: RateSummary,
}

/// The I/Os of one priority.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PriorityReport {
    /// Priority class: 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// Priority level: 0 (highest) to 7.
    pub level: u8,
    /// Priority hint: 0 to 1023.
    pub hint: u16,
    /// True if `latency` is the total latency, false if it is the completion latency.
    pub total: bool,
    /// Latency, ns.
    pub latency: LatencySummary,
}

/// A series of latencies, ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub stddev: f64,
    /// Number of values.
    pub n: u64,
    /// Percentage and value; empty if not requested or if nothing was recorded.
    pub percentiles: Vec<(f64, u64)>,
    /// Value and count of each histogram bucket in use; empty if `percentiles` is empty.
    pub bins: Vec<(u64, u64)>,
}

/// A series of rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RateSummary {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Mean as a percentage of the group's aggregate bandwidth; only for bandwidth.
    pub agg: f64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub dev: f64,
    /// Number of samples.
    pub samples: u64,
}

/// Completed fsync, fdatasync, sync_file_range and syncfs calls.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Syncs completed.
    pub total_ios: u64,
    /// Latency of the syncs, ns.
    pub lat: LatencySummary,
}

/// The quantity that `steadystate` checks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyMeasure {
    /// I/Os per second.
    #[default]
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// The mean completion latency.
    Latency,
}

/// The rule by which `steadystate` decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum SteadyKind {
    /// Largest deviation from the mean.
    #[default]
    Deviation,
    /// Slope of the least squares line.
    Slope,
    /// Range (the criterion) and slope over the window, as in the SNIA test specification.
    Pts {
        /// Rise of the least squares line over the window, in percent of the mean.
        slope_percent: f64,
    },
}

/// Result of `steadystate`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// The criterion as the report names it: `iops:50.000000%`.
    pub spec: String,
    /// The quantity that was checked.
    pub measure: SteadyMeasure,
    /// The rule.
    pub kind: SteadyKind,
    /// The criterion is a percentage.
    pub percent: bool,
    /// `steadystate_duration`, seconds.
    pub duration_s: u64,
    /// The job reached steady state.
    pub attained: bool,
    /// The value that is compared with the limit, in the unit of the limit.
    pub criterion: f64,
    /// Largest deviation from the mean.
    pub max_deviation: f64,
    /// Slope of the least squares line.
    pub slope: f64,
    /// Mean bandwidth, bytes per second.
    pub bw_mean: u64,
    /// Mean IOPS.
    pub iops_mean: u64,
    /// Mean completion latency, ns.
    pub lat_mean: u64,
    /// IOPS of each interval, oldest first.
    pub iops_data: Vec<u64>,
    /// Bandwidth of each interval, bytes per second, oldest first.
    pub bw_data: Vec<u64>,
    /// Mean completion latency of each interval, ns, oldest first.
    pub lat_data: Vec<u64>,
    /// Intervals of the window that are missing because the job ended earlier.
    #[serde(default)]
    pub missing: usize,
}

/// A run status group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Number of the group.
    pub id: u32,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// Directions in which the group did I/O.
    pub dirs: Vec<GroupDir>,
}

/// One direction of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupDir {
    /// The direction.
    pub kind: DirKind,
    /// Bytes of all jobs divided by the longest run time, bytes per second.
    pub agg_bw: u64,
    /// Bandwidth of the slowest job, bytes per second.
    pub min_bw: u64,
    /// Bandwidth of the fastest job, bytes per second.
    pub max_bw: u64,
    /// Bytes moved.
    pub io_bytes: u64,
    /// Shortest runtime, ms.
    pub min_run_ms: u64,
    /// Longest runtime, ms.
    pub max_run_ms: u64,
}

/// Activity of a block device during the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Kernel name.
    pub name: String,
    /// Counters of the device.
    pub counts: DiskCounts,
    /// Means over the member devices (device mapper, md, multipath); `None` if there are none.
    pub aggregate: Option<DiskCounts>,
    /// The member devices.
    pub members: Vec<DiskReport>,
}

/// Differences of a block device's counters over the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskCounts {
    /// Reads, writes.
    pub ios: [u64; 2],
    /// Sectors of 512 bytes.
    pub sectors: [u64; 2],
    /// Merged I/Os.
    pub merges: [u64; 2],
    /// Time spent, ms.
    pub ticks: [u64; 2],
    /// Weighted time in queue, ms.
    pub in_queue: u64,
    /// Percent of the run in which the device was busy.
    pub util: f64,
}

impl DiskCounts {
    /// Means over the members, and the highest utilisation, as fio aggregates them. `None` without members.
    #[must_use]
    pub fn aggregate(members: &[DiskReport]) -> Option<DiskCounts> {
        let n = members.len() as u64;
        if n == 0 {
            return None;
        }
        let mut sum = DiskCounts::default();
        for c in members.iter().map(|m| &m.counts) {
            for i in 0..2 {
                sum.ios[i] += c.ios[i];
                sum.sectors[i] += c.sectors[i];
                sum.merges[i] += c.merges[i];
                sum.ticks[i] += c.ticks[i];
            }
            sum.in_queue += c.in_queue;
            sum.util = sum.util.max(c.util);
        }
        let mean = |v: [u64; 2]| v.map(|x| x / n);
        Some(DiskCounts {
            ios: mean(sum.ios),
            sectors: mean(sum.sectors),
            merges: mean(sum.merges),
            ticks: mean(sum.ticks),
            in_queue: sum.in_queue / n,
            util: sum.util,
        })
    }
}
