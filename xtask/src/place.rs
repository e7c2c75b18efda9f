//! The path of the repository.

use std::path::{Path, PathBuf};

/// Returns the repository in which the command was started. Cargo passes it at run time, because a program
/// built in another checkout with the same target directory is not built again for this one.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let folder = package.parent().unwrap_or(Path::new(".."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}
