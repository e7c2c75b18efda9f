//! Devices that are in use are not written to by accident.

use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, JobPlan};
use fiord_sys::{block, file, mount};

use crate::error::JobError;
use crate::files::failed;

const EBUSY: i32 = 16;

/// Refuses a job that would write to or trim a device that is mounted, swap, or held by something
/// that wants it alone (RAID, ZFS, another program), unless `allow_mounted_write=1`.
///
/// The plan has looked too; what was free then need not be now.
pub fn refuse_mounted(job: &JobPlan) -> Result<(), JobError> {
    let writes = job.load.mix.changes_data();
    if !writes || job.target.open.allow_mounted_write {
        return Ok(());
    }
    for plan in &job.target.files {
        let facts = match plan.kind {
            FileKind::Block | FileKind::Char => file::facts(&plan.path),
            FileKind::Regular | FileKind::Pipe | FileKind::Virtual => continue,
        };
        let facts = facts.map_err(|e| failed("stat", plan, &e))?;
        // Of a generic character device the block device beside it is what can be in use.
        let storage: Option<(PathBuf, file::Device)> = match (plan.kind, facts.node) {
            (FileKind::Char, Some(node)) => block::beside_generic(node)
                .map(|(name, block)| (Path::new("/dev").join(name), block)),
            (_, node) => node.map(|node| (plan.path.clone(), node)),
        };
        let Some((path, device)) = storage else { continue };
        let uses = mount::uses(device).map_err(|e| failed("looking for mounts", plan, &e))?;
        if let Some(first) = uses.first() {
            let detail = format!(
                "{first}, and this job writes to it; unmount it, or say allow_mounted_write=1 if \
                 its data may be lost"
            );
            return Err(JobError::new("open", EBUSY, detail).at(&plan.path));
        }
        // Without the right to look there is no answer, and mostly none to write either.
        if mount::is_claimed(&path) == Ok(true) {
            let detail = format!(
                "{} is held by the kernel or a program that wants it alone (RAID, ZFS, LVM), and \
                 this job writes to it; `lsblk` and `fuser -v` on it say what; say \
                 allow_mounted_write=1 if its data may be lost",
                path.display()
            );
            return Err(JobError::new("open", EBUSY, detail).at(&plan.path));
        }
    }
    Ok(())
}
