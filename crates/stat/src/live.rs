//! The totals that a worker publishes while it runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use crate::recorder::Dir;

/// Bytes and I/Os completed, by direction, since the job's measured part began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Bytes, with [`Dir`] as the index.
    pub bytes: [u64; 3],
    /// I/Os, with [`Dir`] as the index.
    pub ios: [u64; 3],
}

/// One worker's counters for the monitor thread. They have one writer, need no read-modify-write, and occupy
/// separate cache lines so that a reader never slows another worker. The worker publishes at the end of a
/// reaped batch, or every so many I/Os. A reader may see the bytes of an I/O before it sees its count.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Live {
    bytes: [AtomicU64; 3],
    ios: [AtomicU64; 3],
}

impl Live {
    /// Counters at zero.
    pub fn new() -> Self {
        Live::default()
    }
    /// Publishes the totals of one direction. Only the worker calls it.
    #[inline]
    pub fn publish(&self, dir: Dir, bytes: u64, ios: u64) {
        self.bytes[dir as usize].store(bytes, Relaxed);
        self.ios[dir as usize].store(ios, Relaxed);
    }
    /// The totals that the worker published last.
    pub fn totals(&self) -> Totals {
        Totals {
            bytes: [0, 1, 2].map(|i: usize| self.bytes[i].load(Relaxed)),
            ios: [0, 1, 2].map(|i: usize| self.ios[i].load(Relaxed)),
        }
    }
}
