//! An engine whose files are locked around each I/O (`lockfile`).
//!
//! A job holds the lock of a file while it has I/O to it in flight. It waits for a lock only while
//! it holds none, so jobs cannot wait for each other in a circle; and once it has asked for
//! completions it lets what it holds run out before it takes more, so that others get their turn.

use std::sync::Arc;

use fiord_engine::{
    Completions, Engine, EngineError, MachineClock, Op, OpKind, Queued, Slot, Target, TrimRange,
    Want,
};
use fiord_plan::LockFile;

use crate::lock::FileLock;

/// [`Engine`] behind a pointer: a lock costs more than the call, and the loop is compiled once.
pub(super) trait AnyEngine {
    fn completes_at_once(&self) -> bool;
    fn clock(&self) -> MachineClock;
    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError>;
    fn detach(&mut self, file: u32) -> Result<(), EngineError>;
    fn buffer(&mut self, slot: Slot) -> &mut [u8];
    fn explain(&mut self, slot: Slot) -> Option<String>;
    fn ranges(&mut self, slot: Slot, ranges: &[TrimRange]);
    fn queue(&mut self, slot: Slot, op: &Op) -> Queued;
    fn flush(&mut self) -> Result<u32, EngineError>;
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError>;
}

impl<E: Engine<Clock = MachineClock>> AnyEngine for E {
    fn completes_at_once(&self) -> bool {
        Engine::completes_at_once(self)
    }
    fn clock(&self) -> MachineClock {
        Engine::clock(self)
    }
    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError> {
        Engine::attach(self, file, target)
    }
    fn detach(&mut self, file: u32) -> Result<(), EngineError> {
        Engine::detach(self, file)
    }
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        Engine::buffer(self, slot)
    }
    fn explain(&mut self, slot: Slot) -> Option<String> {
        Engine::explain(self, slot)
    }
    fn ranges(&mut self, slot: Slot, ranges: &[TrimRange]) {
        Engine::ranges(self, slot, ranges);
    }
    fn queue(&mut self, slot: Slot, op: &Op) -> Queued {
        Engine::queue(self, slot, op)
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        Engine::flush(self)
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        Engine::reap(self, want, done)
    }
}

/// What a job holds of one file's lock.
#[derive(Debug)]
struct Held {
    lock: Arc<FileLock>,
    write: bool,
    in_flight: u32,
    /// What is held runs out before there is more.
    closed: bool,
}

/// An engine with a lock a file.
pub(super) struct Locked {
    engine: Box<dyn AnyEngine>,
    /// Readers may be many.
    shared_reads: bool,
    files: Vec<Held>,
    /// The file of the op in each slot.
    slots: Vec<u32>,
    in_flight: u32,
}

impl Locked {
    /// `locks` has one for each file.
    pub(super) fn new(
        engine: Box<dyn AnyEngine>,
        kind: LockFile,
        locks: Vec<Arc<FileLock>>,
        slots: u32,
    ) -> Self {
        let held = |lock| Held { lock, write: false, in_flight: 0, closed: false };
        Locked {
            engine,
            shared_reads: kind == LockFile::ReadWrite,
            files: locks.into_iter().map(held).collect(),
            slots: vec![0; slots.max(1) as usize],
            in_flight: 0,
        }
    }

    /// Takes a file's lock for one more op. False: completions have to come first.
    fn enter(&mut self, op: &Op) -> bool {
        let write = !(self.shared_reads && op.kind == OpKind::Read);
        let others = self.in_flight > 0;
        let held = &mut self.files[op.file as usize];
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

    /// One op on a file is over.
    fn leave(&mut self, file: u32) {
        let held = &mut self.files[file as usize];
        held.in_flight -= 1;
        self.in_flight -= 1;
        if held.in_flight == 0 {
            held.lock.release(held.write);
        }
    }
}

impl Drop for Locked {
    /// A job that failed may have had I/O in flight; the others must not wait for it.
    fn drop(&mut self) {
        for held in self.files.iter().filter(|held| held.in_flight > 0) {
            held.lock.release(held.write);
        }
    }
}

impl Engine for Locked {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    type Clock = MachineClock;

    fn completes_at_once(&self) -> bool {
        self.engine.completes_at_once()
    }
    fn clock(&self) -> MachineClock {
        self.engine.clock()
    }
    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError> {
        self.engine.attach(file, target)
    }
    fn detach(&mut self, file: u32) -> Result<(), EngineError> {
        self.engine.detach(file)
    }
    fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.engine.buffer(slot)
    }

    fn explain(&mut self, slot: Slot) -> Option<String> {
        self.engine.explain(slot)
    }

    fn ranges(&mut self, slot: Slot, ranges: &[TrimRange]) {
        self.engine.ranges(slot, ranges);
    }

    fn queue(&mut self, slot: Slot, op: &Op) -> Queued {
        if !self.enter(op) {
            return Queued::Full;
        }
        let queued = self.engine.queue(slot, op);
        if queued == Queued::Pending {
            self.slots[slot as usize] = op.file;
        } else {
            self.leave(op.file);
        }
        queued
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.engine.flush()
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        for held in &mut self.files {
            held.closed = true;
        }
        let before = done.len();
        self.engine.reap(want, done)?;
        for at in before..done.len() {
            let slot = done.as_slice()[at].0;
            self.leave(self.slots[slot as usize]);
        }
        Ok(())
    }
}
