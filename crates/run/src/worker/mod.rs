//! One job instance on one thread: set-up, the inner loop, the end.
//!
//! [`run`] is generic only at its leaves: it picks the engine, the source and the measuring axes
//! once, and the loop is compiled for each combination that matters.

use fiord_engine::Target;

use crate::error::JobError;

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
    /// `unlink_each_loop`: every file is closed; remove the regular ones, they are made again when
    /// opened.
    fn next_loop(&mut self) -> Result<(), JobError>;
    /// Its path, for messages.
    fn path(&self, file: u32) -> &std::path::Path;
}
