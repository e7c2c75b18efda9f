//! `fiord trace`: summarizes a trace of I/Os, and writes a job that approximates it.
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | which files belong to a trace | `open` |
//! | which properties do its I/Os have | [`profile`] |
//! | which job makes similar I/Os, and how similar are they | [`approximate`] |
//! | what is in the summary | `summary` |
//! | how are the summary and the job file shown | `table`, `json`, `job_file` |

pub mod approximate;
pub mod args;
mod error;
mod job_file;
mod json;
mod open;
pub mod profile;
mod run;
mod summary;
mod table;

#[cfg(test)]
mod tests;

pub use args::TraceArgs;
pub use error::TraceCommandError;
pub use run::run;
pub use summary::{TargetSummary, TraceSummary};
