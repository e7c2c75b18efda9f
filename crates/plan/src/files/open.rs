//! How a job opens its files and lays them out.

use fiord_job::option::table::{
    ALLOW_FILE_CREATE, ALLOW_MOUNTED_WRITE, ATOMIC, BUFFERED, CREATE_FSYNC, CREATE_ON_OPEN,
    CREATE_ONLY, CREATE_SERIALIZE, DIRECT, FADVISE_HINT, FALLOCATE, FILE_APPEND, INVALIDATE,
    OVERWRITE, PRE_READ, SYNC, WRITE_HINT,
};

use crate::model::{EngineAccess, Layout, Mix, OpenPlan};
use crate::options::reading::Reading;

/// Reads `direct` and `buffered`, which are opposites: the later one counts.
pub(crate) fn direct(job: Reading) -> bool {
    match (job.position(DIRECT), job.position(BUFFERED)) {
        (Some(d), Some(b)) if b > d => !job.get(BUFFERED),
        (None, Some(_)) => !job.get(BUFFERED),
        _ => job.get(DIRECT),
    }
}

/// Reads the options of opening files.
pub(crate) fn open(job: Reading, mix: Mix, readonly: bool) -> OpenPlan {
    let access = job.spec.engine().access;
    OpenPlan {
        // Without data or in persistent memory there is nothing to cache.
        direct: direct(job)
            && access.uses_buffers()
            && !matches!(access, EngineAccess::PersistentMemory(_)),
        sync: job.get(SYNC),
        atomic: job.get(ATOMIC),
        // Keep the pages that `pre_read` brings into the page cache.
        invalidate: job.get(INVALIDATE) && !job.get(PRE_READ),
        create: job.get(ALLOW_FILE_CREATE),
        allow_mounted_write: job.get(ALLOW_MOUNTED_WRITE),
        advice: job.get(FADVISE_HINT),
        write_hint: job.get(WRITE_HINT),
        append: job.get(FILE_APPEND),
        read_only: readonly || !changes_files(mix, access),
        // `resolve` sets this after it has read the names.
        generated: false,
    }
}

/// Whether a job changes its files.
pub(crate) fn changes_files(mix: Mix, access: EngineAccess) -> bool {
    match access {
        EngineAccess::Names(call) => call.changes(),
        _ => mix.changes_data() || access.reads_change_files(),
    }
}

/// Reads the options of the layout.
pub(crate) fn layout(job: Reading) -> Layout {
    Layout {
        serialize: job.get(CREATE_SERIALIZE),
        fsync: job.get(CREATE_FSYNC),
        on_open: job.get(CREATE_ON_OPEN),
        only: job.get(CREATE_ONLY),
        overwrite: job.get(OVERWRITE),
        pre_read: job.get(PRE_READ),
        fallocate: job.get(FALLOCATE),
    }
}
