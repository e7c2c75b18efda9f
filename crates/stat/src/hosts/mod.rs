//! The results of a run on many hosts.
//!
//! | question | module |
//! |---|---|
//! | what is a host, and which storage does it use | `facts` |
//! | how well is its clock known, and why has it no complete result | `state` |
//! | what does the report of all hosts contain | `report` |
//! | how fast were they while every host was running | `together` |

mod facts;
mod report;
mod state;
mod together;

pub use facts::{HostFacts, HostTarget};
pub use report::{ALL_CLIENTS, HostReport, HostTotal, HostsReport, HostsStart, TogetherRate};
pub use state::{ClockError, HostFailure, HostStage};
pub use together::HostSpan;
