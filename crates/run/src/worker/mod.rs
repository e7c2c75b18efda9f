//! One job instance on one thread: set-up, the inner loop, the end.
//!
//! | question | module |
//! |---|---|
//! | which loop, engine, source and payload does a job get | [`setup`](self) (`setup.rs`) |
//! | what happens now and then: run time, ramp, stop, counters, errors | `core/` |
//! | the inner loops | `loops/` |
//! | features that follow individual I/Os: pacing, zones | `hooks/` |
//! | how files are locked around each I/O (`lockfile`) | `locked.rs` |
//! | how each I/O is traced (`--debug=io`) | `traced.rs` |
//!
//! [`run`] picks the engine, the source and the mode once. The plain loops are compiled for each
//! combination that matters, so they have no test for what a job does not use. Everything else is
//! compiled once for each engine.

mod core;
mod hooks;
mod locked;
mod loops;
mod setup;
#[cfg(test)]
mod tests;
mod traced;

use std::path::Path;
use std::sync::Arc;

use fiord_engine::Target;
use fiord_stat::delays::ThreadDelays;
use fiord_stat::recorder::Recorder;
use fiord_stat::shares::TimeShares;
use fiord_sys::usage::Usage;

use crate::error::JobError;
use crate::lock::FileLock;
use crate::zones::{Counts, ZoneTable};

pub(crate) use setup::keeps_many;
pub use setup::run;

/// The files of a job as the worker needs them: opened once and held, unless the job has fewer
/// `openfiles` than files.
pub trait Files {
    /// How many files the job has.
    fn count(&self) -> u32;
    /// Opens a file (or hands out the one that is open).
    fn open(&mut self, file: u32) -> Result<Target, JobError>;
    /// Lets go of a file. The engine has detached it.
    fn close(&mut self, file: u32) -> Result<(), JobError>;
    /// After the last file of the set-up was opened: drop cached pages (`invalidate`).
    fn ready(&mut self) -> Result<(), JobError>;
    /// All jobs that start together are ready, and the first I/O is next: drop what others have read
    /// into the page cache meanwhile, and count what is left.
    fn starting(&mut self) -> Result<(), JobError> {
        Ok(())
    }
    /// Drops the cached pages of an open file that the job begins anew.
    fn forget_pages(&mut self, _file: u32) -> Result<(), JobError> {
        Ok(())
    }
    /// `unlink_each_loop`: every file is closed; remove the regular ones, they are made again when
    /// opened.
    fn next_loop(&mut self) -> Result<(), JobError>;
    /// `end_syncfs`: `syncfs(2)` on the file system of every regular file, once each.
    fn sync_file_systems(&mut self) -> Result<(), JobError>;
    /// Its path, for messages.
    fn path(&self, file: u32) -> &Path;
    /// The lock of each file, where the job has `lockfile`.
    fn locks(&self) -> Vec<Arc<FileLock>> {
        Vec::new()
    }
    /// The owner of the zones of each file, where the job has `zonemode=zbd`.
    fn zones(&self) -> Result<Vec<Arc<ZoneTable>>, JobError> {
        Ok(Vec::new())
    }
}

/// What a job instance did.
#[derive(Debug)]
pub struct WorkerResult {
    /// What was measured.
    pub recorder: Recorder,
    /// What ended it early, if anything did.
    pub error: Option<JobError>,
    /// The first error that it survived (`continue_on_error`).
    pub survived: Option<JobError>,
    /// Time that was measured, ns of the engine's clock: from the end of the ramp to the last
    /// completion or flush.
    pub runtime_ns: u64,
    /// What the thread used in that time.
    pub usage: Usage,
    /// What the thread lost to the machine in that time.
    pub delays: ThreadDelays,
    /// What the thread's time went to, as far as samples tell.
    pub shares: Option<TimeShares>,
    /// The depth that `latency_target` came to.
    pub depth_found: Option<u32>,
    /// What it did to zones (`zonemode=zbd`).
    pub zones: Option<Counts>,
}
