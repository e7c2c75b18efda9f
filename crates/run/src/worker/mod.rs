//! One job instance on one thread: set-up, the inner loop, the end.
//!
//! | question | module |
//! |---|---|
//! | which layers does the engine of a job get | [`run`] (`entry.rs`) |
//! | which loop, source and payload does a job get | `setup.rs` |
//! | how the engine of a job is created | `engines.rs` |
//! | what happens now and then: run time, ramp, stop, counters, errors | `core/` |
//! | the inner loops | `loops/` |
//! | how ops of the source translate to those of the engine and the recorder | `ops.rs` |
//! | features that follow individual I/Os, such as rates and zones | `hooks/` |
//! | engines behind a pointer, and layers around them | `layers.rs` |
//! | which warnings follow from what a job did to raw flash | `flash.rs` |
//! | how files are locked around each I/O (`lockfile`) | `locked.rs` |
//! | how each I/O is traced (`--debug=io`) | `traced.rs` |
//!
//! [`run`] picks the engine, the source and the mode once. The plain loops are compiled for each
//! combination that matters, so they have no test for what a job does not use. Loops with hooks are
//! compiled once for each engine, and rare code once for all engines.

mod core;
mod engines;
mod entry;
mod flash;
mod hooks;
mod layers;
mod locked;
mod loops;
mod ops;
mod setup;
#[cfg(test)]
pub(crate) mod tests;
mod traced;

use std::sync::Arc;

use fiord_stat::samples::WindowLimit;

use crate::debug::DebugOutput;
use crate::logs::LogChannel;
use crate::trace::iolog::Iologs;
use crate::trace::replay::TraceMerges;
use crate::verify::VerifyServices;

pub(crate) use entry::run;

/// Receives lines about errors, from any thread.
pub(crate) type ErrorDump = Arc<dyn Fn(String) + Send + Sync>;

/// What a worker needs from the rest of the run.
pub(crate) struct RunServices<'a> {
    /// Called when everything is set up.
    pub ready: &'a dyn Fn(),
    /// Receives the lines of `--debug`.
    pub debug: Option<&'a DebugOutput>,
    /// Receives a line for each error that the job survives (`error_dump`).
    pub error_dump: ErrorDump,
    /// What verification needs.
    pub verify: VerifyServices<'a>,
    /// The merged traces of the run (`merge_blktrace_file`).
    pub merges: &'a TraceMerges,
    /// The logs of I/Os of the run (`write_iolog`).
    pub iologs: &'a Iologs,
    /// What the job and the writer of logs share; `None`: the job has no logs.
    pub log: Option<&'a Arc<LogChannel>>,
    /// How many windows the samples of the job may have.
    pub windows: WindowLimit,
}
