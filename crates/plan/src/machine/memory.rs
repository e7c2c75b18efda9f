//! Where the buffers of a job come from.

use std::path::{Path, PathBuf};

use crate::machine::facts::Facts;
use crate::model::{MemPolicy, Memory};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use fiord_sys::huge_pages::words;

/// Reads `mem`, and `hugepage-size` for buffers in huge pages.
pub(crate) fn memory(job: Reading, facts: &dyn Facts, messages: &mut Messages) -> Memory {
    let (word, file) = job.word("mem").unwrap_or(("malloc", None));
    let file = file.filter(|f| !f.is_empty()).map(PathBuf::from);
    if let Some(file) = &file {
        may_hold_buffers(job, file, facts, messages);
    }
    match word {
        "shm" => Memory::Shm,
        "shmhuge" => Memory::ShmHuge(huge_page(job, facts, messages)),
        "mmap" => Memory::Mmap(file),
        "mmaphuge" => Memory::MmapHuge { file, page: huge_page(job, facts, messages) },
        "mmapshared" => Memory::MmapShared(file),
        _ => Memory::Malloc,
    }
}

/// Refuses a file for buffers that contains data: buffers overwrite it.
fn may_hold_buffers(job: Reading, file: &Path, facts: &dyn Facts, messages: &mut Messages) {
    let shown = file.display();
    if let Some(directory) = facts.system_directory(file) {
        let what = format!(
            "`{shown}` lies in the system directory {directory}, and buffers would be written to it"
        );
        messages.push(job.error("mem", what).help("To fix: name a file in another directory"));
    } else if !facts.takes_buffers(file) {
        let what = format!("`{shown}` holds data, and buffers would overwrite it");
        messages.push(
            job.error("mem", what)
                .help("To fix: name a file that is new or empty, or one on hugetlbfs"),
        );
    }
}

/// Reads `hugepage-size`: a size in bytes that the kernel offers. `None`: the kernel chooses,
/// because the job does not set it or the kernel does not have that size. The latter is no error,
/// because fio, which never asks for a size, runs such jobs too.
fn huge_page(job: Reading, facts: &dyn Facts, messages: &mut Messages) -> Option<u64> {
    job.set("hugepage-size")?;
    let page = job.count("hugepage-size")?;
    let there = facts.huge_pages();
    if there.contains(&page) {
        return Some(page);
    }
    let offered: Vec<String> = there.iter().map(|page| words(*page)).collect();
    let what = format!(
        "this kernel has no huge pages of {}: the buffers use huge pages of its default size",
        words(page)
    );
    let help = match offered.as_slice() {
        [] => "To fix: use `mem=malloc` or `mem=mmap`; it has no huge pages of any size".into(),
        sizes => format!("To fix: use one of its sizes: {}", sizes.join(", ")),
    };
    messages.push(job.adjusted("hugepage-size", what).help(help));
    None
}

/// Reads `iomem_align`, in bytes; by default a page, which suits `direct=1` everywhere.
pub(crate) fn align(job: Reading, page: u64, messages: &mut Messages) -> u64 {
    match job.count("iomem_align").unwrap_or(0) {
        0 => page,
        a if a.is_power_of_two() => a,
        a => {
            let next = a.checked_next_power_of_two().unwrap_or(page);
            messages.push(
                job.adjusted(
                    "iomem_align",
                    format!("an alignment of {a} bytes is not a power of two: fiord uses {next}"),
                )
                .help(format!("To fix: write `iomem_align={next}`")),
            );
            next
        }
    }
}

/// Reads `numa_mem_policy`. `None`: not set.
pub(crate) fn policy(
    job: Reading,
    facts: &dyn Facts,
    messages: &mut Messages,
) -> Option<MemPolicy> {
    job.set("numa_mem_policy")?;
    let (word, nodes) = job.word("numa_mem_policy")?;
    let numbers = numbers(nodes.as_deref().unwrap_or("all"));
    let mut known = || {
        crate::machine::cpus::known_nodes(job, "numa_mem_policy", numbers.clone(), facts, messages)
    };
    match word {
        "local" => Some(MemPolicy::Local),
        "prefer" => known().first().copied().map(MemPolicy::Prefer),
        "bind" => Some(MemPolicy::Bind(known())),
        "interleave" => Some(MemPolicy::Interleave(known())),
        _ => Some(MemPolicy::Default),
    }
}

/// Parses the nodes of a policy, which the reader has already checked. An empty list means all
/// nodes.
fn numbers(text: &str) -> Vec<u32> {
    use fiord_job::option::read;
    use fiord_job::option::value::{Bases, Value};
    match read::numa_nodes(text, &Bases::default()) {
        Ok(Value::Set(nodes)) => nodes,
        _ => Vec::new(),
    }
}
