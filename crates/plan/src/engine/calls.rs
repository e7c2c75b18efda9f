//! The flags of engines that make plain system calls, map files or use Linux AIO.

use std::num::NonZeroU8;

use fiord_job::option::table::{self, pvsync2};

use crate::model::{LibaioPlan, MmapPlan, PageFaultPlan, Pvsync2Plan};
use crate::options::reading::Reading;

pub(super) fn pvsync2(job: Reading) -> Pvsync2Plan {
    let percent = job.get(pvsync2::HIPRI_PERCENTAGE);
    Pvsync2Plan {
        hipri_percent: NonZeroU8::new(percent).filter(|_| job.get(pvsync2::HIPRI)),
        uncached: uncached(job),
        nowait: job.get(pvsync2::NOWAIT),
    }
}

pub(super) fn libaio(job: Reading) -> LibaioPlan {
    LibaioPlan {
        userspace_reap: job.get(table::libaio::USERSPACE_REAP),
        nowait: job.get(pvsync2::NOWAIT),
        vectored: job.get(table::libaio::LIBAIO_VECTORED),
    }
}

pub(super) fn mmap(job: Reading) -> MmapPlan {
    MmapPlan { thp: job.get(table::mmap::THP).unwrap_or(0) != 0 }
}

pub(super) fn page_fault(job: Reading) -> PageFaultPlan {
    PageFaultPlan { thp: job.get(table::mmap::THP).map(|on| on != 0) }
}

/// Whether I/Os pass the page cache without direct I/O (`RWF_DONTCACHE`).
pub(super) fn uncached(job: Reading) -> bool {
    job.get(pvsync2::UNCACHED).unwrap_or(0) != 0
}
