//! How a job opens its files and lays them out.

use crate::model::{Advice, Fallocate, Layout, Mix, OpenPlan, SyncMode, WriteHint};
use crate::options::reading::Reading;

/// Reads `direct` and `buffered`, which are opposites: the later one counts.
pub(crate) fn direct(job: Reading) -> bool {
    match (job.position("direct"), job.position("buffered")) {
        (Some(d), Some(b)) if b > d => !job.flag("buffered"),
        (None, Some(_)) => !job.flag("buffered"),
        _ => job.flag("direct"),
    }
}

/// Reads the options of opening files.
pub(crate) fn open(job: Reading, mix: Mix, readonly: bool) -> OpenPlan {
    OpenPlan {
        direct: direct(job),
        sync: match job.plain_word("sync") {
            "sync" | "1" => SyncMode::Sync,
            "dsync" => SyncMode::Dsync,
            _ => SyncMode::None,
        },
        atomic: job.flag("atomic"),
        // Keep the pages that `pre_read` brings into the page cache.
        invalidate: job.flag("invalidate") && !job.flag("pre_read"),
        create: job.flag("allow_file_create"),
        allow_mounted_write: job.flag("allow_mounted_write"),
        advice: match job.plain_word("fadvise_hint") {
            "1" => Advice::Auto,
            "random" => Advice::Random,
            "sequential" => Advice::Sequential,
            "noreuse" => Advice::NoReuse,
            _ => Advice::None,
        },
        write_hint: match job.plain_word("write_hint") {
            "none" => Some(WriteHint::None),
            "short" => Some(WriteHint::Short),
            "medium" => Some(WriteHint::Medium),
            "long" => Some(WriteHint::Long),
            "extreme" => Some(WriteHint::Extreme),
            _ => None,
        },
        append: job.flag("file_append"),
        read_only: readonly || !mix.changes_data(),
        // `resolve` sets this after it has read the names.
        generated: false,
    }
}

/// Reads the options of the layout.
pub(crate) fn layout(job: Reading) -> Layout {
    Layout {
        serialize: job.flag("create_serialize"),
        fsync: job.flag("create_fsync"),
        on_open: job.flag("create_on_open"),
        only: job.flag("create_only"),
        overwrite: job.flag("overwrite"),
        pre_read: job.flag("pre_read"),
        fallocate: match job.plain_word("fallocate") {
            "none" | "0" => Fallocate::None,
            "posix" | "1" => Fallocate::Posix,
            "keep" => Fallocate::Keep,
            "truncate" => Fallocate::Truncate,
            _ => Fallocate::Native,
        },
    }
}
