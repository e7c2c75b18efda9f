//! What is measured, and how it is reported.

use super::Stated;

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
    /// `generator_shares`: samples what the thread's time goes to.
    pub shares: bool,
    /// `percentile_list`, ascending.
    pub percentiles: Vec<f64>,
    /// Decimals with which they are printed: as many as the finest was typed with.
    pub percentile_decimals: u32,
    /// `latency_limits`.
    pub slices: Option<LatencySlices>,
    /// `clocksource`.
    pub clock: ClockSource,
    /// `gtod_cpu`: this CPU does nothing but keep the time.
    pub clock_cpu: Option<u32>,
    /// `job_start_clock_id`: the clock of `job_start` in JSON.
    pub start_clock_id: Option<i32>,
}

/// `latency_limits` and its family: what share of the I/Os of each slice may take how long.
#[derive(Debug, Clone, PartialEq)]
pub struct LatencySlices {
    /// `latency_test`: jobs of a group that have the same name, slices and limits are judged
    /// together.
    pub name: String,
    /// `latency_slice`, ns.
    pub length: u64,
    /// Times, ns, ascending, and the per cent of the I/Os that more than each must stay below.
    pub limits: Vec<(u64, f64)>,
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
    /// `spec`: what the maker of the device states.
    pub spec: Vec<Stated>,
    /// `ignore_findings`: what is not told about this job.
    pub ignore_findings: Vec<String>,
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
