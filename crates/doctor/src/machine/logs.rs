//! Logs on the disks that the jobs measure.

use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_sys::{block, file, in_use};
use fiord_types::JobIndex;

/// Maximum number of files of a job that are examined.
const MAX_FILES: usize = 16;

/// A log on the disk of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogOnTarget {
    pub job: JobIndex,
    pub log: PathBuf,
    /// File or device of the job.
    pub target: PathBuf,
    /// The disk, as a directory of sysfs.
    pub disk: PathBuf,
}

/// Examines the logs of each job. At most one of a job is returned.
pub(super) fn survey(plan: &Plan) -> Vec<LogOnTarget> {
    plan.jobs.iter().filter(|job| job.identity.instance == 0).filter_map(of_job).collect()
}

fn of_job(job: &JobPlan) -> Option<LogOnTarget> {
    let logs = &job.log.as_ref()?.files;
    let mut disks: Vec<(&Path, PathBuf)> = Vec::new();
    for log in logs {
        let directory = log.path.parent().filter(|path| !path.as_os_str().is_empty());
        if let Some(disk) = disk_of(directory.unwrap_or(Path::new("."))) {
            disks.push((&log.path, disk));
        }
    }
    let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block | FileKind::Char);
    let targets = job.target.files.iter().filter(|target| stored(target.kind)).take(MAX_FILES);
    targets.filter_map(|target| Some((target, disk_of_target(&target.path)?))).find_map(
        |(target, disk)| {
            let (log, _) = disks.iter().find(|(_, other)| *other == disk)?;
            Some(LogOnTarget {
                job: job.identity.index,
                log: log.to_path_buf(),
                target: target.path.clone(),
                disk,
            })
        },
    )
}

/// The disk of a file that may not exist yet, or of a device.
fn disk_of_target(path: &Path) -> Option<PathBuf> {
    if let Ok(Some(storage)) = in_use::storage(path) {
        return block::whole_disk_path(storage.device);
    }
    let directory = path.parent().filter(|path| !path.as_os_str().is_empty());
    disk_of(path).or_else(|| disk_of(directory.unwrap_or(Path::new("."))))
}

/// The disk of the file system of a file; `None`: it has none, as a tmpfs.
fn disk_of(path: &Path) -> Option<PathBuf> {
    block::whole_disk_path(file::facts(path).ok()?.device)
}
