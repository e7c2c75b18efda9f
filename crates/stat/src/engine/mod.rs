//! What engines count about a job beside its I/Os.
//!
//! An engine fills an [`EngineReport`] when the job ends. The report of a job has it as an [`EngineSummary`], and both are
//! written and read by serde, so a new count is a field or a name here, its text in the reports, and a line in the engine.
//!
//! | question | module |
//! |---|---|
//! | which faults did a simulated device inject? | `faults` |
//! | what did a job do to raw flash? | `flash` |
//! | what limited a job's connections? | `network` |
//! | how often did an io_uring wake its submission thread? | `ring` |
//! | how many requests did a job send, and how soon did answers begin? | `requests` |

mod faults;
mod flash;
mod network;
mod requests;
mod ring;

use serde::{Deserialize, Serialize};

pub use faults::{FaultEntry, FaultReport, FaultWord};
pub use flash::{FlashCount, FlashCounts};
pub use network::{ConnectionReport, InterfaceReport, NetworkReport, TcpReport};
pub use requests::{AnswerCount, AnswerTimes, RequestCount, RequestCounts, RequestSummary};
pub use ring::RingCounts;

/// What the engine of a job counted. Its keys are those below `"fiord"` in the JSON of a job.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineCounts<R> {
    /// Faults that the simulated device injected (`sim_faults`); `None` if it has none.
    #[serde(rename = "injected_faults", skip_serializing_if = "Option::is_none")]
    pub faults: Option<FaultReport>,
    /// The connections; `None` if the engine uses no network.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkReport>,
    /// Erases and errors of raw flash; `None` if the engine uses none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flash: Option<FlashCounts>,
    /// Requests to servers; `None` if the engine sends none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<R>,
    /// The io_uring; `None` if it has no submission thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ring: Option<RingCounts>,
}

/// What an engine counted, in a form that can be merged.
pub type EngineReport = EngineCounts<Box<RequestCounts>>;

/// What the engines of an entry of the report counted.
pub type EngineSummary = EngineCounts<RequestSummary>;

impl EngineReport {
    /// Adds what the engine of another job counted.
    pub fn merge(&mut self, other: &EngineReport) {
        if let Some(faults) = &other.faults {
            self.faults.get_or_insert_default().merge(faults);
        }
        if let Some(network) = &other.network {
            self.network.get_or_insert_default().merge(network);
        }
        if let Some(flash) = &other.flash {
            self.flash.get_or_insert_default().merge(flash);
        }
        if let Some(requests) = &other.requests {
            self.requests.get_or_insert_default().merge(requests);
        }
        if let Some(ring) = &other.ring {
            self.ring.get_or_insert_default().merge(ring);
        }
    }

    /// Computes percentiles from the times of the requests.
    #[must_use]
    pub fn summarise(&self) -> EngineSummary {
        EngineCounts {
            faults: self.faults.clone(),
            network: self.network.clone(),
            flash: self.flash,
            requests: self.requests.as_deref().map(RequestSummary::of),
            ring: self.ring,
        }
    }
}
