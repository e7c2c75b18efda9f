//! The files that a run creates, so that they can be removed if its coordinator disappears.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use fiord_job::command::Invocation;
use fiord_plan::{JobPlan, Plan, TraceInput};
use fiord_run::command_output;
use fiord_run::events::CommandTime;
use fiord_sys::file::{self, FileGuard};

/// The files and directories that did not exist before a run.
#[derive(Debug, Default)]
pub(super) struct CreatedFiles {
    files: Vec<(PathBuf, FileGuard)>,
    /// Sorted: a directory comes before those in it.
    directories: BTreeSet<PathBuf>,
    /// Directories that the run fills with names of its own (`tree_items`).
    trees: BTreeSet<PathBuf>,
}

impl CreatedFiles {
    /// The files of a plan that do not exist now.
    pub(super) fn of(plan: &Plan, invocation: &Invocation) -> Self {
        let mut created = CreatedFiles::default();
        let aux_path = invocation.general.aux_path.as_deref().unwrap_or(".");
        for job in &plan.jobs {
            let guard = FileGuard::target().allow_system(job.target.open.allow_mounted_write);
            paths(job).for_each(|path| created.add(path, guard));
            for path in outputs(job, Path::new(aux_path)) {
                created.add(&path, FileGuard::generated());
            }
            let tree = job.engine.names().and_then(|names| names.tree.as_ref());
            if let Some(tree) = tree.filter(|tree| is_missing(&tree.root)) {
                created.trees.insert(tree.root.clone());
            }
        }
        created
    }

    /// Notes a path, unless something has this name.
    fn add(&mut self, path: &Path, guard: FileGuard) {
        if !is_missing(path) {
            return;
        }
        let above = path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
        let missing = above.take_while(|path| is_missing(path));
        self.directories.extend(missing.map(Path::to_path_buf));
        self.files.push((path.to_path_buf(), guard));
    }

    /// Removes them. A file that cannot be removed stays without a message, because the coordinator has disconnected.
    pub(super) fn remove(&self) {
        for path in &self.trees {
            let _ = FileGuard::target().remove_tree(path);
        }
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
    let others = [
        job.iolog.as_ref().map(|iolog| iolog.path.as_path()),
        job.reporting.verify_extents.as_deref(),
        job.process.memory.path(),
        job.replay.as_ref().and_then(|replay| match &replay.input {
            TraceInput::Merged(merge) => Some(merge.file.as_path()),
            TraceInput::Files(_) | TraceInput::Stream(_) => None,
        }),
    ];
    let files = targets.map(|file| file.path.as_path());
    files.chain(logs.map(|file| file.path.as_path())).chain(others.into_iter().flatten())
}

/// The output of the programs and commands of a job.
fn outputs(job: &JobPlan, aux_path: &Path) -> Vec<PathBuf> {
    let program = job.engine.program().and_then(|program| program.output.clone());
    let mut all: Vec<PathBuf> = program.into_iter().flat_map(|(out, err)| [out, err]).collect();
    let commands =
        [(CommandTime::Prerun, &job.start.prerun), (CommandTime::Postrun, &job.start.postrun)];
    let set = commands.into_iter().filter(|(_, command)| command.is_some());
    all.extend(set.map(|(when, _)| command_output(aux_path, &job.identity.name, when)));
    all
}

/// Whether nothing has this name, not even a symbolic link. Unknown counts as something.
fn is_missing(path: &Path) -> bool {
    let missing = |error: fiord_sys::Error| error.errno == fiord_types::Errno::ENOENT;
    file::link_facts(path).is_err_and(missing)
}
