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
//! | in what order does everything happen | `conductor.rs` |
//! | which job may start when, and which end together | `schedule.rs` |
//! | where the bytes of a job's writes come from | `content.rs` |
//! | which files are created before the run, and how | `layout/` |
//! | how is a file opened, advised, dropped from the cache | `files.rs` |
//! | which files may a job write, create and remove | `guard.rs` |
//! | how do jobs that share a file take turns (`lockfile`) | `lock.rs` |
//! | what happens on a job's thread before and after its I/O | `jobthread.rs` |
//! | CPU affinity, priorities, user of a job's thread | `thread.rs` |
//! | which clock times a job | `timebase.rs` |
//! | which files of a run does another machine keep | `kept.rs` |
//! | how are the I/Os of jobs recorded (`write_iolog`) | `iolog.rs` |
//! | how are logs written during the run (`write_bw_log`) | `logs/` |
//! | how is a trace read ahead of its replay (`read_iolog`) | `replay/` |
//! | the inner loop | `worker/` |
//! | what a feature sees and decides that follows individual I/Os | `hook.rs` |
//! | how are writes verified (`verify`, `verify_journal`) | `verify/` |
//! | where in a zone an I/O goes (`zonemode=zbd`) | `zones/` |
//! | rates over windows, the live line, disk counters | `monitor/` |
//! | how do counters become the report | `report.rs` |
//! | how idle were the CPUs (`--idle-prof`) | [`idleness`] |
//! | how does a result compare with `spec` | `specification.rs` |
//! | what would the jobs reach if storage took no time (`--ceiling`) | [`ceiling`] |
//! | when are results steady (`steadystate`) | `steady.rs` |
//! | which events does a run emit | [`events`] |
//! | in which stage did a job fail, and why | [`error`] |
//! | what does `--debug` print about a run | [`debug`] |

#![forbid(unsafe_code)]

pub mod ceiling;
mod command;
mod conductor;
mod content;
mod control;
pub mod debug;
pub mod error;
pub mod events;
mod files;
mod flash;
mod guard;
mod hook;
pub mod idleness;
mod iolog;
mod jobthread;
mod kept;
mod layout;
mod lock;
mod logs;
mod monitor;
mod network;
pub mod replay;
mod report;
mod schedule;
#[cfg(test)]
mod scratch;
mod shared;
mod slices;
mod space;
mod specification;
mod stage;
mod steady;
mod stuck;
mod thread;
mod timebase;
mod verify;
mod worker;
mod zones;

pub use command::command_output;
pub use conductor::{
    Interrupt, Interrupts, NoInterrupts, RunOptions, RunResult, StartGate, Trigger, run,
};
pub use fiord_engine::Targets;
pub use kept::{FileKeeper, KeptFile};
pub use replay::write_merged;
