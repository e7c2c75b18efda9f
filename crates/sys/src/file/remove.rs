//! Removing files and making directories.

use std::path::Path;

use crate::error::{c_path, check};
use crate::{Error, Result};

/// `unlink(2)`. Returns whether there was such a name.
pub fn remove(path: &Path) -> Result<bool> {
    let name = c_path("unlink", path)?;
    // SAFETY: `name` is NUL-terminated and outlives the call.
    match check("unlink", unsafe { libc::unlink(name.as_ptr()) }) {
        Ok(_) => Ok(true),
        Err(error) if error.errno == libc::ENOENT => Ok(false),
        Err(error) => Err(error.at(path)),
    }
}

/// Makes a directory and its parents; nothing if it is there.
pub fn make_directories(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| Error::from_io("mkdir", &error).at(path))
}
