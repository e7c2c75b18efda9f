//! Lists of corrupt extents (`verify_extents`): a text file with one line for each.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use fiord_stat::verify::FileExtent;
use fiord_sys::file::{FileGuard, RowFile};
use fiord_types::Errno;

use crate::error::{JobError, Stage};

/// The lists of a run, by file. Jobs with the same file share a list.
#[derive(Debug, Default)]
pub(crate) struct ExtentLists {
    open: Mutex<HashMap<PathBuf, Arc<ExtentList>>>,
}

/// A list. Lines are written when extents are found, so memory does not grow with their number.
#[derive(Debug)]
pub(crate) struct ExtentList {
    out: Mutex<RowFile>,
}

impl ExtentLists {
    /// Creates the list, or replaces the file of an earlier run. The first job of the run does so.
    ///
    /// # Errors
    /// The file cannot be created, is not a regular file, or is one of the `targets`.
    pub(crate) fn open(
        &self,
        path: &Path,
        targets: &[PathBuf],
    ) -> Result<Arc<ExtentList>, JobError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(list) = open.get(path) {
            return Ok(Arc::clone(list));
        }
        let refuse = |errno: Errno, why: &str| {
            let detail = format!(
                "could not create the list of corrupt extents: {why}. \
                 To fix: set verify_extents to a file that can be created"
            );
            JobError::new(Stage::Verify, errno, detail).at(path)
        };
        // A device would get the text as its data.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(refuse(Errno::EINVAL, "it is not a regular file"));
        }
        let own = |target: &PathBuf| same_file(target, path);
        if targets.iter().any(own) {
            return Err(refuse(Errno::EINVAL, "it is a target of the job"));
        }
        let file = FileGuard::typed()
            .replace(path)
            .and_then(RowFile::new)
            .map_err(|error| refuse(error.errno, &error.to_string()))?;
        let list = Arc::new(ExtentList { out: Mutex::new(file) });
        open.insert(path.to_owned(), Arc::clone(&list));
        Ok(list)
    }
}

impl ExtentList {
    /// Adds a line.
    ///
    /// # Errors
    /// Returns the error of the file if the line cannot be written.
    pub(crate) fn add(&self, extent: &FileExtent) -> io::Result<()> {
        let line = format!("{extent}\n");
        self.out.lock().unwrap_or_else(PoisonError::into_inner).write_lines(line.as_bytes())
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    whole(a) == whole(b)
}
