//! The settings of a job that its report needs.

use serde::{Deserialize, Serialize};

use fiord_types::Nanos;

use crate::report::*;
use crate::time_units::Micros;

/// The settings of a job that the report needs in addition to its recorded data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobSettings {
    pub name: String,
    /// The run status group.
    pub group_id: u32,
    /// `group_reporting`: the job shares the entry of the previous job if both are in the same group, even if the
    /// previous job lacks `group_reporting`.
    pub group_reporting: bool,
    pub description: Option<String>,
    /// Options as written in the job file, without the global ones.
    pub options: Vec<(String, String)>,
    /// `continue_on_error` is set, so the report shows the errors survived.
    pub continue_on_error: bool,
    /// `percentile_list`, ascending.
    pub percentiles: Vec<f64>,
    /// Decimals of the printed percentages: the most that any percentage in the list needs (2 for the default
    /// list).
    pub percentile_decimals: u32,
    pub slat_percentiles: bool,
    pub clat_percentiles: bool,
    pub lat_percentiles: bool,
    /// `unified_rw_reporting`.
    pub unified: Unified,
    /// `significant_figures`, `kb_base`, `unit_base`.
    pub style: NumberStyle,
    /// `latency_target`.
    #[serde(rename = "latency_target_ns")]
    pub latency_target: Nanos,
    pub latency_percentile: f64,
    /// `latency_window`, in whole microseconds.
    #[serde(rename = "latency_window_us", with = "Micros")]
    pub latency_window: Nanos,
    /// The default I/O priority of the job's I/Os in the kernel's encoding
    /// ([`crate::priority::PriorityRecorder::ioprio`]); 0: none.
    pub ioprio: u16,
    /// `stats`: false leaves the job out of the report.
    pub stats: bool,
}

/// The default of `percentile_list`.
pub const DEFAULT_PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

impl Default for JobSettings {
    fn default() -> Self {
        JobSettings {
            name: String::new(),
            group_id: 0,
            group_reporting: false,
            description: None,
            options: Vec::new(),
            continue_on_error: false,
            percentiles: DEFAULT_PERCENTILES.to_vec(),
            percentile_decimals: 2,
            slat_percentiles: false,
            clat_percentiles: true,
            lat_percentiles: false,
            unified: Unified::Separate,
            style: NumberStyle::default(),
            latency_target: Nanos::ZERO,
            latency_percentile: 100.0,
            latency_window: Nanos::ZERO,
            ioprio: 0,
            stats: true,
        }
    }
}
