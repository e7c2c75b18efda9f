//! Why a job ended early.

use std::path::PathBuf;

use fiord_engine::DeviceStatus;
use fiord_plan::FilePlan;
use fiord_sys::errno;
use fiord_sys::nvme::Status;

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

impl JobError {
    /// The file and what was done to it, as reports show them; `-` stands for no file.
    pub fn site(&self) -> (String, String) {
        let file = self.file.as_ref().map_or("-".into(), |path| path.display().to_string());
        (file, self.op.to_owned())
    }

    /// What went wrong in a few words: the device's, or those of the errno.
    pub fn meaning(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => words(self.reported_errno()),
        }
    }
}

/// What the number of an error means. Statuses of NVMe stand in place of errnos, as in fio, and most
/// of them (with their Do Not Retry bit) are larger than any errno is.
pub(crate) fn words(errno: i32) -> String {
    const MAX_ERRNO: i32 = 4095;
    match u16::try_from(errno) {
        Ok(status) if errno > MAX_ERRNO => Status(status).to_string(),
        _ => errno::text(errno),
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

/// A system call on a file that failed.
pub(crate) fn failed(op: &'static str, plan: &FilePlan, error: &fiord_sys::Error) -> JobError {
    let detail = error.said.as_deref().or(error.advice()).unwrap_or_default();
    JobError::new(op, error.errno, detail).at(&plan.path)
}

#[cfg(test)]
mod tests {
    use fiord_engine::Outcome;

    use super::*;

    #[test]
    fn a_drives_status_is_named() {
        let mut error = JobError::new("write", 0x41bc, "use zonemode=zbd").at("/dev/ng0n1");
        error.status = Outcome::nvme(0x41bc).device_status();
        error.offset = Some(4096);
        let name = "Zone Invalid Write (NVMe command specific status BCh, do not retry)";
        assert_eq!(error.meaning(), name);
        assert_eq!(
            error.to_string(),
            format!("write failed on /dev/ng0n1 at offset 4096: {name}: use zonemode=zbd")
        );
        assert_eq!(error.reported_errno(), 16828);
        assert_eq!(words(16828), name);
        assert_eq!(words(5), "Input/output error");
    }
}
