//! Executes a plan: file layout, workers, the inner loop and the monitor. It creates the report and emits
//! events, but prints nothing.
//!
//! # Example
//!
//! A second of random reads on the simulated device, which needs no file and runs on a virtual clock:
//!
//! ```
//! use std::sync::Arc;
//!
//! use fiord_plan::machine::system::SystemFacts;
//! use fiord_run::events::EventSender;
//! use fiord_run::{NoInterrupts, RunOptions, run};
//!
//! let line = ["--name=a", "--ioengine=sim", "--rw=randread", "--size=1m", "--runtime=1s", "--time_based"];
//! let invocation = fiord_job::invocation(&line.map(String::from), &mut fiord_job::load::MachineLoader).unwrap();
//! let plan = fiord_plan::resolve_invocation(&invocation, &SystemFacts).unwrap().plan;
//!
//! let options = RunOptions::new("fiord");
//! let result = run(Arc::new(plan), &options, &EventSender::ignored(), &mut NoInterrupts, &mut || {});
//! // The simulated device takes 100 us for each I/O.
//! assert_eq!(result.report.jobs[0].dirs[0].total_ios, 10_000);
//! ```
//!
//! | question | module |
//! |---|---|
//! | in which directory does a test write | `scratch` |
//! | in which stage did a job fail, and why | [`error`] |
//! | which events does a run emit | [`events`] |
//! | what does `--debug` print about a run | [`debug`] |
//! | how idle were the CPUs (`--idle-prof`) | [`idleness`] |
//! | where the bytes of a job's writes come from | `content` |
//! | which maps do jobs share that verify a target | `maps` |
//! | where in a zone an I/O goes (`zonemode=zbd`) | `zones/` |
//! | which files does a run lay out, open, guard and lock | `files/` |
//! | which I/Os are recorded and replayed (`write_iolog`, `read_iolog`) | `trace/` |
//! | how are logs written during the run (`write_bw_log`) | `logs/` |
//! | what a feature sees and decides that follows individual I/Os | `hook` |
//! | what has a worker measured | `worker_result` |
//! | how is a job controlled, which settings does its thread get | `job/` |
//! | how are writes verified (`verify`, `verify_journal`) | `verify/` |
//! | the inner loop | `worker/` |
//! | what do the conductor and the threads of the jobs share | `shared` |
//! | rates over windows, the live line, disk counters | `monitor/` |
//! | how do counters become the report | `results/` |
//! | in what order does everything happen | `conductor/` |
//! | what would the jobs reach if storage took no time (`--ceiling`) | [`ceiling`] |
//!
//! Each module uses only those above it in this table, which a test of `xtask` checks.

#![forbid(unsafe_code)]

pub mod ceiling;
mod conductor;
mod content;
pub mod debug;
pub mod error;
pub mod events;
mod files;
mod hook;
pub mod idleness;
mod job;
mod logs;
mod maps;
mod monitor;
mod results;
#[cfg(test)]
mod scratch;
mod shared;
mod trace;
mod verify;
mod worker;
mod worker_result;
mod zones;

pub use conductor::{
    Interrupt, Interrupts, NoInterrupts, RunOptions, RunResult, StartGate, Trigger, run,
};
pub use files::kept::{FileKeeper, KeptFile};
pub use fiord_engine::Targets;
pub use job::command::command_output;
pub use trace::replay;
pub use trace::replay::write_merged;
