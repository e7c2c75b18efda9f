//! What a run on many hosts ended with. The reports are made of it.

pub use fiord_stat::hosts::{ClockError, HostFailure, HostStage};
use fiord_stat::job::JobData;
use fiord_stat::live::Totals;
use fiord_stat::report::Report;
use fiord_types::Nanos;

use crate::message::{Ended, HostFacts, HostJobs};

/// Everything that all hosts sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostsOutcome {
    /// The hosts, in the order of their ranks.
    pub hosts: Vec<HostOutcome>,
    /// When the jobs were to start, by the monotonic clock of the coordinator. `None` if the run never came so far.
    pub start: Option<Nanos>,
    /// The number of the signal that ended the run.
    pub signal: Option<i32>,
}

/// What one host sent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HostOutcome {
    /// Name of the host as the user wrote it.
    pub name: String,
    /// The TCP port of its agent. `None` if it was reached in another way.
    pub port: Option<u16>,
    /// What the host is. `None` if it was never reached.
    pub facts: Option<HostFacts>,
    /// Jobs of the host. `None` if it never came so far.
    pub checked: Option<HostJobs>,
    /// How its clock relates to the coordinator's. `None` if they were not compared.
    pub clock: Option<ClockError>,
    /// The raw data of its jobs, in the order of the plan. Incomplete for a host that was lost.
    pub data: Vec<JobData>,
    /// What its jobs had done when it last said so. `None` if it never did.
    pub seen: Option<Totals>,
    /// Report of the host. `None` if it was lost before.
    pub report: Option<Report>,
    /// How its run ended. `None` if it was lost before.
    pub ended: Option<Ended>,
    /// When its jobs proceeded to their first I/O, by the monotonic clock of the coordinator.
    pub started: Vec<Nanos>,
    /// When its last job ended, by that clock.
    pub finished: Option<Nanos>,
    /// Why nothing more came from it.
    pub failure: Option<HostFailure>,
}
