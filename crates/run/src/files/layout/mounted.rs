//! Protects devices that are in use from accidental writes.

use fiord_plan::{FileKind, JobPlan};
use fiord_sys::Error;
use fiord_sys::in_use::Users;
use fiord_types::Errno;

use crate::error::{JobError, Stage};

/// Refuses a job that would write to or trim a device that is mounted, is swap space, or has an
/// exclusive holder (RAID, ZFS, another program), or a file that backs a loop device in use, unless
/// `allow_mounted_write=1`. Also refuses a target whose use cannot be determined.
///
/// The plan makes the same check earlier, but a target that was free then may be in use now.
pub(crate) fn refuse_mounted(job: &JobPlan) -> Result<(), JobError> {
    let writes = job.load.mix.changes_data();
    if !writes || job.target.open.allow_mounted_write {
        return Ok(());
    }
    // Reads the tables of mounts and holders only when a target needs them: a file needs fewer than a device.
    let users = Users::now();
    for plan in &job.target.files {
        if plan.kind == FileKind::Pipe || !plan.kind.has_path() {
            continue;
        }
        let shown = plan.path.display().to_string();
        let user = users.user(&plan.path);
        let user = user
            .map_err(|e| JobError::new(Stage::Open, e.errno, unknown(&shown, &e)).at(&plan.path))?;
        if let Some(user) = user {
            let detail = format!(
                "{user}, and this job writes to it. To fix: unmount it (`lsblk` and `fuser -v` list \
                 its users), or set allow_mounted_write=1 if its data may be lost"
            );
            return Err(JobError::new(Stage::Open, Errno::EBUSY, detail).at(&plan.path));
        }
    }
    Ok(())
}

fn unknown(what: &str, why: &Error) -> String {
    format!(
        "cannot determine whether {what} is in use: {why}. To fix: remove this cause, or set \
         allow_mounted_write=1 if its data may be lost"
    )
}
