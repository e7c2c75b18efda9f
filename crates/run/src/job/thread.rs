//! Settings of a job's thread: CPUs, memory policy, priorities, name, user, control group.
//!
//! The thread applies them to itself before it opens a file. Threads end with their job, so only control
//! groups must be undone.

use std::sync::{Mutex, PoisonError};

use fiord_plan::{Cgroup, FileKind, IoPrio, JobPlan, MemPolicy, Plan, Process};
use fiord_sys::cgroup::{CgroupScope, ControlGroup};
use fiord_sys::cpu::CpuSet;
use fiord_sys::memory::{self, MemoryRegion};
use fiord_sys::thread::{IoClass, IoPriority};
use fiord_sys::{block, cpu, file, numa, signal, thread};
use fiord_types::Errno;

use crate::error::failed;
use crate::error::{JobError, Stage};

/// Resources that a thread's settings hold while its job runs.
#[derive(Debug, Default)]
pub(crate) struct ThreadSettings {
    /// `lockmem`.
    _pinned: Option<MemoryRegion>,
}

/// Applies a job's settings to the calling thread.
pub(crate) fn prepare(
    plan: &Plan,
    job: &JobPlan,
    groups: &ControlGroups,
) -> Result<ThreadSettings, JobError> {
    let options = &job.process;
    // Only the conductor's thread handles signals, so that they interrupt no I/O.
    signal::block_in_this_thread().map_err(|e| refused(Stage::BlockSignals, &e))?;
    if let Some(name) = &options.comm {
        thread::set_name(name).map_err(|e| refused(Stage::Comm, &e))?;
    }
    if let Some(cpus) = &options.cpus {
        let set: CpuSet = cpus.iter().map(|cpu| *cpu as usize).collect();
        cpu::set_affinity(&set).map_err(|e| refused(Stage::CpusAllowed, &e))?;
    }
    if let Some(policy) = &options.mem_policy {
        numa::set_policy(&memory_policy(policy)).map_err(|e| refused(Stage::MemoryPolicy, &e))?;
    }
    schedulers(job)?;
    priorities(options)?;
    let pinned = pin(options.lock_memory.0)?;
    if let Some(options) = &options.cgroup {
        groups.enter(plan, options)?;
    }
    // Last, because it drops the privileges that the other settings need. The group comes before the user for
    // the same reason.
    if let Some(gid) = options.gid {
        thread::set_group(gid).map_err(|e| refused(Stage::Gid, &e))?;
    }
    if let Some(uid) = options.uid {
        thread::set_user(uid).map_err(|e| refused(Stage::Uid, &e))?;
    }
    Ok(ThreadSettings { _pinned: pinned })
}

/// The error of a setting that the system refused.
fn refused(stage: Stage, error: &fiord_sys::Error) -> JobError {
    let advice = error.advice().map_or(String::new(), |advice| format!(" ({advice})"));
    JobError::new(stage, error.errno, format!("{} refused the setting{advice}", error.op))
}

fn priorities(options: &Process) -> Result<(), JobError> {
    if options.nice != 0 {
        let present = thread::nice().map_err(|e| refused(Stage::Nice, &e))?;
        thread::set_nice(present.saturating_add(options.nice))
            .map_err(|e| refused(Stage::Nice, &e))?;
    }
    if let Some(IoPrio { class, level, hint }) = options.ioprio {
        let Some(class) = IoClass::from_number(u32::from(class)) else {
            return Err(JobError::new(
                Stage::PrioClass,
                Errno::EINVAL,
                format!("no such I/O priority class: {class}"),
            ));
        };
        let priority = IoPriority { class, level, hint };
        thread::set_io_priority(priority).map_err(|e| refused(Stage::Prio, &e))?;
    }
    Ok(())
}

fn memory_policy(policy: &MemPolicy) -> numa::Policy {
    let set = |nodes: &Vec<u32>| nodes.iter().map(|node| *node as usize).collect();
    match policy {
        MemPolicy::Default => numa::Policy::Default,
        MemPolicy::Local => numa::Policy::Local,
        MemPolicy::Prefer(node) => numa::Policy::Prefer(*node as usize),
        MemPolicy::Bind(nodes) => numa::Policy::Bind(set(nodes)),
        MemPolicy::Interleave(nodes) => numa::Policy::Interleave(set(nodes)),
    }
}

fn pin(bytes: u64) -> Result<Option<MemoryRegion>, JobError> {
    if bytes == 0 {
        return Ok(None);
    }
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    memory::pin(bytes).map(Some).map_err(|e| refused(Stage::LockMem, &e))
}

