//! How idle the CPUs were (`--idle-prof`).

use serde::{Deserialize, Serialize};

/// How idle the CPUs were during the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuIdleness {
    /// Idle share of all CPUs together, in per cent.
    pub system: f64,
    /// Idle share of each CPU, in per cent, with the number of the CPU. Empty unless `--idle-prof=percpu`.
    pub cpus: Vec<(u64, f64)>,
    /// The calibration before the run.
    pub unit: UnitWork,
}

/// Time of a unit of work, which touches each byte of a page of 4096 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct UnitWork {
    /// Mean over the CPUs, microseconds.
    pub mean_us: f64,
    /// Standard deviation, microseconds.
    pub stddev_us: f64,
}
