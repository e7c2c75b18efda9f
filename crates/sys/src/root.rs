//! Where `/sys`, `/proc`, `/dev` and `/run` are: of this machine, or of a tree of files that stands
//! for one in a test.

use std::io::Read;
use std::path::{Path, PathBuf};

/// The directory that holds `sys`, `proc`, `dev` and `run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root(PathBuf);

impl Default for Root {
    fn default() -> Self {
        Root::machine()
    }
}

impl Root {
    /// This machine.
    pub fn machine() -> Root {
        Root(PathBuf::from("/"))
    }

    /// Another directory.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root(path.into())
    }

    /// Whether it is this machine's own: only then do device numbers and nodes mean anything to the
    /// kernel.
    pub fn is_machine(&self) -> bool {
        self.0 == Path::new("/")
    }

    /// A path below it, written as on a machine (`/sys/block`).
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.0.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The text of a file below it, without space at its ends. `None` where there is none, or it may
    /// not be read.
    pub fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        text(&self.path(path))
    }

    /// The number in a file below it.
    pub fn number(&self, path: impl AsRef<Path>) -> Option<u64> {
        number(&self.path(path))
    }
}

/// The text of an attribute, without space at its ends; `None` too for an empty one.
///
/// Thousands of these are read on large machines: nobody is asked how long the file is, which is 0
/// or 4096 for most of them anyway.
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

/// The longest attribute of sysfs.
const PAGE: usize = 4096;

/// The number an attribute holds.
pub(crate) fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// Names in a directory, in order; none where it cannot be read.
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
