//! Properties of the worker thread of a job.

use fiord_job::option::table::{
    CGROUP, CGROUP_NODELETE, CGROUP_WEIGHT, COMM, GID, LOCKMEM, NICE, PRIO, PRIOCLASS, PRIOHINT,
    UID,
};
use fiord_types::Bytes;

use crate::machine::facts::Facts;
use crate::machine::memory;
use crate::model::{Cgroup, IoPrio, Process};
use crate::options::reading::Reading;

/// Best effort (`IOPRIO_CLASS_BE`): the class of `prio` without `prioclass`.
const BEST_EFFORT: u8 = 2;

/// Reads all properties except the CPUs, which depend on the instance.
pub(crate) fn process(job: Reading, facts: &dyn Facts) -> Process {
    Process {
        cpus: None,
        mem_policy: memory::policy(job, facts),
        nice: job.get(NICE),
        ioprio: priority(job),
        uid: job.get(UID),
        gid: job.get(GID),
        cgroup: cgroup(job),
        comm: job.get(COMM),
        memory: memory::memory(job, facts),
        memory_align: Bytes(memory::align(job, facts.page_size())),
        lock_memory: job.get(LOCKMEM),
    }
}

fn priority(job: Reading) -> Option<IoPrio> {
    let (level, class, hint) = (job.get(PRIO), job.get(PRIOCLASS), job.get(PRIOHINT));
    if level.is_none() && class.is_none() && hint.is_none() {
        return None;
    }
    Some(IoPrio {
        class: class.unwrap_or(BEST_EFFORT),
        level: level.unwrap_or(0),
        hint: hint.unwrap_or(0),
    })
}

fn cgroup(job: Reading) -> Option<Cgroup> {
    // `unused` warns of `cgroup_weight` and `cgroup_nodelete` without a name.
    let name = job.get(CGROUP)?;
    let path = std::path::Path::new(&name);
    let climbs = path.components().any(|c| c == std::path::Component::ParentDir);
    if name.is_empty() || climbs {
        job.report(
            job.error(CGROUP, format!("`{name}` is not a valid name of a control group"))
                .help("To fix: write its path below the hierarchy, such as `cgroup=bench/reader`"),
        );
    }
    Some(Cgroup { name, weight: job.get(CGROUP_WEIGHT), keep: job.get(CGROUP_NODELETE) })
}
