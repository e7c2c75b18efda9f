//! The error that ends a job early.

mod stage;

use std::path::PathBuf;

use fiord_engine::{DeviceStatus, EngineError};
use fiord_load::LoadError;
use fiord_plan::FilePlan;
use fiord_sys::nvme::Status;
use fiord_types::Errno;

pub use self::stage::Stage;

/// The error that stopped one job. Other jobs continue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobError {
    /// The errno; `None` if the cause has no errno. For an NVMe status it is the number of the status.
    pub errno: Option<Errno>,
    /// What the job did when it failed.
    pub stage: Stage,
    /// The file concerned, if any.
    pub file: Option<PathBuf>,
    /// The byte offset concerned, if any.
    pub offset: Option<u64>,
    /// The status that the device returned, if the device reported the error. `errno` is then derived from it.
    pub status: Option<DeviceStatus>,
    /// Further explanation and remedy, without the parts above. May be empty.
    pub detail: String,
}

impl JobError {
    /// An error without a file.
    pub fn new(stage: Stage, errno: impl Into<Option<Errno>>, detail: impl Into<String>) -> Self {
        let errno = errno.into();
        JobError { errno, stage, file: None, offset: None, status: None, detail: detail.into() }
    }

    /// Adds the file.
    pub fn at(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Sets the stage: an error that was converted has the stage in which its type is most common.
    #[must_use]
    pub fn during(mut self, stage: Stage) -> Self {
        self.stage = stage;
        self
    }

    /// The errno in reports: `EIO` if the cause has no errno, so that a failed job never shows 0.
    #[must_use]
    pub fn reported_errno(&self) -> Errno {
        self.errno.unwrap_or(Errno::EIO)
    }

    /// The file and the operation, as reports show them; `-` stands for no file.
    #[must_use]
    pub fn site(&self) -> (String, String) {
        let file = self.file.as_ref().map_or("-".into(), |path| path.display().to_string());
        (file, self.stage.word().to_owned())
    }

    /// Short text of the cause: the device's status, or the text of the errno.
    #[must_use]
    pub fn meaning(&self) -> String {
        match self.status {
            Some(status) => status.to_string(),
            None => words(self.reported_errno()),
        }
    }
}

/// The text of an error number. As in fio, it may be an NVMe status instead of an errno; most of these (with the
/// Do Not Retry bit) are larger than any errno.
#[must_use]
pub fn words(errno: Errno) -> String {
    const MAX_ERRNO: Errno = Errno::from_raw(4095);
    match u16::try_from(errno.raw()) {
        Ok(status) if errno > MAX_ERRNO => Status(status).to_string(),
        _ => errno.text(),
    }
}

impl std::fmt::Display for JobError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} failed", self.stage)?;
        if let Some(file) = &self.file {
            write!(f, " on {}", file.display())?;
        }
        if let Some(offset) = self.offset {
            write!(f, " at offset {offset}")?;
        }
        if let Some(status) = self.status {
            write!(f, ": {status}")?;
        } else if let Some(errno) = self.errno.filter(|errno| !self.detail.contains(errno.name())) {
            // An engine names the system call and its errno in the detail.
            write!(f, ": {errno}")?;
        }
        if !self.detail.is_empty() {
            write!(f, ": {}", self.detail)?;
        }
        Ok(())
    }
}

impl std::error::Error for JobError {}

/// The stage is the set-up of the engine; see [`JobError::during`] for later calls.
impl From<EngineError> for JobError {
    fn from(error: EngineError) -> JobError {
        JobError::new(Stage::EngineSetUp, error.errno, error.to_string())
    }
}

/// The stage is the set-up of the load.
impl From<LoadError> for JobError {
    fn from(error: LoadError) -> JobError {
        JobError::new(Stage::LoadSetUp, Errno::EINVAL, error.to_string())
    }
}

/// Creates the error of a failed system call on a file.
pub(crate) fn failed(stage: Stage, plan: &FilePlan, error: &fiord_sys::Error) -> JobError {
    let detail = error.said.as_deref().or(error.advice()).unwrap_or_default();
    JobError::new(stage, error.errno, detail).at(&plan.path)
}

#[cfg(test)]
mod tests {
    use fiord_engine::Outcome;

    use super::*;

    #[test]
    fn an_errno_is_named_once() {
        let what = format!("sqthread_poll: io_uring_setup: {}", Errno::EPERM);
        let refused = EngineError { what, help: None, errno: Some(Errno::EPERM) };
        let shown = JobError::from(refused).to_string();
        assert_eq!(shown.matches("(EPERM)").count(), 1, "{shown}");
        let plain = JobError::new(Stage::EngineSetUp, Errno::EPERM, "no ring").to_string();
        assert_eq!(plain.matches("(EPERM)").count(), 1, "{plain}");
    }

    #[test]
    fn an_engine_error_keeps_its_errno_and_gets_a_stage() {
        let refused =
            EngineError { what: "no ring".into(), help: None, errno: Some(Errno::ENOMEM) };
        let error = JobError::from(refused);
        assert_eq!((error.stage, error.errno), (Stage::EngineSetUp, Some(Errno::ENOMEM)));
        assert!(error.to_string().ends_with("(ENOMEM): no ring"), "{error}");
        assert_eq!(error.during(Stage::Submit).site(), ("-".into(), "submission".into()));
    }

    #[test]
    fn the_message_names_the_nvme_status() {
        let mut error = JobError::new(Stage::Write, Errno::from_raw(0x41bc), "use zonemode=zbd")
            .at("/dev/ng0n1");
        error.status = Outcome::nvme(0x41bc).device_status();
        error.offset = Some(4096);
        let name = "Zone Invalid Write (NVMe command specific status BCh, do not retry)";
        assert_eq!(error.meaning(), name);
        assert_eq!(
            error.to_string(),
            format!("write failed on /dev/ng0n1 at offset 4096: {name}: use zonemode=zbd")
        );
        assert_eq!(error.reported_errno(), Errno::from_raw(16828));
        assert_eq!(words(Errno::from_raw(16828)), name);
        assert_eq!(words(Errno::EIO), "Input/output error");
    }
}
