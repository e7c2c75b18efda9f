//! Executes a plan: file layout, workers, the inner loop and the monitor. It creates the report and emits
//! events, but prints nothing.
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
//! | the inner loop | `worker/` |
//! | where in a zone an I/O goes (`zonemode=zbd`) | `zones/` |
//! | rates over windows, the live line, disk counters | `monitor/` |
//! | how do counters become the report | `report.rs` |
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
mod guard;
mod jobthread;
mod layout;
mod lock;
mod monitor;
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
mod worker;
mod zones;

pub use conductor::{Interrupt, Interrupts, NoInterrupts, RunOptions, RunResult, run};
