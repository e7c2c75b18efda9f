//! Saves the progress of each device in a file, so that a later call can resume.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use fiord_types::Bytes;
use serde::{Deserialize, Serialize};

use crate::state_file::{self, FileError};

/// Why progress cannot be saved.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The file cannot be read or written.
    #[error("{0}\n  To fix: name another file with --state=FILE")]
    File(#[from] FileError),
    /// No file is named, and there is no home directory for the default.
    #[error("no home directory to save the progress in\n  To fix: name a file with --state=FILE")]
    NoHome,
}

/// Progress of one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FillPosition {
    /// Number of completed passes.
    pub passes: u32,
    /// First byte that the current pass has not written.
    pub position: Bytes,
}

impl FillPosition {
    /// Formats the progress on a device of this size.
    #[must_use]
    pub fn words(&self, size: Bytes) -> String {
        let percent = self.position.0 as f64 * 100.0 / size.0.max(1) as f64;
        let passes = |n: u32| format!("{n} full pass{}", if n == 1 { "" } else { "es" });
        match (self.passes, self.position) {
            (0, _) => format!("{percent:.1} %"),
            (n, Bytes::ZERO) => format!("the end of {}", passes(n)),
            (n, _) => format!("{percent:.1} %, after {}", passes(n)),
        }
    }
}

/// Progress by [`crate::precondition::target::Target::key`].
type Places = BTreeMap<String, FillPosition>;

/// The state file and its contents.
#[derive(Debug)]
pub struct ProgressFile {
    path: PathBuf,
    guard: FileGuard,
    /// Contents when the file was opened.
    places: Places,
}

impl ProgressFile {
    /// Opens the file, which may be missing.
    ///
    /// # Errors
    /// The file exists but cannot be read or has other contents.
    pub fn open(path: Option<&Path>) -> Result<ProgressFile, StateError> {
        // A path that the user typed may point anywhere.
        let guard = FileGuard::generated().allow_system(path.is_some());
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => usual()?,
        };
        let places = state_file::read(&path)?.unwrap_or_default();
        Ok(ProgressFile { path, guard, places })
    }

    /// The saved progress of a device. A position beyond its end is ignored.
    #[must_use]
    pub fn place(&self, key: &str, size: Bytes) -> FillPosition {
        self.places.get(key).copied().filter(|place| place.position < size).unwrap_or_default()
    }

    /// Checks that the file can be written.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn check(&self) -> Result<(), StateError> {
        self.change(|_| ())
    }

    /// Saves the progress of a device.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put(&self, key: &str, place: FillPosition) -> Result<(), StateError> {
        self.change(|places| {
            places.insert(key.to_owned(), place);
        })
    }

    /// Removes the entry of a completed device.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn forget(&self, key: &str) -> Result<(), StateError> {
        self.change(|places| {
            places.remove(key);
        })
    }

    /// Updates the file, which other calls for other devices may share.
    fn change(&self, change: impl FnOnce(&mut Places)) -> Result<(), StateError> {
        let directory = self.path.parent().filter(|path| !path.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        self.guard.make_directories(directory).map_err(FileError::from)?;
        // Lock the directory, because the file is replaced. Closing the descriptor releases the
        // lock.
        let failed = |source| FileError::Io { path: self.path.clone(), source };
        let lock = File::open(directory).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut places: Places = state_file::read(&self.path)?.unwrap_or_default();
        change(&mut places);
        state_file::replace(self.guard, &self.path, &places)?;
        if places.is_empty() {
            self.guard.remove(&self.path).map_err(FileError::from)?;
        }
        Ok(())
    }
}

/// The default file, `$XDG_STATE_HOME/fiord/precondition.json` (XDG Base Directory Specification).
fn usual() -> Result<PathBuf, StateError> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")));
    base.map(|base| base.join("fiord/precondition.json")).ok_or(StateError::NoHome)
}
