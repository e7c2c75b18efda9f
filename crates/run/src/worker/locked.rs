//! A layer that locks files around each I/O (`lockfile`).
//!
//! A job holds the lock of a file while it has I/O to the file in flight. It waits for a lock only while it
//! holds none, so there is no deadlock. After it has asked for completions, it waits until its I/O to a locked
//! file has drained before it issues more, so that other jobs get the lock.

use std::sync::Arc;

use fiord_engine::{Completions, EngineError, FreeSlot, Op, OpKind, Queued, Want};
use fiord_plan::LockFile;
use fiord_types::FileIndex;

use super::layers::{AnyEngine, Layer};
use crate::files::lock::FileLock;

/// A job's hold on the lock of one file.
#[derive(Debug)]
struct Held {
    lock: Arc<FileLock>,
    write: bool,
    in_flight: u32,
    /// The I/O in flight must drain before the job issues more to this file.
    closed: bool,
}

/// Holds the lock of each file that the engine below has I/O to in flight.
pub(super) struct Locked {
    /// Several readers may hold a lock (`lockfile=readwrite`).
    shared_reads: bool,
    files: Vec<Held>,
    /// The file of the op in each slot.
    slots: Vec<FileIndex>,
    in_flight: u32,
}

impl Locked {
    /// For an engine that has at most `slots` ops in flight. `locks` has one lock for each file.
    pub(super) fn new(kind: LockFile, locks: Vec<Arc<FileLock>>, slots: u32) -> Self {
        let held = |lock| Held { lock, write: false, in_flight: 0, closed: false };
        Locked {
            shared_reads: kind == LockFile::ReadWrite,
            files: locks.into_iter().map(held).collect(),
            slots: vec![FileIndex(0); slots.max(1) as usize],
            in_flight: 0,
        }
    }

    /// Takes a file's lock for one more op. False if ops in flight must complete first.
    fn enter(&mut self, op: &Op) -> bool {
        let write = !(self.shared_reads && op.kind == OpKind::Read);
        let others = self.in_flight > 0;
        let held = &mut self.files[op.file];
        if held.in_flight > 0 {
            if held.closed || (write && !held.write) {
                return false;
            }
        } else {
            if !others {
                held.lock.acquire(write);
            } else if !held.lock.try_acquire(write) {
                return false;
            }
            (held.write, held.closed) = (write, false);
        }
        held.in_flight += 1;
        self.in_flight += 1;
        true
    }

    /// Records that an op on a file has completed; the last one releases the lock.
    fn leave(&mut self, file: FileIndex) {
        let held = &mut self.files[file];
        held.in_flight -= 1;
        self.in_flight -= 1;
        if held.in_flight == 0 {
            held.lock.release(held.write);
        }
    }
}

impl Drop for Locked {
    /// Releases the locks of a job that failed with I/O in flight, so that other jobs do not wait for it.
    fn drop(&mut self) {
        for held in self.files.iter().filter(|held| held.in_flight > 0) {
            held.lock.release(held.write);
        }
    }
}

impl Layer for Locked {
    fn queue<C>(&mut self, below: &mut dyn AnyEngine<C>, slot: FreeSlot, op: &Op) -> Queued {
        if !self.enter(op) {
            return Queued::Full(slot);
        }
        let index = slot.index();
        let queued = below.queue(slot, op);
        if queued == Queued::Pending {
            self.slots[index as usize] = op.file;
        } else {
            self.leave(op.file);
        }
        queued
    }

    fn reap<C>(
        &mut self,
        below: &mut dyn AnyEngine<C>,
        want: Want,
        done: &mut Completions,
    ) -> Result<(), EngineError> {
        for held in &mut self.files {
            held.closed = true;
        }
        let before = done.len();
        below.reap(want, done)?;
        for (slot, _) in &done.as_slice()[before..] {
            self.leave(self.slots[slot.index() as usize]);
        }
        Ok(())
    }
}
