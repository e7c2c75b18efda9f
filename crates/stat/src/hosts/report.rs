//! The report of a run on many hosts.

use fiord_types::{Bytes, HostIndex, Nanos};
use serde::{Deserialize, Serialize};

use super::facts::{HostFacts, HostTarget};
use super::state::{ClockError, HostFailure};
use crate::maps::is_default;
use crate::report::Report;
use crate::time_units::Millis;
use crate::zero_one;

/// The name of the entry that contains the jobs of all hosts. fio uses it, too.
pub const ALL_CLIENTS: &str = "All clients";

/// The results of a run on many hosts. Its keys are those below `"fiord"` in JSON, apart from the jobs and extras in the
/// reports of the run and of the hosts. All numbers are final; a format only arranges them. All times are relative to the
/// time at which the jobs were to start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostsReport {
    /// The run as a whole: which program wrote the report, when, and the findings about several hosts. Its only job is the
    /// sum over all hosts ([`ALL_CLIENTS`]); it has none if the hosts have fewer than two entries together.
    #[serde(skip)]
    pub all: Report,
    /// No job ran on any host, because a host refused its jobs or could not prepare them.
    #[serde(with = "zero_one", skip_serializing_if = "is_default")]
    pub refused: bool,
    /// The connections were neither encrypted nor authenticated (`--insecure`).
    #[serde(with = "zero_one", skip_serializing_if = "is_default")]
    pub insecure: bool,
    /// The number of the signal that ended the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<i32>,
    /// How closely the hosts started. `None` unless two hosts or more did I/O.
    #[serde(flatten)]
    pub start: Option<HostsStart>,
    /// Rates while every host was running. `None` if there was no such time, or if it is unknown.
    #[serde(rename = "while_all_ran", skip_serializing_if = "Option::is_none")]
    pub together: Option<TogetherRate>,
    /// The hosts, in the order of their ranks.
    #[serde(skip_deserializing)]
    pub hosts: Vec<HostReport>,
    /// The user said that all hosts use the same targets (`--hosts-data=same`). Only findings depend on it.
    #[serde(skip)]
    pub shares_targets: bool,
}

impl HostsReport {
    /// Whether the totals lack results: those of a host that failed, or that never came so far. A run that was refused has
    /// no totals.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        !self.refused && self.hosts.iter().any(|host| !host.complete)
    }

    /// The hosts in the order in which they finished. Hosts without a complete result come last.
    #[must_use]
    pub fn by_finish(&self) -> Vec<&HostReport> {
        let mut hosts: Vec<&HostReport> = self.hosts.iter().collect();
        hosts.sort_by_key(|host| (!host.complete, host.finished.is_none(), host.finished));
        hosts
    }
}

/// The results of one host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostReport {
    /// Name of the host as the user wrote it.
    #[serde(rename = "hostname")]
    pub name: String,
    /// The TCP port of its agent. `None` if it was reached in another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// What the host is. `None` if it was never reached.
    #[serde(flatten)]
    pub facts: Option<HostFacts>,
    /// All its results arrived.
    #[serde(with = "zero_one")]
    pub complete: bool,
    /// The exit status that `fiord` would have had on that host. `None` if a signal ended the run, or if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u8>,
    /// Why nothing more came from it. Its time, too, is relative to the start, and 0 before it.
    #[serde(flatten)]
    pub failure: Option<HostFailure>,
    /// How many bytes its jobs had moved when it last said so. `None` if it never did, and if there is a total.
    #[serde(rename = "seen_io_bytes", skip_serializing_if = "Option::is_none")]
    pub seen: Option<Bytes>,
    /// What ended its jobs: messages without the name of the host.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// The files and devices that its jobs use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<HostTarget>,
    /// When its first job proceeded to its first I/O. `None` if unknown. Earlier than the time of the start becomes 0.
    #[serde(rename = "started_ns", skip_serializing_if = "Option::is_none")]
    pub started: Option<Nanos>,
    /// When its last job ended. `None` if unknown.
    #[serde(rename = "finished_ns", skip_serializing_if = "Option::is_none")]
    pub finished: Option<Nanos>,
    /// How well its clock is known. `None` if it was not compared.
    #[serde(flatten)]
    pub clock: Option<ClockError>,
    /// What its jobs did together. `None` without results.
    #[serde(flatten)]
    pub total: Option<HostTotal>,
    /// Report of the host, with its own findings. If the host was lost before, the report has the jobs whose results had
    /// arrived; `None` if there are none.
    #[serde(skip)]
    pub report: Option<Report>,
}

impl HostReport {
    /// The host's own name if it is known, else the one that the user wrote.
    #[must_use]
    pub fn own_name(&self) -> &str {
        self.facts.as_ref().map_or(&self.name, |facts| &facts.hostname)
    }
}

/// What all jobs of a host did together, all directions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct HostTotal {
    /// Bytes moved.
    #[serde(rename = "io_bytes")]
    pub bytes: Bytes,
    /// The run time: that of the longest job of each run status group, in whole milliseconds. Groups run one after another.
    #[serde(default, with = "Millis")]
    pub runtime: Nanos,
    /// I/Os per second of the run time.
    #[serde(default)]
    pub iops: f64,
    /// Bytes per second of the run time.
    #[serde(default, rename = "bw_bytes")]
    pub bw: Bytes,
}

/// How closely the hosts started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostsStart {
    /// Time between the earliest and the latest first I/O of a job that started with the run, on all hosts.
    #[serde(rename = "start_skew_ns")]
    pub skew: Nanos,
    /// The largest error of a host's clock: `skew` is exact up to twice this. `None` if a clock was not compared.
    #[serde(rename = "clock_error_ns", skip_serializing_if = "Option::is_none")]
    pub clock_error: Option<Nanos>,
    /// The host of the latest first I/O.
    #[serde(skip)]
    pub last: HostIndex,
    /// The host with the largest clock error.
    #[serde(skip)]
    pub worst_clock: HostIndex,
}

/// Rates of all hosts together from the latest start of a host to the earliest end of one.
///
/// A host starts when the measured part of its first job begins (after `ramp_time`), and ends when its last job ends. The
/// I/Os of this time come from the samples of the jobs, whose windows are 31 ms or longer; a window that is only partly
/// inside counts in proportion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TogetherRate {
    /// When the last host started.
    #[serde(rename = "begin_ns")]
    pub begin: Nanos,
    /// When the first host ended.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second.
    #[serde(rename = "bw_bytes")]
    pub bw: Bytes,
}
