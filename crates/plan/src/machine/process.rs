//! Properties of the worker thread of a job.

use crate::machine::facts::Facts;
use crate::machine::memory;
use crate::model::{Cgroup, IoPrio, Process};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Best effort (`IOPRIO_CLASS_BE`): the class of `prio` without `prioclass`.
const BEST_EFFORT: u8 = 2;

/// Reads all properties except the CPUs, which depend on the instance.
pub(crate) fn process(job: Reading, facts: &dyn Facts, messages: &mut Messages) -> Process {
    Process {
        cpus: None,
        mem_policy: memory::policy(job, facts, messages),
        nice: job.int("nice").unwrap_or(0).clamp(-20, 19) as i32,
        ioprio: priority(job),
        uid: job.set_count32("uid"),
        gid: job.set_count32("gid"),
        cgroup: cgroup(job, messages),
        comm: job.set_text("comm"),
        memory: memory::memory(job, facts, messages),
        memory_align: memory::align(job, facts.page_size(), messages),
        lock_memory: job.count("lockmem").unwrap_or(0),
    }
}

fn priority(job: Reading) -> Option<IoPrio> {
    let small = |name: &str| job.set(name).and_then(|_| job.int(name));
    let (level, class, hint) = (small("prio"), small("prioclass"), small("priohint"));
    if level.is_none() && class.is_none() && hint.is_none() {
        return None;
    }
    Some(IoPrio {
        class: class.map_or(BEST_EFFORT, |c| c.clamp(0, 3) as u8),
        level: level.unwrap_or(0).clamp(0, 7) as u8,
        hint: hint.unwrap_or(0).clamp(0, 1023) as u16,
    })
}

fn cgroup(job: Reading, messages: &mut Messages) -> Option<Cgroup> {
    // `unused_options` warns of `cgroup_weight` and `cgroup_nodelete` without a name.
    let name = job.set_text("cgroup")?;
    let path = std::path::Path::new(&name);
    let climbs = path.components().any(|c| c == std::path::Component::ParentDir);
    if name.is_empty() || climbs {
        messages.push(
            job.error("cgroup", format!("`{name}` is not a valid name of a control group"))
                .help("To fix: write its path below the hierarchy, such as `cgroup=bench/reader`"),
        );
    }
    Some(Cgroup {
        name,
        weight: job.set_count32("cgroup_weight"),
        keep: job.flag("cgroup_nodelete"),
    })
}
