//! What is known of each file and device that a job uses.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, Plan};
use fiord_sys::file;

use super::{Evidence, Gap};

/// A file or device at one moment.
#[derive(Debug, Clone)]
pub struct FileState {
    /// Its path as the plan has it.
    pub path: PathBuf,
    /// What the plan takes it for.
    pub kind: FileKind,
    /// What `stat(2)` says; a gap where it is not there.
    pub facts: Evidence<file::Facts>,
}

/// Every file of the plan that exists outside of fiord, each path once.
pub(super) fn survey(plan: &Plan) -> Vec<FileState> {
    let mut seen: HashSet<&Path> = HashSet::new();
    let files = plan.jobs.iter().flat_map(|job| &job.target.files);
    let real = files.filter(|file| file.kind != FileKind::Virtual);
    real.filter(|file| seen.insert(&file.path)).map(|file| look(&file.path, file.kind)).collect()
}

fn look(path: &Path, kind: FileKind) -> FileState {
    FileState { path: path.into(), kind, facts: file::facts(path).map_err(|e| Gap::of(&e)) }
}
