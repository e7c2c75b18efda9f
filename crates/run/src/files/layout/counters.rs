//! How much of a layout, or of reading files before the I/O, is done. The thread that does it counts, and the conductor reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fiord_types::Bytes;

/// What the layout of one job has written, or what was read of its files before its I/O.
#[derive(Debug, Default)]
pub(crate) struct LayoutCounters {
    done: AtomicU64,
    total: AtomicU64,
}

impl LayoutCounters {
    /// The layout is about to write, or the job is about to read, this many bytes.
    pub(crate) fn will_write(&self, bytes: Bytes) {
        self.total.store(bytes.0, Relaxed);
    }

    /// Another part of this many bytes is written or read.
    pub(crate) fn wrote(&self, bytes: Bytes) {
        self.done.fetch_add(bytes.0, Relaxed);
    }

    /// Data that is written, and all data to write. `None` if the layout writes no data.
    pub(crate) fn so_far(&self) -> Option<(Bytes, Bytes)> {
        let total = self.total.load(Relaxed);
        (total > 0).then(|| (Bytes(self.done.load(Relaxed).min(total)), Bytes(total)))
    }
}
