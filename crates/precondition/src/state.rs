//! How far each device came, kept in a file, so that a stopped call can be picked up.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

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
        let passes = match self.passes {
            0 => String::new(),
            n => format!(", after {n} full pass{}", if n == 1 { "" } else { "es" }),
        };
        format!("{percent:.1} %{passes}")
    }
}

/// The file, and what it holds.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    places: Mutex<BTreeMap<String, Place>>,
}

impl Store {
    /// Opens the file, which need not be there.
    ///
    /// # Errors
    /// A file that is there and cannot be read, or holds something else.
    pub fn open(path: Option<&Path>) -> Result<Store, String> {
        let path = match path {
            Some(path) => path.to_path_buf(),
            None => usual()?,
        };
        let failed = |what: String| {
            format!("{}: {what}\n  help: --state=FILE names another", path.display())
        };
        let places = match std::fs::read_to_string(&path) {
            Ok(text) => serde_json::from_str(&text).map_err(|error| failed(error.to_string()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        Ok(Store { path, places: Mutex::new(places) })
    }

    /// Where a device stopped; a place behind its end is none.
    pub fn place(&self, key: &str, size: u64) -> Place {
        let places = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        places.get(key).copied().filter(|place| place.position < size).unwrap_or_default()
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

    /// Forgets a device: it is done, or to be begun anew.
    ///
    /// # Errors
    /// As [`Store::put`].
    pub fn forget(&self, key: &str) -> Result<(), String> {
        self.change(|places| {
            places.remove(key);
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, Place>)) -> Result<(), String> {
        let mut places = self.places.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        change(&mut places);
        let failed = |error: std::io::Error| format!("{}: {error}", self.path.display());
        if places.is_empty() {
            return match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(failed(error)),
                _ => Ok(()),
            };
        }
        if let Some(directory) = self.path.parent().filter(|path| !path.as_os_str().is_empty()) {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let text = serde_json::to_string_pretty(&*places).map_err(|error| error.to_string())?;
        // Whole or not at all: a power failure must not leave half a file.
        let new = self.path.with_extension("new");
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &self.path)).map_err(failed)
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
