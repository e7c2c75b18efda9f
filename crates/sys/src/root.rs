//! The directory that contains `/sys`, `/proc`, `/dev` and `/run`: `/` on this machine, or a directory
//! tree that stands for a machine in a test.

use std::io::Read;
use std::path::{Path, PathBuf};

/// The directory that contains `sys`, `proc`, `dev` and `run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Root::machine()
    }
}

impl Root {
    /// Returns the root of this machine, `/`.
    #[must_use]
    pub fn machine() -> Root {
        Root(PathBuf::from("/"))
    }

    /// Returns a root at another directory.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root(path.into())
    }

    /// Whether this is the root of this machine. Only then do its device numbers and nodes refer to devices
    /// of the kernel.
    #[must_use]
    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// Returns the location of a path below this root. The path is written as on a machine (`/sys/block`).
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Reads a file below this root and trims it. `None` if the file is empty, missing or not readable.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        text(&self.path(path))
    }

    /// Reads the number in a file below this root.
    pub fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        number(&self.path(path))
    }
}

/// Reads an attribute and trims it; `None` if it is empty or not readable.
///
/// On large machines this reads thousands of attributes, so it does not ask for the file size, which is
/// 0 or 4096 for most of them anyway.
pub(crate) fn text(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut bytes = Vec::new();
    let mut page = [0u8; PAGE];
    loop {
        let n = match file.read(&mut page) {
            Ok(0) => break,
            Ok(n) => n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        bytes.extend_from_slice(&page[..n]);
    }
    let text = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Size of the longest sysfs attribute.
const PAGE: usize = 4096;

/// Reads the number in an attribute.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Lists the names in a directory, sorted; empty if it cannot be read.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).into_iter().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_below_the_root() {
        let root = Root::at("/tmp/tree");
        assert_eq!(root.path("/sys/block"), Path::new("/tmp/tree/sys/block"));
        assert_eq!(root.path("sys"), Path::new("/tmp/tree/sys"));
        assert!(!root.is_machine() && Root::machine().is_machine());
        assert_eq!(Root::machine().path("/proc/self"), Path::new("/proc/self"));
        assert_eq!(Root::machine().text("/proc/self/nothing"), None);
    }
}