/// Sets the I/O scheduler of every device under the job's files (`ioscheduler`).
fn schedulers(job: &JobPlan) -> Result<(), JobError> {
    let Some(name) = &job.target.scheduler else { return Ok(()) };
    for plan in &job.target.files {
        let facts = match plan.kind {
            FileKind::Block | FileKind::Regular => file::facts(&plan.path),
            _ => continue,
        };
        let facts = facts.map_err(|e| failed(Stage::IoScheduler, plan, &e))?;
        let device = if plan.kind == FileKind::Block { facts.node } else { Some(facts.device) };
        // Major 0 is not a block device: tmpfs and the like have no scheduler.
        let Some(device) = device.filter(|device| device.major != 0) else {
            let detail = "the file system has no block device. To fix: leave out ioscheduler";
            return Err(JobError::new(Stage::IoScheduler, Errno::EINVAL, detail).at(&plan.path));
        };
        block::set_scheduler(device, name).map_err(|e| {
            let mut error = failed(Stage::IoScheduler, plan, &e);
            if matches!(e.errno, Errno::EACCES | Errno::EPERM) {
                error.detail = "setting a scheduler needs root. To fix: run as root, or set the \
                                scheduler beforehand and leave out ioscheduler"
                    .into();
            } else if let Ok(present) = block::scheduler(device) {
                let list = present.available.join(", ");
                error.detail = format!("the device refused {name}. To fix: use one of: {list}");
            }
            error
        })?;
    }
    Ok(())
}

/// The control groups of a run.
#[derive(Debug, Default)]
pub(crate) struct ControlGroups {
    open: Mutex<Vec<(ControlGroup, bool)>>,
}

impl ControlGroups {
    /// Moves the calling thread into a job's control group.
    fn enter(&self, plan: &Plan, options: &Cgroup) -> Result<(), JobError> {
        let group = ControlGroup::open(&options.name).map_err(|e| refused(Stage::Cgroup, &e))?;
        let differs = |job: &JobPlan| {
            job.process.cgroup.as_ref().is_none_or(|other| other.name != options.name)
        };
        if group.scope() == CgroupScope::Process && plan.jobs.iter().any(differs) {
            let detail = "the io controller of cgroup version 2 controls whole processes only. To fix: \
                          give all jobs of the run the same cgroup, or run them separately";
            return Err(JobError::new(Stage::Cgroup, Errno::EINVAL, detail));
        }
        if let Some(weight) = options.weight {
            group.set_weight(weight).map_err(|e| refused(Stage::CgroupWeight, &e))?;
        }
        group.enter().map_err(|e| refused(Stage::Cgroup, &e))?;
        self.open.lock().unwrap_or_else(PoisonError::into_inner).push((group, options.keep));
        Ok(())
    }

    /// At the end of the run, leaves the groups and removes those that the run created, unless
    /// `cgroup_nodelete` is set. Returns a message for each group that it could not remove.
    pub(crate) fn close(&self) -> Vec<String> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let mut complaints = Vec::new();
        for (group, keep) in open.drain(..) {
            let left = group.leave();
            if !keep && let Err(error) = left.and_then(|()| group.remove()) {
                // EBUSY: another job or program still uses the group and will remove it.
                if error.errno != Errno::EBUSY {
                    complaints.push(format!("could not remove the cgroup: {error}"));
                }
            }
        }
        complaints
    }
}

/// The thread's id.
pub(crate) fn id() -> u32 {
    u32::try_from(thread::id()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use fiord_plan::EnginePlan;
    use fiord_types::Bytes;

    use super::*;

    fn prepared(change: impl FnOnce(&mut JobPlan) + Send) -> Result<(), JobError> {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        change(&mut job);
        let plan = Plan { jobs: vec![job], global_options: Vec::new() };
        // On a separate thread, because the settings apply to the thread.
        std::thread::scope(|scope| {
            let body = || prepare(&plan, &plan.jobs[0], &ControlGroups::default()).map(drop);
            scope.spawn(body).join().unwrap()
        })
    }

    #[test]
    fn ordinary_settings_are_applied() {
        let cpu = cpu::allowed().unwrap().iter().next().unwrap();
        prepared(|job| {
            job.process.comm = Some("a-name".into());
            job.process.cpus = Some(vec![cpu as u32]);
            job.process.nice = 1;
            job.process.ioprio = Some(IoPrio { class: 2, level: 7, hint: 0 });
            job.process.lock_memory = Bytes(4096);
        })
        .unwrap();
    }

    #[test]
    fn an_error_names_the_setting_that_failed() {
        let error = prepared(|job| job.process.cpus = Some(vec![60_000])).unwrap_err();
        assert!(error.to_string().contains("cpus_allowed"), "{error}");
        let error = prepared(|job| {
            job.process.ioprio = Some(IoPrio { class: 9, level: 0, hint: 0 });
        });
        assert!(error.unwrap_err().to_string().contains("class: 9"));
    }
}
