//! One direction of a job, and the summaries of its samples.

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Dir, Nanos};

/// A row of a job's report: one direction, or all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DirKind {
    Read,
    Write,
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

/// One direction of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirReport {
    pub kind: DirKind,
    /// Bytes moved.
    pub io_bytes: Bytes,
    /// Bytes per second.
    pub bw: Bytes,
    /// I/Os per second.
    pub iops: f64,
    /// Time in which the job did I/O in this direction, in whole milliseconds.
    pub runtime: Nanos,
    /// I/Os completed.
    pub total_ios: u64,
    /// I/Os that moved fewer bytes than requested.
    pub short_ios: u64,
    /// I/Os dropped.
    pub drop_ios: u64,
    /// Submission latency.
    pub slat: LatencySummary,
    /// Completion latency.
    pub clat: LatencySummary,
    /// Total latency.
    pub lat: LatencySummary,
    /// Latency by priority; empty if all I/Os have the same priority.
    #[serde(default)]
    pub priorities: Vec<PriorityReport>,
    /// Bandwidth samples, KiB/s.
    pub bw_samples: RateSummary,
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
    pub latency: LatencySummary,
}

/// A series of latencies.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencySummary {
    /// Smallest.
    pub min: Nanos,
    /// Largest.
    pub max: Nanos,
    /// Mean, ns.
    pub mean: f64,
    /// Sample standard deviation, ns.
    pub stddev: f64,
    /// Number of values.
    pub n: u64,
    /// Percentage and value; empty if not requested or if nothing was recorded.
    pub percentiles: Vec<(f64, Nanos)>,
    /// Value and count of each histogram bucket in use; empty if `percentiles` is empty.
    pub bins: Vec<(Nanos, u64)>,
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
    pub mean: f64,
    /// Sample standard deviation.
    pub dev: f64,
    /// Number of samples.
    pub samples: u64,
}
