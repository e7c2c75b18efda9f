//! One job instance on one thread: set-up, the inner loop, the end.
//!
//! | question | module |
//! |---|---|
//! | which loop, engine, source and content does a job get | [`setup`](self) (`setup.rs`) |
//! | what is checked now and then: run time, ramp, stop, live counters | `session.rs` |
//! | the loop of engines that complete each I/O at once | `direct.rs` |
//! | the loop of engines that have many I/Os in flight | `queued.rs` |
//! | how files are locked around each I/O (`lockfile`) | `locked.rs` |
//! | how each I/O is traced (`--debug=io`) | `traced.rs` |
//! | what happens when an I/O fails, and what is said of it | `failure.rs` |
//! | when is the next I/O due: rates, pauses, flows, limits on latency | `pacing.rs` |
//! | how the loops wait for it | `paced.rs` |
//! | I/Os that zones decide the place of | `zoned.rs` |
//! | what a source says, in the engine's and the recorder's words | `ops.rs` |
//! | which slots are free, which ops are in flight | `slots.rs` |
//! | what the thread's time goes to | `shares.rs` |
//! | flushing and closing at the end of a job | `finish.rs` |
//!
//! [`run`] picks the engine, the source and the measuring axes once; the loop is compiled for each
//! combination that matters, so the plain path has no test for what a job does not use.

mod direct;
mod failure;
mod finish;
mod locked;
mod ops;
mod paced;
mod pacing;
mod queued;
mod session;
mod setup;
mod shares;
mod slots;
#[cfg(test)]
mod tests;
mod traced;
mod zoned;

use std::path::Path;
use std::sync::Arc;

use fiord_engine::Target;
use fiord_stat::delays::ThreadDelays;
use fiord_stat::recorder::Recorder;
use fiord_stat::shares::TimeShares;
use fiord_sys::usage::Usage;

use crate::error::JobError;
use crate::lock::FileLock;
use crate::zones::{Counts, Owner};

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
    fn zones(&self) -> Result<Vec<Arc<Owner>>, JobError> {
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
