//! The time that the load generator itself needs.

use serde::{Deserialize, Serialize};

use crate::shares::StageShares;

/// Time that the load generator itself needs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratorReport {
    /// Shares of the time of all threads; `None` if it could not be sampled.
    #[serde(rename = "time_shares", skip_serializing_if = "Option::is_none")]
    pub shares: Option<StageShares>,
    /// Why `shares` is `None`, in words.
    #[serde(rename = "no_time_shares", skip_serializing_if = "Option::is_none")]
    pub why_none: Option<String>,
    /// Shares of the threads' time by group and job name, in the order of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<JobShares>,
    /// IOPS of each group if storage took no time (`--ceiling`).
    #[serde(rename = "ceiling", skip_serializing_if = "Vec::is_empty")]
    pub ceilings: Vec<Ceiling>,
}

/// How the threads of all jobs with one name in a group spent their time.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobShares {
    #[serde(rename = "groupid")]
    pub group_id: u32,
    #[serde(rename = "jobname")]
    pub name: String,
    /// Shares of their time.
    #[serde(flatten)]
    pub shares: StageShares,
}

/// The highest rate of a group of jobs: its rate on `ioengine=null`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ceiling {
    #[serde(rename = "groupid")]
    pub group_id: u32,
    /// I/Os per second of all its jobs together on `ioengine=null`.
    pub iops: f64,
    /// I/Os per second of all its jobs together in the run itself.
    #[serde(rename = "reached_iops")]
    pub reached: f64,
}

impl Ceiling {
    /// The share of the ceiling that the run reached, from 0 to about 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.reached / self.iops.max(1.0)
    }
}
