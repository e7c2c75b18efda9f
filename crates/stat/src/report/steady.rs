//! The result of `steadystate`.

use fiord_types::{Bytes, Nanos, SteadyMeasure};
use serde::{Deserialize, Serialize};

use crate::time_units::Seconds;

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
    pub kind: SteadyKind,
    /// The criterion is a percentage.
    pub percent: bool,
    /// `steadystate_duration`, in whole seconds.
    #[serde(rename = "duration_s", with = "Seconds")]
    pub duration: Nanos,
    /// The job reached steady state.
    pub attained: bool,
    /// The value that is compared with the limit, in the unit of the limit.
    pub criterion: f64,
    /// Largest deviation from the mean.
    pub max_deviation: f64,
    /// Slope of the least squares line.
    pub slope: f64,
    /// Mean bandwidth, bytes per second.
    pub bw_mean: Bytes,
    pub iops_mean: u64,
    /// Mean completion latency.
    pub lat_mean: Nanos,
    /// IOPS of each interval, oldest first.
    pub iops_data: Vec<u64>,
    /// Bandwidth of each interval, bytes per second, oldest first.
    pub bw_data: Vec<Bytes>,
    /// Mean completion latency of each interval, oldest first.
    pub lat_data: Vec<Nanos>,
    /// Intervals of the window that are missing because the job ended earlier.
    #[serde(default)]
    pub missing: usize,
}
