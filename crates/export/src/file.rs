//! The file of metrics for the textfile collector of the node exporter. A reader sees the old or the new metrics, never
//! a part of them.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fiord_sys::file::FileGuard;
use fiord_types::Errno;

use crate::metrics::{ExpositionFormat, MetricsState};

/// A file of metrics cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write metrics to {path}: {}\n  To fix: {}", Errno::explain(.source), remedy(.source))]
pub struct MetricsFileError {
    path: PathBuf,
    source: io::Error,
}

fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "create the directory of the file",
        io::ErrorKind::PermissionDenied => "name a directory that you may write to",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free space, or name a file on another file system"
        }
        _ => "name a file in a directory that you may write to",
    }
}

/// A file that has the metrics of a run.
#[derive(Debug)]
pub struct MetricsFile {
    path: PathBuf,
    /// The file that becomes the other one when it is complete. Its name does not end in `.prom`, so no collector reads
    /// it.
    temporary: PathBuf,
}

impl MetricsFile {
    /// A file with this path, which the user typed. Nothing is written yet.
    #[must_use]
    pub fn new(path: &Path) -> Self {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}", std::process::id()));
        MetricsFile { path: path.to_owned(), temporary: path.with_file_name(name) }
    }

    /// Replaces the file by one with these metrics.
    ///
    /// # Errors
    /// The directory is missing or may not be written, or the file system is full. The file is as it was.
    pub fn write(&self, state: &MetricsState) -> Result<(), MetricsFileError> {
        let text = state.written(ExpositionFormat::Text);
        self.replace(&text).map_err(|source| {
            // If this fails, too, the message says why the directory cannot be written.
            let _ = FileGuard::generated().allow_system(true).remove(&self.temporary);
            MetricsFileError { path: self.path.clone(), source }
        })
    }

    fn replace(&self, text: &[u8]) -> io::Result<()> {
        // The user typed the path, so it may point anywhere, for example to /var/lib/prometheus/node-exporter.
        let guard = FileGuard::generated().allow_system(true);
        let mut file = guard.replace(&self.temporary).map_err(io::Error::from)?;
        file.write_all(text)?;
        drop(file);
        let rename = FileGuard::typed().allow_system(true).rename(&self.temporary, &self.path);
        rename.map_err(io::Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_directory_is_an_error_with_a_remedy() {
        let file = MetricsFile::new(Path::new("/nonexistent-directory/a.prom"));
        let error = file.write(&MetricsState::default()).unwrap_err().to_string();
        assert!(error.contains("cannot write metrics to /nonexistent-directory/a.prom"), "{error}");
        assert!(error.contains("To fix: create the directory"), "{error}");
    }

    #[test]
    fn the_file_is_whole_and_alone() {
        let name = format!("fiord-metrics-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("a.prom");
        let file = MetricsFile::new(&path);
        let state = MetricsState::new("fiord", ["a".to_owned()]);
        file.write(&state).unwrap();
        file.write(&state).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("# EOF\n") && text.contains("fiord_build_info"), "{text}");
        assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1);
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
