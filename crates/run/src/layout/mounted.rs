//! Devices that are in use are not written to by accident.

use fiord_plan::{Dir, FileKind, JobPlan};
use fiord_sys::nvme::device;
use fiord_sys::scsi::generic;
use fiord_sys::{file, mount};

use crate::error::JobError;
use crate::files::failed;

const EBUSY: i32 = 16;

/// Refuses a job that would write to or trim a mounted device, unless `allow_mounted_write=1`.
pub fn refuse_mounted(job: &JobPlan) -> Result<(), JobError> {
    let writes = job.load.mix.has(Dir::Write) || job.load.mix.has(Dir::Trim);
    if !writes || job.target.open.allow_mounted_write {
        return Ok(());
    }
    for plan in &job.target.files {
        let facts = match plan.kind {
            FileKind::Block | FileKind::Char => file::facts(&plan.path),
            FileKind::Regular | FileKind::Pipe | FileKind::Virtual => continue,
        };
        let facts = facts.map_err(|e| failed("stat", plan, &e))?;
        // Of a generic character device the block device beside it is what can be mounted.
        let storage = match (plan.kind, facts.node) {
            (FileKind::Char, Some(node)) => device::block_sibling(node)
                .or_else(|| generic::block_sibling(node))
                .map(|(_, block)| block),
            (_, node) => node,
        };
        let Some(device) = storage else { continue };
        let uses = mount::uses(device).map_err(|e| failed("looking for mounts", plan, &e))?;
        if let Some(first) = uses.first() {
            let detail = format!(
                "{first}, and this job writes to it; unmount it, or say allow_mounted_write=1 if \
                 its data may be lost"
            );
            return Err(JobError::new("open", EBUSY, detail).at(&plan.path));
        }
    }
    Ok(())
}
