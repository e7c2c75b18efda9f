//! Saves bad intervals to files (`verify_dump`).

use std::io::Write;
use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use fiord_types::Bytes;

/// Where bad intervals are saved.
#[derive(Debug, Clone)]
pub(super) struct Dumps {
    /// `--aux-path`; empty: the current directory.
    directory: PathBuf,
}

impl Dumps {
    pub(super) fn new(directory: PathBuf) -> Self {
        Dumps { directory }
    }

    /// Saves an interval of a file. Without `expected` its header is bad, so nothing is known about it. Returns a text
    /// to add to the message about the interval.
    pub(super) fn save(
        &self,
        file: &Path,
        offset: Bytes,
        found: &[u8],
        expected: Option<&[u8]>,
    ) -> String {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let path = |kind: &str| self.directory.join(format!("{name}.{}.{kind}", offset.0));
        let mut text = String::new();
        let mut save = |what: &str, kind: &str, bytes: &[u8]| {
            let path = path(kind);
            let saved = FileGuard::generated()
                .replace(&path)
                .map_err(|e| e.to_string())
                .and_then(|mut file| file.write_all(bytes).map_err(|e| e.to_string()));
            match saved {
                Ok(()) => text.push_str(&format!("; {what} saved to {}", path.display())),
                Err(e) => {
                    text.push_str(&format!(
                        "; {what} could not be saved to {}: {e}",
                        path.display()
                    ));
                }
            }
        };
        match expected {
            None => save("data with a bad header", "hdr_fail", found),
            Some(expected) => {
                save("received data", "received", found);
                save("expected data", "expected", expected);
            }
        }
        text
    }
}
