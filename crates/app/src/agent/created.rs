//! The files that a run creates, so that they can be removed if its coordinator disappears.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fiord_plan::{JobPlan, Plan};
use fiord_sys::file::{self, FileGuard};

/// The files and directories that did not exist before a run.
#[derive(Debug, Default)]
pub(super) struct CreatedFiles {
    files: Vec<(PathBuf, FileGuard)>,
    /// Sorted: a directory comes before those in it.
    directories: BTreeSet<PathBuf>,
}

impl CreatedFiles {
    /// The files of a plan that do not exist now.
    pub(super) fn of(plan: &Plan) -> Self {
        let mut created = CreatedFiles::default();
        for job in &plan.jobs {
            let guard = FileGuard::target().allow_system(job.target.open.allow_mounted_write);
            for path in paths(job).filter(|path| is_missing(path)) {
                let above = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
                let missing = above.take_while(|path| is_missing(path));
                created.directories.extend(missing.map(Path::to_path_buf));
                created.files.push((path.to_path_buf(), guard));
            }
        }
        created
    }

    /// Removes them. A file that cannot be removed stays without a message, because the coordinator is gone.
    pub(super) fn remove(&self) {
        for (path, guard) in &self.files {
            if guard.remove(path).is_err() {
                // Some engines create directories.
                let _ = guard.remove_directory(path);
            }
        }
        for path in self.directories.iter().rev() {
            let _ = FileGuard::target().remove_directory(path);
        }
    }
}

/// The files that a job may create: its targets, and its logs.
fn paths(job: &JobPlan) -> impl Iterator<Item = &Path> {
    let targets = job.target.files.iter().filter(|file| file.kind.is_file());
    let logs = job.log.iter().flat_map(|log| &log.files);
    targets.map(|file| file.path.as_path()).chain(logs.map(|file| file.path.as_path()))
}

/// Whether nothing has this name, not even a symbolic link. Unknown counts as something.
fn is_missing(path: &Path) -> bool {
    let missing = |error: fiord_sys::Error| error.errno == fiord_types::Errno::ENOENT;
    file::link_facts(path).is_err_and(missing)
}
