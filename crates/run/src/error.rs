//! Why a job ended early.

use std::path::PathBuf;

use fiord_engine::DeviceStatus;
use fiord_sys::errno;

/// What stopped one job. The others go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    /// The errno, positive; 0 if the cause is none.
    pub errno: i32,
    /// What was being done, as a user would call it: "read", "open", "fsync", "set-up of io_uring".
    pub op: &'static str,
    /// The file, if one is meant.
    pub file: Option<PathBuf>,
    /// The byte offset, if one is meant.
    pub offset: Option<u64>,
    /// What the device said, if it was the one that failed: `errno` is then made of it.
    pub status: Option<DeviceStatus>,
    /// What happened and what to do about it, without the parts above. May be empty.
    pub detail: String,
}

impl JobError {
    /// An error without a file.
    pub fn new(op: &'static str, errno: i32, detail: impl Into<String>) -> Self {
        JobError { errno, op, file: None, offset: None, status: None, detail: detail.into() }
    }

    /// Names the file.
    pub fn at(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }
}

impl JobError {
    /// The errno that reports and scripts see: a cause without one counts as `EIO`, so that a job
    /// that failed never shows 0.
    pub fn reported_errno(&self) -> i32 {
        const EIO: i32 = 5;
        if self.errno == 0 { EIO } else { self.errno }
    }
}

impl std::fmt::Display for JobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} failed", self.op)?;
        if let Some(file) = &self.file {
            write!(f, " on {}", file.display())?;
        }
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset}")?;
        }
        if let Some(status) = self.status {
            write!(f, ": {status}")?;
        } else if self.errno != 0 {
            write!(f, ": {} ({})", errno::text(self.errno), errno::name(self.errno))?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for JobError {}
