//! Which jobs use the page cache, and which file systems are in memory.

use fiord_job::option::table::DIRECT;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::claim::ClaimedSetting;

use crate::evidence::setting::set;

/// Returns whether the reads and writes of a job go through the page cache, according to its options.
pub(crate) fn through_cache(job: &JobPlan) -> bool {
    job.engine.def().access.uses_page_cache(job.target.open.direct)
}

/// Returns whether a job uses the page cache on a regular file or block device.
pub(crate) fn buffered(job: &JobPlan) -> bool {
    let stored = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    !job.target.open.direct && job.target.files.iter().any(|file| stored(file.kind))
}

/// Returns the remedy for a job that reads from the page cache, and its option if the option alone helps.
pub(crate) fn past_the_cache(job: &JobPlan) -> (&'static str, Option<ClaimedSetting>) {
    match job.engine.def().access.uses_page_cache(true) {
        true => (
            "use direct=1 with an engine that bypasses the page cache, or invalidate=0 if you want to measure \
             the page cache",
            None,
        ),
        false => {
            ("set direct=1, or invalidate=0 if you want to measure the page cache", directly(job))
        }
    }
}

/// Returns `direct=1` if all I/Os of a job are whole sectors, as direct I/O needs them to be.
pub(crate) fn directly(job: &JobPlan) -> Option<ClaimedSetting> {
    /// No disk has larger sectors.
    const SECTOR: u64 = 4096;
    let load = &job.load;
    let whole = load.mix.dirs().all(|dir| {
        u64::from(load.blocks[dir].min()).is_multiple_of(SECTOR)
            && load.align[dir].is_multiple_of(SECTOR)
    });
    let starts = job.target.files.iter().all(|file| file.offset.0.is_multiple_of(SECTOR));
    (whole && starts && !load.unaligned).then(|| set(DIRECT, 1))
}

/// Returns whether a file system of this type keeps its files in memory.
pub(crate) fn in_memory(kind: &str) -> bool {
    matches!(kind, "tmpfs" | "ramfs" | "hugetlbfs")
}
