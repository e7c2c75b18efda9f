//! What a job asks of its own thread: CPUs, memory policy, priorities, name, user.

use fiord_plan::JobPlan;

use crate::error::JobError;

/// Applies them, on the job's thread.
pub(crate) fn prepare(job: &JobPlan) -> Result<(), JobError> {
    let p = &job.process;
    let asked = p.cpus.is_some() || p.mem_policy.is_some() || p.nice != 0 || p.ioprio.is_some();
    if asked || p.uid.is_some() || p.gid.is_some() || p.cgroup.is_some() {
        let detail = "settings of the job's thread are not supported yet";
        return Err(JobError::new("thread settings", 0, detail));
    }
    Ok(())
}

/// Undoes what outlives the thread.
pub(crate) fn leave(_job: &JobPlan) -> Result<(), JobError> {
    Ok(())
}

/// The thread's id.
pub(crate) fn id() -> u32 {
    let link = std::fs::read_link("/proc/thread-self").unwrap_or_default();
    link.file_name().and_then(|name| name.to_str()?.parse().ok()).unwrap_or(0)
}
