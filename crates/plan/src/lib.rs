//! Turns job specifications and facts about the machine into an immutable [`Plan`].
//!
//! This crate resolves every size, file, group, unit and default. Later stages never read an option
//! by name, and this crate never does I/O on a target.
//!
//! [`resolve`] is the entry point. It calls the modules of one directory for each subject; the head
//! of every directory has a table from question to module.
//!
//! | question | directory |
//! |---|---|
//! | what is in a plan? | [`model`] |
//! | how are options read, and where do errors and warnings go? | `options/` |
//! | what does the planner know about the machine? | [`machine`] |
//! | which I/Os does a job do, in which order, with which contents? | `load/` |
//! | which files does a job use, how large are they, and may the job use them? | `files/` |
//! | which engine does a job use, and with which of its options? | `engine/` |
//! | which trace does a job replay, and where does it record its I/Os? | `replay/` |
//! | what does a job measure, and how is it reported? | `measure/` |
//! | when does a job start and end, and how fast is it? | `schedule/` |
//! | what does a job verify, and how? | `verify/` |
//! | which options have no effect on a job? | `unused/` |
//! | how do these make a plan, and which combinations of options are refused? | `resolve` |
//!
//! Each directory uses only those above it in this table, which a test of `xtask` checks.
//!
//! ```
//! use fiord_plan::machine::system::SystemFacts;
//! use fiord_types::Bytes;
//!
//! let arguments = ["--name=a", "--ioengine=null", "--rw=randread", "--size=1m", "--runtime=2s", "--numjobs=2"];
//! let arguments = arguments.map(String::from);
//! let invocation = fiord_job::invocation(&arguments, &mut fiord_job::load::MachineLoader).unwrap();
//! let plan = fiord_plan::resolve_invocation(&invocation, &SystemFacts).unwrap().plan;
//!
//! assert_eq!(plan.jobs.len(), 2);
//! let job = &plan.jobs[0];
//! assert!(job.load.random);
//! assert_eq!(job.target.files[0].len, Bytes::from_mib(1));
//! ```

#![forbid(unsafe_code)]

mod engine;
mod files;
mod load;
pub mod machine;
mod measure;
pub mod model;
mod options;
mod replay;
mod resolve;
mod schedule;
mod unused;
mod verify;

pub use files::share::HostShare;
pub use load::distribution::skew_of;
pub use machine::facts::{Facts, Found, FoundKind, NotScsi, Passthrough, ScsiDisk, ZoneFacts};
pub use measure::listing::{JobListing, listings};
pub use measure::log::{ExpectedLog, expected_logs};
pub use model::*;
pub use options::verification::fio_method;
pub use replay::merges;
pub use resolve::{
    PlanOptions, Resolved, resolve, resolve_connected, resolve_invocation, resolve_with,
};
pub use schedule::trigger::wrong_with_hosts;

#[cfg(test)]
mod tests;
