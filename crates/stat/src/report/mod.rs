//! The report: everything that an output format prints, as plain data. All numbers are final; a format only
//! arranges them.

mod direction;
mod disk;
mod extras;
mod generator;
mod group;
mod idleness;
mod job;
mod machine;
mod steady;

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

pub use direction::{DirKind, DirReport, LatencySummary, PriorityReport, RateSummary};
pub use disk::{DiskCounts, DiskReport};
pub use extras::{
    CachedUnderDirect, ClockReport, CoreBandwidth, Extras, RunStop, SpecReport, StopCause,
};
pub use fiord_types::SteadyMeasure;
pub use generator::{Ceiling, GeneratorReport, JobShares};
pub use group::{GroupDir, GroupReport};
pub use idleness::{CpuIdleness, UnitWork};
pub use job::{ErrorReport, JobReport, SyncReport, Unified};
pub use machine::{DeviceFacts, MachineReport};
pub use steady::{SteadyKind, SteadyState};

use crate::samples::Samples;

/// The version of this data model. It increases when a field changes its meaning.
pub const SCHEMA: u32 = 1;

/// The results of one run, or of a run so far (`--status-interval`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`] of the program that wrote the report.
    pub schema: u32,
    /// The program that wrote the report: starts with `fio-3.42`, then names fiord.
    pub version: String,
    /// When the report was written, in whole milliseconds since 1970 (UTC).
    pub written: Nanos,
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
    /// What each job of the plan did in windows of time, in plan order and without latencies. Empty in a report that was
    /// read.
    #[serde(default)]
    pub courses: Vec<Samples>,
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
