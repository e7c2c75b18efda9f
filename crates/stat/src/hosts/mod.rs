//! The results of a run on many hosts.
//!
//! | question | module |
//! |---|---|
//! | what is a host, and which storage does it use | `facts` |
//! | how well is its clock known, and why has it no complete result | `state` |

mod facts;
mod state;

pub use facts::{HostFacts, HostTarget};
pub use state::{ClockError, HostFailure, HostStage};
