//! The report: everything a format prints, as pure data. Numbers are final; a format only lays
//! them out.

use serde::{Deserialize, Serialize};

use crate::course::Course;
use crate::delays::ThreadDelays;
use crate::device::DeviceView;
use crate::finding::{Finding, RunWarning, Unchecked};
use crate::shares::TimeShares;
use crate::slices::SliceTable;

/// The version of this data model; grows when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// Everything one run (or, with `--status-interval`, the run so far) came to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`] of the writer.
    pub schema: u32,
    /// Who wrote it: begins with `fio-3.42`, then names fiord.
    pub version: String,
    /// When, milliseconds since 1970 (UTC).
    pub unix_ms: u64,
    /// Seconds to add to UTC for local time at that moment.
    pub utc_offset_s: i32,
    /// Options of the global sections, name and text, in the order typed.
    pub global_options: Vec<(String, String)>,
    /// One entry a job, or a group of jobs under `group_reporting`.
    pub jobs: Vec<JobReport>,
    /// The run status groups.
    pub groups: Vec<GroupReport>,
    /// Devices under the targets.
    pub disks: Vec<DiskReport>,
    /// What fio does not have.
    pub extras: Extras,
}

/// What fiord adds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Extras {
    /// The clock that the latencies were taken with.
    pub clock: Option<ClockReport>,
    /// What the generator itself takes.
    #[serde(default)]
    pub generator: Option<GeneratorReport>,
    /// The bandwidth of groups by core, where a job asks for it.
    #[serde(default)]
    pub per_core: Vec<CoreBandwidth>,
    /// Latencies by slice, with what they were judged to be (`latency_limits`).
    #[serde(default)]
    pub slices: Vec<SliceTable>,
    /// Results beside what makers state (`spec`).
    #[serde(default)]
    pub spec: Vec<SpecReport>,
    /// What the devices under the targets saw of it.
    #[serde(default)]
    pub devices: Vec<DeviceView>,
    /// What makes the result not worth believing.
    pub findings: Vec<Finding>,
    /// What the run could not do as asked. Each becomes a finding.
    #[serde(default)]
    pub warnings: Vec<RunWarning>,
    /// Findings that could not be looked for.
    #[serde(default)]
    pub unchecked: Vec<Unchecked>,
    /// How each job of the plan went, in its order; of jobs on a clock of their own nothing.
    #[serde(default)]
    pub courses: Vec<Course>,
    /// Pages in the page cache of what jobs with `direct=1` held open when they began and were done.
    #[serde(default)]
    pub cached: Vec<CachedUnderDirect>,
    /// Jobs still run: `--status-interval` or a signal asked for this report.
    #[serde(default)]
    pub interim: bool,
}

/// Pages in the page cache of a file or device that a job used with `direct=1`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CachedUnderDirect {
    /// Index of the job in the plan.
    pub job: usize,
    /// The file's index among those of the job.
    pub file: usize,
    /// Pages in memory when the job was done; `None` where the kernel does not say.
    pub pages: Option<u64>,
    /// The same before its first I/O, when the job had opened everything and dropped what it could.
    #[serde(default)]
    pub at_start: Option<u64>,
}

/// What the generator itself takes of the time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GeneratorReport {
    /// Shares of all threads' time; `None` where they could not be sampled.
    pub shares: Option<TimeShares>,
    /// Why there are none, in words.
    pub why_none: Option<String>,
    /// The same by group and job name, in the order of the run.
    pub jobs: Vec<JobShares>,
    /// What each group would reach if storage took no time (`--ceiling`).
    pub ceilings: Vec<Ceiling>,
}

/// What the time of the threads of one name went to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobShares {
    /// The group.
    pub group_id: u32,
    /// The jobs' name.
    pub name: String,
    /// Shares of their time.
    pub shares: TimeShares,
}

