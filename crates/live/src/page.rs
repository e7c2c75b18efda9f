//! The pages of the view.

use fiord_types::{HostIndex, JobIndex};

/// A page of the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LivePage {
    /// The whole run, with its hosts, or with the jobs of this machine.
    Overview,
    /// One host, with its jobs.
    Host(HostIndex),
    Job(HostIndex, JobIndex),
    Findings,
    Help,
}
