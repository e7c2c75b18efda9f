//! What exists before a job on names starts: files, directories, trees.

use std::path::Path;

use fiord_plan::{FileKind, FilePlan, JobPlan, NameCall, TreePlan};
use fiord_sys::file::{self, Creator, Open};
use fiord_types::{Bytes, Errno};

use super::{Done, Overseer};
use crate::error::{JobError, Stage, failed};
use crate::files::guard::guard;

/// How many names are created between two looks at whether the layout is cancelled.
const STEP: u64 = 256;

/// Checks that the job may change the directories of its names, then creates the directories or the tree that it needs.
/// Regular files are left to the layout of all jobs.
pub(super) fn prepare(job: &JobPlan, overseer: &mut dyn Overseer) -> Result<Done, JobError> {
    let Some(names) = job.engine.names() else { return Ok(Done::Complete) };
    if let (Some(tree), [plan]) = (&names.tree, &job.target.files[..]) {
        return grow(job, plan, tree, overseer);
    }
    let guard = guard(job);
    let makes = names.call.on_directories();
    let mut creator = Creator::new(guard);
    let mut checked: Option<&Path> = None;
    for (number, plan) in job.target.files.iter().enumerate() {
        if (number as u64).is_multiple_of(STEP) && overseer.cancelled() {
            return Ok(Done::Cancelled);
        }
        if makes {
            make_one(&mut creator, names.call, plan)?;
        }
        let parent = plan.path.parent().filter(|parent| *parent != Path::new(""));
        let parent = parent.unwrap_or(Path::new("."));
        if names.call.changes() && checked != Some(parent) {
            // A directory that is missing holds nothing of the system, and the call reports it.
            match guard.permit_names_in(parent) {
                Err(e) if e.errno != Errno::ENOENT => {
                    return Err(failed(names.call.into(), plan, &e));
                }
                _ => checked = Some(parent),
            }
        }
    }
    Ok(Done::Complete)
}

/// Creates the directory with one of a job's names, unless the job itself creates it.
pub(super) fn make_one(
    creator: &mut Creator,
    call: NameCall,
    plan: &FilePlan,
) -> Result<(), JobError> {
    if call.creates() || file::exists(&plan.path).map_err(|e| failed(Stage::Stat, plan, &e))? {
        return Ok(());
    }
    let made = creator.make_directories(&plan.path);
    made.map_err(|e| failed(Stage::MakeDirectory, plan, &e))
}

/// Creates the directories of a tree and, unless the job itself creates them, its items.
fn grow(
    job: &JobPlan,
    plan: &FilePlan,
    tree: &TreePlan,
    overseer: &mut dyn Overseer,
) -> Result<Done, JobError> {
    let guard = guard(job);
    let mut creator = Creator::new(guard);
    let make = |creator: &mut Creator, path: &Path| {
        creator.make_directories(path).map_err(|e| {
            let mut error = failed(Stage::MakeDirectory, plan, &e);
            error.file = Some(path.to_path_buf());
            error
        })
    };
    if job.target.open.create {
        for number in 0..tree.directories().unwrap_or(0) {
            if number.is_multiple_of(STEP) && overseer.cancelled() {
                return Ok(Done::Cancelled);
            }
            make(&mut creator, &tree.directory(number))?;
        }
    }
    guard.permit_names_in(&tree.top()).map_err(|e| failed(Stage::Open, plan, &e))?;
    if !tree.lays_out {
        return Ok(Done::Complete);
    }
    let count = tree.count().unwrap_or(0);
    overseer.laying_out(usize::try_from(count).unwrap_or(usize::MAX), Bytes::ZERO);
    let how = Open::write_only().create(true).mode(0o644);
    for number in 0..count {
        if number.is_multiple_of(STEP) && overseer.cancelled() {
            return Ok(Done::Cancelled);
        }
        let path = tree.item(number);
        if tree.of_directories {
            make(&mut creator, &path)?;
            continue;
        }
        creator.open(how, &path).map_err(|e| {
            let mut error = failed(Stage::Open, plan, &e);
            error.file = Some(path.clone());
            error
        })?;
    }
    Ok(Done::Complete)
}

/// Removes what a job on names leaves (`unlink`): its files or directories, or its part of a tree.
pub(crate) fn remove(job: &JobPlan) -> Result<(), JobError> {
    let Some(names) = job.engine.names() else { return Ok(()) };
    let guard = guard(job);
    if let (Some(tree), [plan]) = (&names.tree, &job.target.files[..]) {
        let at = |path: &Path, result: fiord_sys::Result<bool>| match result {
            Ok(_) => Ok(()),
            // Another job still has items in it, and removes it.
            Err(e) if matches!(e.errno, Errno::ENOTEMPTY | Errno::EEXIST) => Ok(()),
            Err(e) => {
                let mut error = failed(Stage::Unlink, plan, &e);
                error.file = Some(path.to_path_buf());
                Err(error)
            }
        };
        for number in 0..tree.count().unwrap_or(0) {
            let path = tree.item(number);
            let removed = match tree.of_directories {
                true => guard.remove_directory(&path),
                false => guard.remove(&path),
            };
            at(&path, removed)?;
        }
        for number in (0..tree.directories().unwrap_or(0)).rev() {
            let path = tree.directory(number);
            at(&path, guard.remove_directory(&path))?;
        }
        return match tree.per_job {
            true => at(&tree.root, guard.remove_directory(&tree.root)),
            false => Ok(()),
        };
    }
    for plan in job.target.files.iter().filter(|plan| plan.kind == FileKind::Name) {
        remove_one(job, names.call, plan)?;
    }
    Ok(())
}

/// Removes the file or directory with one of a job's names, if it exists.
pub(crate) fn remove_one(job: &JobPlan, call: NameCall, plan: &FilePlan) -> Result<(), JobError> {
    let removed = match call.on_directories() {
        true => guard(job).remove_directory(&plan.path),
        false => guard(job).remove(&plan.path),
    };
    removed.map(drop).map_err(|e| failed(Stage::Unlink, plan, &e))
}
