//! The I/O of a job that its results leave out, because it belongs to the ramp.

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Nanos, PerDir};

/// The I/O that a job completed before its measured part began. It is not in the job's results, but the
/// counters of a device contain it, so that a comparison with them needs it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RampTotals {
    /// Reads, writes and trims.
    pub dirs: PerDir<RampDir>,
    /// Syncs issued.
    pub syncs: SyncCount,
}

/// One direction of [`RampTotals`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RampDir {
    /// I/Os completed.
    ios: u64,
    /// Bytes that they moved.
    pub bytes: Bytes,
    /// Bytes of I/Os that failed.
    pub failed_bytes: Bytes,
    /// I/Os whose latency was measured.
    timed: u64,
    /// Sum of these latencies.
    pub time: Nanos,
}

impl RampDir {
    /// `timed`: the I/Os whose latency was measured, and the sum of these latencies.
    pub(crate) fn new(ios: u64, bytes: Bytes, failed_bytes: Bytes, timed: (u64, Nanos)) -> Self {
        RampDir { ios, bytes, failed_bytes, timed: timed.0, time: timed.1 }
    }

    /// I/Os completed.
    #[must_use]
    pub fn ios(&self) -> u64 {
        self.ios
    }

    /// I/Os whose latency was measured.
    #[must_use]
    pub fn timed(&self) -> u64 {
        self.timed
    }
}

/// A number of syncs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SyncCount(pub u64);

impl SyncCount {
    /// Adds more of them.
    pub fn add(&mut self, more: SyncCount) {
        self.0 = self.0.saturating_add(more.0);
    }
}

impl RampTotals {
    /// Adds other totals.
    pub fn merge(&mut self, other: &RampTotals) {
        self.syncs.add(other.syncs);
        for (mine, theirs) in self.dirs.values_mut().zip(other.dirs.values()) {
            mine.ios = mine.ios.saturating_add(theirs.ios);
            mine.bytes = mine.bytes.saturating_add(theirs.bytes);
            mine.failed_bytes = mine.failed_bytes.saturating_add(theirs.failed_bytes);
            mine.timed = mine.timed.saturating_add(theirs.timed);
            mine.time = mine.time.saturating_add(theirs.time);
        }
    }
}
