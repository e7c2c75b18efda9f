//! Where the repository is.

use std::path::{Path, PathBuf};

/// The repository that the command was started in: Cargo says it at run time. A program that was built
/// in another checkout with the same target directory is not built anew for this one.
pub(crate) fn root() -> PathBuf {
    let package = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    let folder = package.parent().unwrap_or(Path::new(".."));
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}
