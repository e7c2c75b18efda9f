//! From an invocation to its report: reads the jobs, plans them, surveys the machine, runs the plan and collects the
//! findings. It prints nothing: a caller receives the events of the run, and the report at its end.
//!
//! | question | module |
//! |---|---|
//! | which steps lead from the invocation to the report | [`prepared`] |
//! | what does a report say of jobs that were refused | `refused.rs` |
//! | when is the machine surveyed for findings | `survey.rs` |
//! | what is this machine, in a report | `machine.rs` |
//! | what does `fiord check` do | [`mod@check`] |
//! | what introduces the jobs before a run | [`introduction`] |
//! | how do Ctrl-C and SIGUSR1 reach the run | [`signals`] |
//! | which file triggers a report | [`status_file`] |
//! | which connections between hosts need keys | [`protection`] |
//! | how does this machine run jobs for a coordinator elsewhere | [`agent`] |
//! | how does it coordinate jobs on other machines | [`coordinator`] |
//!
//! ```
//! use fiord_app::{Prepared, RunSettings};
//! use fiord_job::load::MachineLoader;
//! use fiord_run::NoInterrupts;
//! use fiord_run::events::EventSender;
//! use fiord_types::Bytes;
//!
//! let line = ["--name=a", "--ioengine=null", "--size=1m", "--rw=read"].map(String::from);
//! let invocation = fiord_job::invocation(&line, &mut MachineLoader).unwrap();
//! let jobs = Prepared::of(&invocation).unwrap();
//! let outcome = jobs.run(RunSettings::default(), &EventSender::ignored(), &mut NoInterrupts, &|| false);
//! assert_eq!(outcome.report.jobs[0].dirs[0].io_bytes, Bytes(1 << 20));
//! ```

#![forbid(unsafe_code)]

pub mod agent;
pub mod check;
pub mod coordinator;
pub mod introduction;
mod machine;
mod peer_ends;
pub mod prepared;
pub mod protection;
mod refused;
pub mod signals;
pub mod status_file;
mod survey;

pub use check::{CheckedJobs, check};
pub use prepared::{Prepared, RunEnd, RunOutcome, RunSettings};
pub use refused::refused;
