//! Devices that are in use are not written to by accident.

use fiord_plan::{Dir, FileKind, JobPlan};
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
    for plan in job.target.files.iter().filter(|plan| plan.kind == FileKind::Block) {
        let facts = file::facts(&plan.path).map_err(|e| failed("stat", plan, &e))?;
        let Some(device) = facts.node else { continue };
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
