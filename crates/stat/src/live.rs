//! The totals that a worker publishes while it runs.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Dir, Nanos, PerDir};

/// Bytes and I/Os completed, by direction, since the job's measured part began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Amount of data.
    pub bytes: PerDir<Bytes>,
    /// I/Os.
    pub ios: PerDir<u64>,
}

impl Totals {
    /// Adds the totals of another job.
    pub fn add(&mut self, other: &Totals) {
        for dir in Dir::ALL {
            self.bytes[dir] = self.bytes[dir].saturating_add(other.bytes[dir]);
            self.ios[dir] = self.ios[dir].saturating_add(other.ios[dir]);
        }
    }

    /// Bytes of all directions.
    #[must_use]
    pub fn all_bytes(&self) -> Bytes {
        self.bytes.values().fold(Bytes::ZERO, |sum, bytes| sum.saturating_add(*bytes))
    }
}

/// One worker's counters for the monitor thread. They have one writer, need no read-modify-write, and occupy
/// separate cache lines so that a reader never slows another worker. The worker publishes at the end of a
/// reaped batch, or after a fixed number of I/Os. A reader may see the bytes of an I/O before it sees its count.
#[derive(Debug)]
#[repr(align(128))]
pub struct Live {
    bytes: PerDir<AtomicU64>,
    ios: PerDir<AtomicU64>,
    /// How far a replay is behind its trace, ns; [`NO_TRACE`] without one.
    behind: AtomicU64,
    /// Bytes that the current verify pass has checked, and how long it takes so far, ns.
    checked: [AtomicU64; 2],
    /// Bytes that the current verify pass checks; [`NO_PASS`] if there is none.
    to_check: AtomicU64,
}

/// How far a verify pass is: the job reads its writes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadBackProgress {
    /// Bytes that it has checked.
    pub done: Bytes,
    /// Bytes that it checks.
    pub total: Bytes,
    /// How long it takes so far.
    pub elapsed: Nanos,
}

/// Marks a job that replays no trace with times.
const NO_TRACE: u64 = u64::MAX;
/// Marks a job that does not read its writes back now.
const NO_PASS: u64 = u64::MAX;

impl Default for Live {
    fn default() -> Self {
        Live {
            bytes: PerDir::default(),
            ios: PerDir::default(),
            behind: AtomicU64::new(NO_TRACE),
            checked: Default::default(),
            to_check: AtomicU64::new(NO_PASS),
        }
    }
}

impl Live {
    /// Counters at zero.
    #[must_use]
    pub fn new() -> Self {
        Live::default()
    }
    /// Publishes the totals of one direction. Only the worker calls it.
    #[inline]
    pub fn publish(&self, dir: Dir, bytes: Bytes, ios: u64) {
        self.bytes[dir].store(bytes.0, Relaxed);
        self.ios[dir].store(ios, Relaxed);
    }
    /// Publishes how far a replay is behind its trace. Only the worker calls it.
    pub fn publish_behind(&self, behind: Nanos) {
        self.behind.store(behind.0.min(NO_TRACE - 1), Relaxed);
    }
    /// How far a replay is behind its trace; `None` if the job replays none, or not at recorded times.
    pub fn behind(&self) -> Option<Nanos> {
        Some(self.behind.load(Relaxed)).filter(|ns| *ns != NO_TRACE).map(Nanos)
    }
    /// Publishes how far the verify pass is; `None` outside of a pass. Only the worker calls it.
    pub fn publish_read_back(&self, pass: Option<ReadBackProgress>) {
        if let Some(pass) = pass {
            self.checked[0].store(pass.done.0, Relaxed);
            self.checked[1].store(pass.elapsed.0, Relaxed);
        }
        self.to_check.store(pass.map_or(NO_PASS, |pass| pass.total.0.min(NO_PASS - 1)), Relaxed);
    }
    /// How far the verify pass is; `None` outside of a pass.
    pub fn read_back(&self) -> Option<ReadBackProgress> {
        let total = Some(self.to_check.load(Relaxed)).filter(|bytes| *bytes != NO_PASS)?;
        let [done, elapsed] = &self.checked;
        let (done, elapsed) = (done.load(Relaxed), elapsed.load(Relaxed));
        // Blocks that several writes have written can be read more than once.
        let total = Bytes(total.max(done));
        Some(ReadBackProgress { done: Bytes(done), total, elapsed: Nanos(elapsed) })
    }
    /// The totals that the worker published last.
    pub fn totals(&self) -> Totals {
        Totals {
            bytes: PerDir::from_fn(|dir| Bytes(self.bytes[dir].load(Relaxed))),
            ios: PerDir::from_fn(|dir| self.ios[dir].load(Relaxed)),
        }
    }
}