/// What a group of jobs reaches on `ioengine=null`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// The group.
    pub group_id: u32,
    /// I/Os a second, all its jobs together.
    pub iops: f64,
    /// What they reached in the run itself.
    pub reached: f64,
}

impl Ceiling {
    /// How much of it the run itself reached: 1 is all.
    pub fn share(&self) -> f64 {
        self.reached / self.iops.max(1.0)
    }
}

/// The bandwidth of a group, all directions together, beside the cores that it had.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CoreBandwidth {
    /// The group's number.
    pub group_id: u32,
    /// Processor cores that the run could use.
    pub cores: u64,
    /// Bytes a second.
    pub bw: u64,
    /// Bytes a second and core.
    pub bw_per_core: f64,
}

/// A result beside what the maker of the device states.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SpecReport {
    /// The pattern, a word of `rw`.
    pub pattern: String,
    /// The target.
    pub target: String,
    /// What is stated, a second.
    pub stated: f64,
    /// What was measured, a second.
    pub achieved: f64,
    /// Bytes, not I/Os.
    pub bytes: bool,
}

impl SpecReport {
    /// What was measured in per cent of what is stated.
    pub fn percent(&self) -> f64 {
        if self.stated > 0.0 { self.achieved * 100.0 / self.stated } else { 0.0 }
    }
}

/// The clock of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockReport {
    /// `tsc`, `clock_monotonic` …
    pub source: String,
    /// What one read costs, ns.
    pub cost_ns: f64,
    /// The smallest step seen, ns.
    pub resolution_ns: f64,
}

/// Which row of a report.
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

/// `unified_rw_reporting`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unified {
    /// Each direction for itself.
    #[default]
    Separate,
    /// Only the sum.
    Mixed,
    /// Each, and the sum.
    Both,
}

/// How numbers are printed for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberStyle {
    /// `significant_figures`: 1 to 10.
    pub figures: u32,
    /// `kb_base`: 1024 or 1000.
    pub kb_base: u32,
    /// `unit_base`: rates in bits (1) instead of bytes (8).
    pub bits: bool,
}

impl Default for NumberStyle {
    fn default() -> Self {
        NumberStyle { figures: 4, kb_base: 1024, bits: false }
    }
}

impl JobReport {
    /// I/Os issued in the directions of a row, those that failed as well.
    pub fn issued_in(&self, kind: DirKind) -> u64 {
        match kind {
            DirKind::Read => self.issued[0],
            DirKind::Write => self.issued[1],
            DirKind::Trim => self.issued[2],
            DirKind::Mixed => self.issued[..3].iter().sum(),
        }
    }
    /// Whether it issued any I/O.
    pub fn did_io(&self) -> bool {
        self.issued_in(DirKind::Mixed) > 0 || self.dirs.iter().any(|d| d.io_bytes > 0)
    }
}

