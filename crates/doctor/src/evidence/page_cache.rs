//! Which jobs use the page cache, and which file systems are in memory.

use fiord_plan::{FileKind, JobPlan};

/// Returns whether the reads and writes of a job go through the page cache, according to its options.
pub(crate) fn through_cache(job: &JobPlan) -> bool {
    job.engine.def().access.uses_page_cache(job.target.open.direct)
}

/// Returns whether a job uses the page cache on a regular file or block device.
pub(crate) fn buffered(job: &JobPlan) -> bool {
    let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    !job.target.open.direct && job.target.files.iter().any(|file| stored(file.kind))
}

/// Returns whether a file system of this type keeps its files in memory.
pub(crate) fn in_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs" | "hugetlbfs")
}
