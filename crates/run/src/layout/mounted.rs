//! Devices that are in use are not written to by accident.

use fiord_plan::{FileKind, JobPlan};
use fiord_sys::Error;
use fiord_sys::in_use::Users;

use crate::error::JobError;

const EBUSY: i32 = 16;

/// Refuses a job that would write to or trim a device that is mounted, swap, or held by something
/// that wants it alone (RAID, ZFS, another program), or to a file that is the storage of a loop
/// device in use, unless `allow_mounted_write=1`. What cannot be told is refused as well.
///
/// The plan has looked too; what was free then need not be now.
pub fn refuse_mounted(job: &JobPlan) -> Result<(), JobError> {
    let writes = job.load.mix.changes_data();
    if !writes || job.target.open.allow_mounted_write {
        return Ok(());
    }
    // Reads nothing until a target asks for it: a file asks for less than a device.
    let users = Users::now();
    for plan in &job.target.files {
        if matches!(plan.kind, FileKind::Pipe | FileKind::Virtual) {
            continue;
        }
        let shown = plan.path.display().to_string();
        let user = users.user(&plan.path);
        let user =
            user.map_err(|e| JobError::new("open", e.errno, untold(&shown, &e)).at(&plan.path))?;
        if let Some(user) = user {
            let detail = format!(
                "{user}, and this job writes to it; unmount it (`lsblk` and `fuser -v` say what \
                 else there is), or say allow_mounted_write=1 if its data may be lost"
            );
            return Err(JobError::new("open", EBUSY, detail).at(&plan.path));
        }
    }
    Ok(())
}

fn untold(what: &str, why: &Error) -> String {
    format!(
        "it cannot be told whether {what} is in use: {why}; see to that, or say \
         allow_mounted_write=1 if its data may be lost"
    )
}