/// One printed job: a job, or several that were merged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// The name.
    pub name: String,
    /// `description`.
    pub description: Option<String>,
    /// The run status group it belongs to.
    pub group_id: u32,
    /// Jobs in this entry.
    pub members: u32,
    /// Process (thread) id of the first.
    pub pid: u32,
    /// When it began, milliseconds since 1970 or of the clock of `job_start_clock_id`.
    pub start_ms: u64,
    /// errno of the error that ended the job, else of the first error that it survived
    /// (`continue_on_error`), else 0.
    pub error: i32,
    /// An error ended the job, or one of several in this entry.
    #[serde(default)]
    pub failed: bool,
    /// What `error` means and where it arose, in words; empty without an error.
    pub error_text: String,
    /// Seconds left; `None` when it is not known or the job has ended.
    pub eta_s: Option<u64>,
    /// Seconds since the run began, started ones count.
    pub elapsed_s: u64,
    /// Its options, name and text, in the order typed.
    pub options: Vec<(String, String)>,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// The percentages that are reported, ascending; empty where neither completion nor total
    /// latencies have percentiles.
    pub percentile_list: Vec<f64>,
    /// Decimals of those percentages in the percentile block.
    pub percentile_decimals: u32,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// Read, write, trim and mixed: those which the format shows, idle ones too.
    pub dirs: Vec<DirReport>,
    /// Syncs.
    pub sync: SyncReport,
    /// Time it ran, ms; of several jobs the sum.
    pub runtime_ms: u64,
    /// User time, percent of the runtime.
    pub usr_cpu: f64,
    /// System time, percent of the runtime.
    pub sys_cpu: f64,
    /// Context switches.
    pub ctx: u64,
    /// Page faults that needed I/O.
    pub majf: u64,
    /// Page faults that did not.
    pub minf: u64,
    /// Percent of I/Os issued at depth 1, 2-3, 4-7, … 64 and more.
    pub depth_level: [f64; 7],
    /// Percent of submitting calls with 0, 1-4, 5-8 … more than 64 I/Os.
    pub depth_submit: [f64; 7],
    /// Percent of completing calls likewise.
    pub depth_complete: [f64; 7],
    /// I/Os issued: read, write, trim, sync.
    pub issued: [u64; 4],
    /// I/Os that were short, likewise.
    pub short: [u64; 4],
    /// I/Os dropped, likewise.
    pub dropped: [u64; 4],
    /// Percent of I/Os under 2, 4, 10 … 1000 ns.
    pub latency_ns: [f64; 10],
    /// Percent of I/Os under 2, 4, 10 … 1000 µs.
    pub latency_us: [f64; 10],
    /// Percent of I/Os under 2 µs, nanoseconds included.
    pub latency_under_2us: f64,
    /// Percent of I/Os under 2, 4, 10 … 2000 ms, and over.
    pub latency_ms: [f64; 12],
    /// Errors survived, where `continue_on_error` is set.
    pub errors: Option<ErrorReport>,
    /// `iodepth`, or what `latency_target` found.
    pub latency_depth: u32,
    /// `latency_target`, ns.
    pub latency_target_ns: u64,
    /// `latency_percentile`.
    pub latency_percentile: f64,
    /// `latency_window`, µs.
    pub latency_window_us: u64,
    /// `steadystate`, where it is set.
    pub steady_state: Option<SteadyState>,
    /// Zones that were reset, where the target is zoned.
    pub zone_resets: Option<u64>,
    /// Times that a job which reads zones found none with data, and was done with a file.
    #[serde(default)]
    pub nothing_to_read: u64,
    /// Latency from the moment at which each I/O was due, ns: rows that have a rate. What is late
    /// because the device stalled, and not only the I/O that it stalled on, shows here.
    #[serde(default)]
    pub intended: Vec<(DirKind, LatencySummary)>,
    /// What its threads lost to the machine.
    #[serde(default)]
    pub delays: ThreadDelays,
}

/// Errors survived.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorReport {
    /// How many.
    pub total: u64,
    /// errno of the first.
    pub first: i32,
    /// What that means, in words.
    pub first_text: String,
}

/// One direction of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirReport {
    /// Which.
    pub kind: DirKind,
    /// Bytes moved.
    pub io_bytes: u64,
    /// Bytes a second.
    pub bw_bytes: u64,
    /// I/Os a second.
    pub iops: f64,
    /// Time in which it was done, ms.
    pub runtime_ms: u64,
    /// I/Os completed.
    pub total_ios: u64,
    /// I/Os that moved less than asked for.
    pub short_ios: u64,
    /// I/Os dropped.
    pub drop_ios: u64,
    /// Submission latency, ns.
    pub slat: LatencySummary,
    /// Completion latency, ns.
    pub clat: LatencySummary,
    /// Total latency, ns.
    pub lat: LatencySummary,
    /// Latency by priority, where I/Os of more than one were counted.
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
    /// 0 none, 1 real time, 2 best effort, 3 idle.
    pub class: u8,
    /// 0 (first) to 7.
    pub level: u8,
    /// 0 to 1023.
    pub hint: u16,
    /// The latencies are total latencies, not completion latencies.
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
    /// How many.
    pub n: u64,
    /// Percentage and value; empty where not asked for or nothing was recorded.
    pub percentiles: Vec<(f64, u64)>,
    /// Value and count of each histogram bucket in use; empty where percentiles are.
    pub bins: Vec<(u64, u64)>,
}

