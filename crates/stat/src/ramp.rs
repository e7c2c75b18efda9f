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
    pub syncs: u64,
}

/// One direction of [`RampTotals`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RampDir {
    /// I/Os completed.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: Bytes,
    /// Bytes of I/Os that failed.
    pub failed_bytes: Bytes,
    /// I/Os whose latency was measured.
    pub timed: u64,
    /// Sum of these latencies.
    pub time: Nanos,
}

impl RampTotals {
    /// Adds other totals.
    pub fn merge(&mut self, other: &RampTotals) {
        self.syncs = self.syncs.saturating_add(other.syncs);
        for (mine, theirs) in self.dirs.values_mut().zip(other.dirs.values()) {
            mine.ios = mine.ios.saturating_add(theirs.ios);
            mine.bytes = mine.bytes.saturating_add(theirs.bytes);
            mine.failed_bytes = mine.failed_bytes.saturating_add(theirs.failed_bytes);
            mine.timed = mine.timed.saturating_add(theirs.timed);
            mine.time = mine.time.saturating_add(theirs.time);
        }
    }
}
