//! The state file: which rounds are done, and what the round in progress has done. It survives a power cut of the
//! machine, so that a later call resumes.

use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use fiord_sys::root::Root;
use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

use super::result::{CutKind, RoundResult};
use super::settings::{DeviceDifference, PowercutSettings};
use crate::state_file::{self, FileError};

/// Name of the file in the directory of the rounds.
pub const STATE_NAME: &str = "powercut.json";
/// Version of the file's format.
const VERSION: u32 = 1;

/// Why the state file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateProblem {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The directory cannot be created.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// There is none to resume from.
    #[error("there is no file {0}. To fix: name the powercut.json in the directory of the rounds")]
    Missing(PathBuf),
    /// The file has other contents.
    #[error(
        "{path} is not the state of fiord powercut: {source}. To fix: use another --dir, or --restart"
    )]
    NotAState { path: PathBuf, source: serde_json::Error },
    /// Another version of fiord wrote it.
    #[error(
        "{path} has the format of another version of fiord ({found}). To fix: use another --dir, or --restart"
    )]
    OtherFormat {
        path: PathBuf,
        /// Version of the format.
        found: Version,
    },
    /// The directory has rounds of an earlier call.
    #[error(
        "{dir} has rounds of an earlier call. To fix: continue with --resume={path}, name another --dir, or start \
         over with --restart",
        path = .dir.join(STATE_NAME).display(), dir = .dir.display()
    )]
    Exists { dir: PathBuf },
    /// The state belongs to another target.
    #[error("{path} is the state of {other}, not of {target}. To fix: name {other}, or no target", path = .path.display(),
        other = .other.display(), target = .target.display())]
    OtherTarget {
        /// The state file.
        path: PathBuf,
        /// The target of the state.
        other: PathBuf,
        /// The target on the command line.
        target: PathBuf,
    },
    /// The device at the path of the target is another one.
    #[error(
        "{target} is not the device of {path}: {difference}. To fix: connect the device of the rounds under this path",
        path = .path.display(), target = .target.display()
    )]
    OtherDevice {
        /// The state file.
        path: PathBuf,
        target: PathBuf,
        /// How the device differs.
        difference: DeviceDifference,
    },
}

/// Version of a format.
type Version = u32;

/// What the round in progress has done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RoundPhase {
    /// No round is in progress.
    Between,
    /// The writer runs, or has ended with the machine.
    Writing {
        /// Identifies the boot of the machine.
        boot: String,
        /// Process number of the writer.
        writer: u32,
    },
    /// The power was cut. It is left to restore it and to check.
    Cut {
        /// How it was cut.
        kind: CutKind,
        /// Time from the first write to the cut.
        after: Option<Nanos>,
    },
}

/// The contents of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Contents {
    version: Version,
    settings: PowercutSettings,
    phase: RoundPhase,
    /// Results of the rounds that are done.
    rounds: Vec<RoundResult>,
}

/// The state file and its contents.
#[derive(Debug)]
pub struct RoundsState {
    path: PathBuf,
    contents: Contents,
}

impl RoundsState {
    /// Creates the directory and the file of new rounds.
    ///
    /// # Errors
    /// The directory has rounds of an earlier call and `restart` is not set, or it cannot be written.
    pub fn create(
        dir: &Path,
        settings: PowercutSettings,
        restart: bool,
    ) -> Result<Self, StateProblem> {
        let path = dir.join(STATE_NAME);
        if !restart && path.exists() {
            return Err(StateProblem::Exists { dir: dir.into() });
        }
        FileGuard::generated().make_directories(dir)?;
        let contents =
            Contents { version: VERSION, settings, phase: RoundPhase::Between, rounds: Vec::new() };
        let state = RoundsState { path, contents };
        state.write()?;
        Ok(state)
    }

    /// Reads the file of interrupted rounds.
    ///
    /// # Errors
    /// There is no such file, or it has other contents.
    pub fn resume(path: &Path) -> Result<Self, StateProblem> {
        let wrong = |error| match error {
            FileError::Contents { path, source } => StateProblem::NotAState { path, source },
            other => StateProblem::File(other),
        };
        // The version comes first: the rest may differ between versions.
        let missing = || StateProblem::Missing(path.into());
        let any: Option<serde_json::Value> = state_file::read(path).map_err(wrong)?;
        let found = any.ok_or_else(missing)?["version"]
            .as_u64()
            .and_then(|found| Version::try_from(found).ok());
        if let Some(found) = found.filter(|found| *found != VERSION) {
            return Err(StateProblem::OtherFormat { path: path.into(), found });
        }
        let contents = state_file::read(path).map_err(wrong)?.ok_or_else(missing)?;
        Ok(RoundsState { path: path.into(), contents })
    }

    #[must_use]
    pub fn settings(&self) -> &PowercutSettings {
        &self.contents.settings
    }

    /// Results of the rounds that are done.
    #[must_use]
    pub fn rounds(&self) -> &[RoundResult] {
        &self.contents.rounds
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub fn dir(&self) -> &Path {
        self.path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
    }

    /// What the user does to continue.
    #[must_use]
    pub fn resume_command(&self) -> String {
        format!("run `fiord powercut --resume={}`", self.path.display())
    }

    /// What the round in progress has done.
    pub(super) fn phase(&self) -> &RoundPhase {
        &self.contents.phase
    }

    /// Saves what the round in progress has done.
    pub(super) fn enter(&mut self, phase: RoundPhase) -> Result<(), StateProblem> {
        self.contents.phase = phase;
        self.write()
    }

    /// Saves the result of the round in progress.
    pub(super) fn finish(&mut self, result: RoundResult) -> Result<(), StateProblem> {
        self.contents.rounds.push(result);
        self.enter(RoundPhase::Between)
    }

    fn write(&self) -> Result<(), StateProblem> {
        Ok(state_file::replace(FileGuard::generated(), &self.path, &self.contents)?)
    }
}

/// Identifies the boot of the machine: another value means that it was switched off.
pub(super) fn boot() -> String {
    Root::machine().text("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
