//! Where the buffers of a job come from.

use std::path::{Path, PathBuf};

use fiord_job::option::handle::WithSuffix;
use fiord_job::option::table::{BufferMemory, HUGEPAGE_SIZE, IOMEM_ALIGN, MEM, NUMA_MEM_POLICY};
use fiord_job::option::value::NumaPolicy;
use fiord_sys::huge_pages::words;
use fiord_types::Bytes;

use crate::machine::cpus;
use crate::machine::facts::Facts;
use crate::model::{MemPolicy, Memory};
use crate::options::reading::Reading;

/// Reads `mem`, and `hugepage-size` for buffers in huge pages.
pub(crate) fn memory(job: Reading, facts: &dyn Facts) -> Memory {
    let WithSuffix { word, suffix } = job.get(MEM);
    let file = suffix.filter(|f| !f.is_empty()).map(PathBuf::from);
    if let Some(file) = &file {
        may_hold_buffers(job, file, facts);
    }
    match word {
        // The planner refuses the memory of a GPU, which is not supported yet.
        BufferMemory::Malloc | BufferMemory::CudaMalloc => Memory::Malloc,
        BufferMemory::Shm => Memory::Shm,
        BufferMemory::ShmHuge => Memory::ShmHuge(huge_page(job, facts).map(Bytes)),
        BufferMemory::Mmap => Memory::Mmap(file),
        BufferMemory::MmapHuge => Memory::MmapHuge { file, page: huge_page(job, facts).map(Bytes) },
        BufferMemory::MmapShared => Memory::MmapShared(file),
    }
}

/// Refuses a file for buffers that contains data: buffers overwrite it.
fn may_hold_buffers(job: Reading, file: &Path, facts: &dyn Facts) {
    let shown = file.display();
    if let Some(directory) = facts.system_directory(file) {
        let what = format!(
            "`{shown}` lies in the system directory {directory}, and buffers would be written to it"
        );
        job.report(job.error(MEM, what).help("To fix: name a file in another directory"));
    } else if !facts.takes_buffers(file) {
        let what = format!("`{shown}` holds data, and buffers would overwrite it");
        job.report(
            job.error(MEM, what)
                .help("To fix: name a file that is new or empty, or one on hugetlbfs"),
        );
    }
}

/// Reads `hugepage-size`: a size in bytes that the kernel offers. `None`: the kernel chooses,
/// because the job does not set it or the kernel does not have that size. The job then runs anyway,
/// because fio, which never asks for a size, runs such jobs too.
fn huge_page(job: Reading, facts: &dyn Facts) -> Option<u64> {
    let page = job.explicit(HUGEPAGE_SIZE)?.0;
    let there = facts.huge_pages();
    if there.contains(&page) {
        return Some(page);
    }
    let offered: Vec<String> = there.iter().map(|page| words(Bytes(*page))).collect();
    let what = format!(
        "this kernel has no huge pages of {}: the buffers use huge pages of its default size",
        words(Bytes(page))
    );
    let help = match offered.as_slice() {
        [] => "To fix: use `mem=malloc` or `mem=mmap`; it has no huge pages of any size".into(),
        sizes => format!("To fix: use one of its sizes: {}", sizes.join(", ")),
    };
    job.report(job.adjusted(HUGEPAGE_SIZE, what).help(help));
    None
}

/// Reads `iomem_align`, in bytes; by default a page, which suits `direct=1` everywhere.
pub(crate) fn align(job: Reading, page: u64) -> u64 {
    match job.get(IOMEM_ALIGN).0 {
        0 => page,
        a if a.is_power_of_two() => a,
        a => {
            let next = a.checked_next_power_of_two().unwrap_or(page);
            job.report(
                job.adjusted(
                    IOMEM_ALIGN,
                    format!("an alignment of {a} bytes is not a power of two: fiord uses {next}"),
                )
                .help(format!("To fix: write `iomem_align={next}`")),
            );
            next
        }
    }
}

/// Reads `numa_mem_policy`. `None`: not set.
pub(crate) fn policy(job: Reading, facts: &dyn Facts) -> Option<MemPolicy> {
    let policy = job.get(NUMA_MEM_POLICY)?;
    let known = |nodes| cpus::known_nodes(job, NUMA_MEM_POLICY.def(), nodes, facts);
    match policy {
        NumaPolicy::Default => Some(MemPolicy::Default),
        NumaPolicy::Local => Some(MemPolicy::Local),
        NumaPolicy::Prefer(node) => known(vec![node]).first().copied().map(MemPolicy::Prefer),
        NumaPolicy::Bind(nodes) => Some(MemPolicy::Bind(known(nodes))),
        NumaPolicy::Interleave(nodes) => Some(MemPolicy::Interleave(known(nodes))),
    }
}
