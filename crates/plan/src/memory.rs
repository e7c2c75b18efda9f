//! Where a job's buffers come from.

use std::path::PathBuf;

use crate::facts::Facts;
use crate::messages::Messages;
use crate::model::{MemPolicy, Memory};
use crate::reading::Reading;

/// `mem`.
pub(crate) fn memory(job: Reading) -> Memory {
    let (word, file) = job.word("mem").unwrap_or(("malloc", None));
    let file = file.filter(|f| !f.is_empty()).map(PathBuf::from);
    match word {
        "shm" => Memory::Shm,
        "shmhuge" => Memory::ShmHuge,
        "mmap" => Memory::Mmap(file),
        "mmaphuge" => Memory::MmapHuge(file),
        "mmapshared" => Memory::MmapShared(file),
        _ => Memory::Malloc,
    }
}

/// `iomem_align`; a page where nothing else is asked for, which suits `direct=1` everywhere.
pub(crate) fn align(job: Reading, page: u64, messages: &mut Messages) -> u64 {
    match job.count("iomem_align").unwrap_or(0) {
        0 => page,
        a if a.is_power_of_two() => a,
        a => {
            let next = a.checked_next_power_of_two().unwrap_or(page);
            messages.push(
                job.warning(
                    "iomem_align",
                    format!("an alignment of {a} bytes is no power of two: {next} is used"),
                )
                .help(format!("write `iomem_align={next}`")),
            );
            next
        }
    }
}

/// `numa_mem_policy`.
pub(crate) fn policy(
    job: Reading,
    facts: &dyn Facts,
    messages: &mut Messages,
) -> Option<MemPolicy> {
    job.set("numa_mem_policy")?;
    let (word, nodes) = job.word("numa_mem_policy")?;
    let numbers = numbers(nodes.as_deref().unwrap_or("all"));
    let mut known =
        || crate::cpus::known_nodes(job, "numa_mem_policy", numbers.clone(), facts, messages);
    match word {
        "local" => Some(MemPolicy::Local),
        "prefer" => known().first().copied().map(MemPolicy::Prefer),
        "bind" => Some(MemPolicy::Bind(known())),
        "interleave" => Some(MemPolicy::Interleave(known())),
        _ => Some(MemPolicy::Default),
    }
}

/// The nodes of a policy, which the language has checked; none stands for all.
fn numbers(text: &str) -> Vec<u32> {
    use fiord_job::option::read;
    use fiord_job::option::value::{Bases, Value};
    match read::numa_nodes(text, &Bases::default()) {
        Ok(Value::Set(nodes)) => nodes,
        _ => Vec::new(),
    }
}
