//! Files with state that a later call resumes from. They are replaced atomically, so that a power
//! failure leaves the old or the new contents.

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use fiord_types::Errno;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a file cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be created, renamed or removed, or it belongs to another program.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// The file cannot be read or written.
    #[error("{path}: {}", Errno::explain(.source))]
    Io { path: PathBuf, source: io::Error },
    /// The file has other contents.
    #[error("{path}: {source}")]
    Contents { path: PathBuf, source: serde_json::Error },
}

impl FileError {
    fn io(path: &Path) -> impl FnOnce(io::Error) -> FileError {
        |source| FileError::Io { path: path.into(), source }
    }
}

/// Reads a text file.
///
/// # Errors
/// The file cannot be read.
pub fn read_text(path: &Path) -> Result<String, FileError> {
    fs::read_to_string(path).map_err(FileError::io(path))
}

/// Reads a value from a JSON file; `None` if there is no file.
///
/// # Errors
/// The file cannot be read, or has other contents.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, FileError> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text)
            .map(Some)
            .map_err(|source| FileError::Contents { path: path.into(), source }),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(FileError::io(path)(e)),
    }
}

/// Writes a file whose name fiord generates.
///
/// # Errors
/// The file cannot be created or written, or another program's file has its name.
pub fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let mut file = FileGuard::generated().replace(path)?;
    file.write_all(text.as_bytes()).map_err(FileError::io(path))
}

/// Replaces a JSON file atomically and durably. `guard` says where it may be.
///
/// # Errors
/// The file cannot be written.
pub fn replace(guard: FileGuard, path: &Path, value: &impl Serialize) -> Result<(), FileError> {
    let contents = |source| FileError::Contents { path: path.into(), source };
    let text = serde_json::to_string_pretty(value).map_err(contents)? + "\n";
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    let new = PathBuf::from(new);
    let mut file = guard.replace(&new)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(FileError::io(&new))?;
    guard.rename(&new, path)?;
    // The new name is durable when its directory is.
    let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    fs::File::open(directory).and_then(|file| file.sync_all()).map_err(FileError::io(directory))
}
