//! The files that a run lays out, opens, guards and locks.
//!
//! | question | module |
//! |---|---|
//! | which files are created before the run, and how | `layout/` |
//! | what does a worker ask of the files of its job | here |
//! | how is a file opened, advised, dropped from the cache | `set.rs` |
//! | which files may a job write, create and remove | `guard.rs` |
//! | how do jobs that share a file take turns (`lockfile`) | `lock.rs` |
//! | when does a job stop before its file system is full (`space_reserve`) | `space.rs` |
//! | which files of a run does another machine keep | `kept.rs` |

pub(crate) mod guard;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod set;
pub(crate) mod space;

use std::path::Path;
use std::sync::Arc;

use fiord_engine::Attachment;
use fiord_engine::sim::SharedDisk;
use fiord_types::FileIndex;

use self::lock::FileLock;
use crate::error::JobError;
use crate::zones::ZoneTable;

/// The files of a job, as the worker uses them. They are opened once and stay open, unless the job has fewer
/// `openfiles` than files.
pub(crate) trait Files {
    /// How many files the job has.
    fn count(&self) -> u32;
    /// Opens a file, or returns it if it is already open.
    fn open(&mut self, file: FileIndex) -> Result<Attachment, JobError>;
    fn is_open(&self, _file: FileIndex) -> bool {
        true
    }
    /// Closes a file. The engine has already detached it.
    fn close(&mut self, file: FileIndex) -> Result<(), JobError>;
    /// Drops cached pages (`invalidate`). Called after the last file of the set-up is open.
    fn ready(&mut self) -> Result<(), JobError>;
    /// Drops pages that other jobs have read into the page cache since, and counts the rest. Called just before the
    /// first I/O, when all jobs that start together are ready.
    fn starting(&mut self) -> Result<(), JobError> {
        Ok(())
    }
    /// Drops the cached pages of an open file before the job starts another pass over it.
    fn forget_pages(&mut self, _file: FileIndex) -> Result<(), JobError> {
        Ok(())
    }
    /// Closes all files and removes the regular ones (`unlink_each_loop`). The next open creates them again.
    fn next_loop(&mut self) -> Result<(), JobError>;
    /// Calls `syncfs(2)` once on each file system of the job's files (`end_syncfs`).
    fn sync_file_systems(&mut self) -> Result<(), JobError>;
    /// The path of a file, for messages.
    fn path(&self, file: FileIndex) -> &Path;
    /// The lock of each file; empty without `lockfile`.
    fn locks(&self) -> Vec<Arc<FileLock>> {
        Vec::new()
    }
    /// The contents of each file on a simulated device that stores data; empty for other engines.
    fn simulated(&self) -> Vec<SharedDisk> {
        Vec::new()
    }
    /// The zone table of each file; empty without `zonemode=zbd`.
    fn zones(&self) -> Result<Vec<Arc<ZoneTable>>, JobError> {
        Ok(Vec::new())
    }
}
