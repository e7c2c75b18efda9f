//! How much of a layout is done. The thread that lays out counts, and the conductor reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use fiord_types::Bytes;

/// What the layout of one job has written.
#[derive(Debug, Default)]
pub(crate) struct LayoutCounters {
    done: AtomicU64,
    total: AtomicU64,
}

impl LayoutCounters {
    /// The layout is about to write so much data.
    pub(crate) fn will_write(&self, bytes: Bytes) {
        self.total.store(bytes.0, Relaxed);
    }

    /// So much more data is written.
    pub(crate) fn wrote(&self, bytes: Bytes) {
        self.done.fetch_add(bytes.0, Relaxed);
    }

    /// Data that is written, and all data to write. `None` if the layout writes no data.
    pub(crate) fn so_far(&self) -> Option<(Bytes, Bytes)> {
        let total = self.total.load(Relaxed);
        (total > 0).then(|| (Bytes(self.done.load(Relaxed).min(total)), Bytes(total)))
    }
}
