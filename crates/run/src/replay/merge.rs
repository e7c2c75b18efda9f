//! Writes merged block traces (`merge_blktrace_file`).

use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
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
/// A trace cannot be read, or the file cannot be written.
pub fn write_merged(merge: &MergePlan) -> Result<MergeSummary, JobError> {
    let failed = |errno: Option<Errno>, why: String| {
        let detail = format!(
            "could not write the merged trace: {why}. To fix: set merge_blktrace_file to a file that can be created"
        );
        JobError::new(Stage::ReadTrace, errno, detail).at(&merge.file)
    };
    let how = Open::write_only().create(true).truncate(true).mode(0o666);
    let opened = FileGuard::typed().open(how, &merge.file);
    let opened = opened.map_err(|error| failed(Some(error.errno), error.to_string()))?;
    let mut out = BufWriter::new(File::from(opened.fd));
    merge.write(&|path| SystemFacts.open_trace(path), &mut out).map_err(|error| match &error {
        TraceError::Write(cause) => failed(Errno::of(cause), cause.to_string()),
        _ => read_error(&error).at(&merge.file),
    })
}
