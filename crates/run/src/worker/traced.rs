//! An engine that traces every op it gets and every completion (`--debug=io`).

use std::fmt::Write;

use fiord_engine::{
    Completions, Engine, EngineError, FreeSlot, HeldSlot, MachineClock, Op, OpKind, Queued, Slot,
    Target, TrimRange, Want,
};
use fiord_plan::JobPlan;

use super::locked::AnyEngine;
use crate::debug::{self, DebugOutput};
use crate::thread;

/// [`Engine`] behind a pointer, so that the loops are compiled once for all engines. A line of output costs more
/// than the indirect call.
pub(super) struct Boxed(pub Box<dyn AnyEngine>);

/// Writes the trace lines of one job.
pub(super) struct Tracer {
    output: DebugOutput,
    /// Paths of the job's files, by index.
    names: Vec<String>,
    pid: u32,
}

impl Tracer {
    /// A tracer for the job of the calling thread; `None` if its I/Os are not traced.
    pub fn of(job: &JobPlan, output: Option<&DebugOutput>) -> Option<Tracer> {
        let output = output?;
        if !output.wants("io", job.identity.index) {
            return None;
        }
        let names = job.target.files.iter().map(|file| file.path.display().to_string()).collect();
        Some(Tracer { output: output.clone(), names, pid: thread::id() })
    }

    /// Writes one line for each of these stages of an op.
    fn op(&self, stages: &[&str], slot: Slot, op: &Op) {
        let ddir = match op.kind {
            OpKind::Read => 0,
            OpKind::Write => 1,
            OpKind::Trim => 2,
            OpKind::Fsync => 3,
            OpKind::Fdatasync => 4,
            OpKind::SyncFileRange(_) => 5,
        };
        let name = self.names.get(op.file as usize).map_or("-", String::as_str);
        let (offset, len) = (op.offset, op.len);
        let mut lines = String::new();
        for stage in stages {
            let text = format_args!(
                "{stage}: io_u {slot:#x}: off={offset:#x},len={len:#x},ddir={ddir},file={name}"
            );
            // Writing to a string cannot fail.
            let _ = lines.write_str(&debug::line("io", self.pid, text));
        }
        self.output.raw(&lines);
    }
}

/// An engine, its tracer and the ops in flight.
pub(super) struct Traced<E> {
    engine: E,
    tracer: Tracer,
    /// The op of each slot.
    ops: Vec<Option<Op>>,
    /// The slot of an op that was traced but refused by the engine: the worker queues it again.
    refused: Option<Slot>,
}

impl<E: Engine> Traced<E> {
    /// Wraps `engine`, which has at most `slots` ops in flight.
    pub fn new(engine: E, tracer: Tracer, slots: u32) -> Self {
        Traced { engine, tracer, ops: vec![None; slots as usize], refused: None }
    }
}

impl<E: Engine> Engine for Traced<E> {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    type Clock = E::Clock;

    fn completes_at_once(&self) -> bool {
        self.engine.completes_at_once()
    }
    fn clock(&self) -> E::Clock {
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
        let index = slot.index();
        if self.refused.take() != Some(index) {
            self.tracer.op(&["fill", "prep", "queue"], index, op);
        }
        let queued = self.engine.queue(slot, op);
        match &queued {
            Queued::Done(..) => self.tracer.op(&["complete"], index, op),
            Queued::Pending => self.ops[index as usize] = Some(*op),
            Queued::Full(_) => self.refused = Some(index),
        }
        queued
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        self.engine.flush()
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        let before = done.len();
        self.engine.reap(want, done)?;
        for (slot, _) in &done.as_slice()[before..] {
            if let Some(op) = self.ops[slot.index() as usize].take() {
                self.tracer.op(&["complete"], slot.index(), &op);
            }
        }
        Ok(())
    }
}

impl Engine for Boxed {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    type Clock = MachineClock;

    fn completes_at_once(&self) -> bool {
        self.0.completes_at_once()
    }
    fn clock(&self) -> MachineClock {
        self.0.clock()
    }
    fn attach(&mut self, file: u32, target: &Target) -> Result<(), EngineError> {
        self.0.attach(file, target)
    }
    fn detach(&mut self, file: u32) -> Result<(), EngineError> {
        self.0.detach(file)
    }
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.0.take_slots()
    }
    fn buffer<'a>(&'a mut self, slot: &'a mut FreeSlot) -> &'a mut [u8] {
        self.0.buffer(slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        self.0.hold(slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.0.explain(slot)
    }
    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        self.0.ranges(slot, ranges);
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        self.0.queue(slot, op)
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.0.flush()
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.0.reap(want, done)
    }
}
