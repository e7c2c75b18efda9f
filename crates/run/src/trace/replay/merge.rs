//! Writes merged block traces (`merge_blktrace_file`).

use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use fiord_formats::trace::TraceError;
use fiord_formats::trace::blktrace::MergeSummary;
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{Facts, MergePlan};
use fiord_sys::file::{FileGuard, Open};
use fiord_types::Errno;

use super::read_error;
use crate::error::{JobError, Stage};

/// The merged traces of a run. The first job that needs one writes it.
#[derive(Debug, Default)]
pub(crate) struct TraceMerges {
    written: Mutex<HashSet<PathBuf>>,
}

impl TraceMerges {
    /// Writes a merged trace, unless another job has.
    pub(super) fn write(&self, merge: &MergePlan) -> Result<(), JobError> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if !written.contains(&merge.file) {
            write_merged(merge)?;
            written.insert(merge.file.clone());
        }
        Ok(())
    }
}

/// Writes a merged trace. Replaces an existing file, as fio does.
///
/// # Errors
/// A trace cannot be read, or the file cannot be written; then it does not exist. It is a device, or one of the traces.
pub fn write_merged(merge: &MergePlan) -> Result<MergeSummary, JobError> {
    let failed = |errno: Option<Errno>, why: String| {
        let detail = format!(
            "could not write the merged trace: {why}. To fix: set merge_blktrace_file to a file that can be created"
        );
        JobError::new(Stage::ReadTrace, errno, detail).at(&merge.file)
    };
    // A device would get the trace as its data.
    if merge.file.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(failed(Some(Errno::EINVAL), "it is not a regular file".into()));
    }
    let mut sources = merge.sources.iter().flat_map(|source| &source.files);
    if sources.any(|source| is_same_file(source, &merge.file)) {
        return Err(failed(Some(Errno::EINVAL), "it is one of the traces".into()));
    }
    let how = Open::write_only().create(true).truncate(true).mode(0o666);
    let opened = FileGuard::typed().open(how, &merge.file);
    let opened = opened.map_err(|error| failed(Some(error.errno), error.to_string()))?;
    let mut out = BufWriter::new(File::from(opened.fd));
    let written = merge.write(&|path| SystemFacts.open_trace(path), &mut out);
    if written.is_err() {
        // A part of a trace would pass for a whole one.
        let _ = FileGuard::typed().remove(&merge.file);
    }
    written.map_err(|error| match &error {
        TraceError::Write(cause) => failed(Errno::of(cause), Errno::explain(cause)),
        _ => read_error(&named(merge, error)).at(&merge.file),
    })
}

/// The error of one of several traces, with its path.
fn named(merge: &MergePlan, error: TraceError) -> TraceError {
    let TraceError::File { file, source } = error else { return error };
    match merge.sources.get(file).and_then(|trace| trace.files.first()) {
        Some(path) => {
            TraceError::Read(std::io::Error::other(format!("{}: {source}", path.display())))
        }
        None => TraceError::File { file, source },
    }
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    let real = |path| std::fs::canonicalize(path).ok();
    real(one).is_some_and(|one| Some(one) == real(other))
}
