//! What a worker lets others see while it runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::recorder::Dir;

/// Bytes and I/Os completed, by direction, since the job's measured part began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Bytes, [`Dir`] as the index.
    pub bytes: [u64; 3],
    /// I/Os.
    pub ios: [u64; 3],
}

/// One worker's counters for the monitor thread: one writer, no read-modify-write, lines of their
/// own so that a reader never slows another worker. The worker publishes when it likes (at the
/// end of a reaped batch, or every so many I/Os); a reader may see bytes of one I/O more than it
/// counts I/Os.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    bytes: [AtomicU64; 3],
    ios: [AtomicU64; 3],
}

impl Live {
    /// All zero.
    pub fn new() -> Self {
        Live::default()
    }
    /// Makes the totals of one direction visible. For the worker only.
    #[inline]
    pub fn publish(&self, dir: Dir, bytes: u64, ios: u64) {
        self.bytes[dir as usize].store(bytes, Relaxed);
        self.ios[dir as usize].store(ios, Relaxed);
    }
    /// The totals last published.
    pub fn totals(&self) -> Totals {
        Totals {
            bytes: [0, 1, 2].map(|i: usize| self.bytes[i].load(Relaxed)),
            ios: [0, 1, 2].map(|i: usize| self.ios[i].load(Relaxed)),
        }
    }
}