/// A series of rates.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct RateSummary {
    /// Smallest.
    pub min: u64,
    /// Largest.
    pub max: u64,
    /// Percent of the group's aggregate (bandwidth only).
    pub agg: f64,
    /// Mean.
    pub mean: f64,
    /// Sample standard deviation.
    pub dev: f64,
    /// Samples.
    pub samples: u64,
}

/// fsync, fdatasync, sync_file_range and syncfs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SyncReport {
    /// Syncs completed.
    pub total_ios: u64,
    /// Their latency.
    pub lat: LatencySummary,
}

/// What `steadystate` judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum SteadyMeasure {
    /// I/Os a second.
    #[default]
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// The mean completion latency.
    Latency,
}

/// How it judges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum SteadyKind {
    /// By the largest deviation from the mean.
    #[default]
    Deviation,
    /// By the slope of the least squares line.
    Slope,
    /// By range (the criterion) and slope over five rounds.
    Pts {
        /// What the line rises over the window, in per cent of the mean.
        slope_percent: f64,
    },
}

/// `steadystate`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// The criterion as the report names it: `iops:50.000000%`.
    pub spec: String,
    /// What was judged.
    pub measure: SteadyMeasure,
    /// How.
    pub kind: SteadyKind,
    /// The criterion is a percentage.
    pub percent: bool,
    /// `steadystate_duration`, seconds.
    pub duration_s: u64,
    /// Reached.
    pub attained: bool,
    /// What was reached, in the criterion's own unit.
    pub criterion: f64,
    /// Largest deviation from the mean.
    pub max_deviation: f64,
    /// Slope of the least squares line.
    pub slope: f64,
    /// Mean of the bandwidth, bytes/s.
    pub bw_mean: u64,
    /// Mean of the IOPS.
    pub iops_mean: u64,
    /// Mean of the completion latency, ns.
    pub lat_mean: u64,
    /// IOPS of each interval, oldest first.
    pub iops_data: Vec<u64>,
    /// Bytes a second of each interval, oldest first.
    pub bw_data: Vec<u64>,
    /// Mean completion latency of each interval, ns, oldest first.
    pub lat_data: Vec<u64>,
    /// Intervals of the window that the job did not reach.
    #[serde(default)]
    pub missing: usize,
}

/// A run status group.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// Its number.
    pub id: u32,
    /// How numbers are printed.
    pub style: NumberStyle,
    /// Directions in which something was done.
    pub dirs: Vec<GroupDir>,
}

/// One direction of a group.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GroupDir {
    /// Which.
    pub kind: DirKind,
    /// Bytes a second, all jobs over the longest runtime.
    pub agg_bw: u64,
    /// Bytes a second of the slowest job.
    pub min_bw: u64,
    /// Bytes a second of the fastest.
    pub max_bw: u64,
    /// Bytes.
    pub io_bytes: u64,
    /// Shortest runtime, ms.
    pub min_run_ms: u64,
    /// Longest runtime, ms.
    pub max_run_ms: u64,
}

/// What a block device did during the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskReport {
    /// Kernel name.
    pub name: String,
    /// Its counters.
    pub counts: DiskCounts,
    /// Means over its members, where it is made of others (device mapper, md, multipath).
    pub aggregate: Option<DiskCounts>,
    /// Those members.
    pub members: Vec<DiskReport>,
}

/// Counters of a block device, differences over the run.
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
    /// Percent of the run in which it was busy.
    pub util: f64,
}

impl DiskCounts {
    /// Mean over members (the busiest's utilisation), as the reference aggregates.
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
