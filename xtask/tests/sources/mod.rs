//! The files of the repository that tests about its text read.

use std::fs;
use std::path::{Path, PathBuf};

/// Returns every file below a directory that `wanted` accepts. Does not enter directories that `wanted` refuses.
pub(crate) fn below(directory: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory of the workspace") {
        let path = entry.expect("an entry of a directory").path();
        match path.is_dir() {
            _ if !wanted(&path) => {}
            true => found.extend(below(&path, wanted)),
            false => found.push(path),
        }
    }
    found
}
