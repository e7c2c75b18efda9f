//! How far each device came, kept in a file, so that a stopped call can be picked up.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use fiord_sys::file::Guard;
use serde::{Deserialize, Serialize};

/// How far one device is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Passes that are over.
    pub passes: u32,
    /// The first byte of the present pass that is not written.
    pub position: u64,
}

impl Place {
    /// In words.
    pub fn words(&self, size: u64) -> String {
        let percent = self.position as f64 * 100.0 / size.max(1) as f64;
        let passes = |n: u32| format!("{n} full pass{}", if n == 1 { "" } else { "es" });
        match (self.passes, self.position) {
            (0, _) => format!("{percent:.1} %"),
            (n, 0) => format!("the end of {}", passes(n)),
            (n, _) => format!("{percent:.1} %, after {}", passes(n)),
        }
    }
}

/// By [`crate::target::Target::key`].
type Places = BTreeMap<String, Place>;

/// The file, and what it holds.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    guard: Guard,
    /// As they were when it was opened.
    places: Places,
}

impl Store {
    /// Opens the file, which need not be there.
    ///
    /// # Errors
    /// A file that is there and cannot be read, or holds something else.
    pub fn open(path: Option<&Path>) -> Result<Store, String> {
        // What the user typed may lie anywhere.
        let guard = Guard::generated().allow_system(path.is_some());
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => usual()?,
        };
        let places = read(&path)?;
        Ok(Store { path, guard, places })
    }

    /// Where a device stopped; a place behind its end is none.
    pub fn place(&self, key: &str, size: u64) -> Place {
        self.places.get(key).copied().filter(|place| place.position < size).unwrap_or_default()
    }

    /// Whether the file could be written.
    ///
    /// # Errors
    /// When it could not.
    pub fn check(&self) -> Result<(), String> {
        self.change(|_| ())
    }

    /// Remembers how far a device is.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn put(&self, key: &str, place: Place) -> Result<(), String> {
        self.change(|places| {
            places.insert(key.to_owned(), place);
        })
    }

    /// Forgets a device: it is done.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub fn forget(&self, key: &str) -> Result<(), String> {
        self.change(|places| {
            places.remove(key);
        })
    }

    /// Changes what is in the file, where other calls that write other devices have theirs as well.
    fn change(&self, change: impl FnOnce(&mut Places)) -> Result<(), String> {
        let failed = |error: std::io::Error| {
            format!("{}: {error}\n  help: --state=FILE names another", self.path.display())
        };
        let directory = self.path.parent().filter(|path| !path.as_os_str().is_empty());
        let directory = directory.unwrap_or(Path::new("."));
        let guarded =
            |error: fiord_sys::Error| format!("{error}\n  help: --state=FILE names another");
        self.guard.make_directories(directory).map_err(guarded)?;
        // Of the directory, as the file is replaced. The lock goes with the descriptor.
        let lock = std::fs::File::open(directory).map_err(failed)?;
        lock.lock().map_err(failed)?;
        let mut places = read(&self.path)?;
        change(&mut places);
        let text = serde_json::to_string_pretty(&places).map_err(|error| error.to_string())?;
        // Whole or not at all: a power failure must not leave half a file.
        let new = self.path.with_extension("new");
        let mut file = self.guard.replace(&new).map_err(guarded)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)?;
        self.guard.rename(&new, &self.path).map_err(guarded)?;
        if places.is_empty() {
            self.guard.remove(&self.path).map_err(guarded)?;
        }
        Ok(())
    }
}

/// What is in the file; nothing where there is none.
fn read(path: &Path) -> Result<Places, String> {
    let failed =
        |what: String| format!("{}: {what}\n  help: --state=FILE names another", path.display());
    match std::fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Places::new()),
        Err(error) => Err(failed(error.to_string())),
    }
}

/// `$XDG_STATE_HOME/fiord/precondition.json`, by the XDG Base Directory Specification.
fn usual() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let base = set("XDG_STATE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(set("HOME")?).join(".local/state")));
    base.map(|base| base.join("fiord/precondition.json")).ok_or_else(|| {
        "there is no home directory to keep in how far it came\n  help: --state=FILE names a file"
            .into()
    })
}
