//! Counts of a job's io_uring.

use serde::{Deserialize, Serialize};

/// What a job with a submission thread in the kernel (`sqthread_poll`) counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RingCounts {
    /// System calls that woke the submission thread: it sleeps after a second without I/O.
    pub sq_thread_wakeups: u64,
}

impl RingCounts {
    /// Adds the counts of another job.
    pub fn merge(&mut self, other: &RingCounts) {
        self.sq_thread_wakeups = self.sq_thread_wakeups.saturating_add(other.sq_thread_wakeups);
    }
}
