//! What a worker lets others see while it runs.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

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
    in_flight: AtomicU32,
    open_files: AtomicU32,
    /// [`crate::progress::JobPhase`] as its letter.
    phase: AtomicU32,
}

impl Live {
    /// All zero, phase "not created".
    pub fn new() -> Self {
        let live = Live::default();
        live.phase.store(u32::from(b'P'), Relaxed);
        live
    }
    /// Makes the totals of one direction visible. For the worker only.
    #[inline]
    pub fn publish(&self, dir: Dir, bytes: u64, ios: u64) {
        self.bytes[dir as usize].store(bytes, Relaxed);
        self.ios[dir as usize].store(ios, Relaxed);
    }
    /// Makes the number of I/Os in flight visible. For the worker only.
    #[inline]
    pub fn publish_in_flight(&self, n: u32) {
        self.in_flight.store(n, Relaxed);
    }
    /// Makes the number of open files visible. For the worker only.
    pub fn publish_open_files(&self, n: u32) {
        self.open_files.store(n, Relaxed);
    }
    /// Says what the job does now. For whoever starts, runs or reaps the job.
    pub fn set_phase(&self, phase: crate::progress::JobPhase) {
        self.phase.store(phase.letter() as u32, Relaxed);
    }
    /// The totals last published.
    pub fn totals(&self) -> Totals {
        Totals {
            bytes: [0, 1, 2].map(|i: usize| self.bytes[i].load(Relaxed)),
            ios: [0, 1, 2].map(|i: usize| self.ios[i].load(Relaxed)),
        }
    }
    /// I/Os in flight when last published.
    pub fn in_flight(&self) -> u32 {
        self.in_flight.load(Relaxed)
    }
    /// Open files when last published.
    pub fn open_files(&self) -> u32 {
        self.open_files.load(Relaxed)
    }
    /// What the job does now.
    pub fn phase(&self) -> crate::progress::JobPhase {
        let letter = char::from_u32(self.phase.load(Relaxed)).unwrap_or('P');
        crate::progress::JobPhase::from_letter(letter)
    }
}
