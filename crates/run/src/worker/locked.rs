//! An engine that locks files around each I/O (`lockfile`).
//!
//! A job holds the lock of a file while it has I/O to the file in flight. It waits for a lock only while it
//! holds none, so there is no deadlock. After it has asked for completions, it waits until its I/O to a locked
//! file has drained before it issues more, so that other jobs get the lock.

use std::sync::Arc;

use fiord_engine::{
    Completions, Engine, EngineError, FreeSlot, HeldSlot, MachineClock, Op, OpKind, Queued, Target,
    TrimRange, Want,
};
use fiord_plan::LockFile;

use crate::lock::FileLock;

/// [`Engine`] behind a pointer, so that the loop is compiled once. A lock costs more than the indirect call.
pub(super) trait AnyEngine {
    fn completes_at_once(&self) -> bool;
    fn clock(&self) -> MachineClock;
    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError>;
    fn detach(&mut self, file: u32) -> Result<(), EngineError>;
    fn take_slots(&mut self) -> Vec<FreeSlot>;
    fn buffer<'a>(&'a mut self, slot: &'a mut FreeSlot) -> &'a mut [u8];
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot;
    fn explain(&mut self, slot: &FreeSlot) -> Option<String>;
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]);
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued;
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
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        Engine::take_slots(self)
    }
    fn buffer<'a>(&'a mut self, slot: &'a mut FreeSlot) -> &'a mut [u8] {
        Engine::buffer(self, slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        Engine::hold(self, slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        Engine::explain(self, slot)
    }
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        Engine::ranges(self, slot, ranges);
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        Engine::queue(self, slot, op)
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        Engine::flush(self)
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        Engine::reap(self, want, done)
    }
}

/// A job's hold on the lock of one file.
#[derive(Debug)]
struct Held {
    lock: Arc<FileLock>,
    write: bool,
    in_flight: u32,
    /// The I/O in flight must drain before the job issues more to this file.
    closed: bool,
}

/// An engine with one lock for each file.
pub(super) struct Locked {
    engine: Box<dyn AnyEngine>,
    /// Several readers may hold a lock (`lockfile=readwrite`).
    shared_reads: bool,
    files: Vec<Held>,
    /// The file of the op in each slot.
    slots: Vec<u32>,
    in_flight: u32,
}

impl Locked {
    /// Wraps `engine`. `locks` has one lock for each file.
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

    /// Takes a file's lock for one more op. False if ops in flight must complete first.
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

    /// Records that an op on a file has completed; the last one releases the lock.
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
    /// Releases the locks of a job that failed with I/O in flight, so that other jobs do not wait for it.
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
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.engine.take_slots()
    }
    fn buffer<'a>(&'a mut self, slot: &'a mut FreeSlot) -> &'a mut [u8] {
        self.engine.buffer(slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        self.engine.hold(slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.engine.explain(slot)
    }
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        self.engine.ranges(slot, ranges);
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !self.enter(op) {
            return Queued::Full(slot);
        }
        let index = slot.index();
        let queued = self.engine.queue(slot, op);
        if queued == Queued::Pending {
            self.slots[index as usize] = op.file;
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
            let slot = done.as_slice()[at].0.index();
            self.leave(self.slots[slot as usize]);
        }
        Ok(())
    }
}
