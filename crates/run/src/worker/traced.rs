//! A layer that traces every op that an engine gets and every completion (`--debug=io`).

use std::fmt::Write;

use fiord_engine::{Completions, EngineError, FreeSlot, Op, OpKind, Queued, Slot, Want};
use fiord_plan::JobPlan;

use super::layers::{AnyEngine, Layer};
use crate::debug::{self, DebugOutput};
use crate::thread;

/// Writes the trace lines of one job.
pub(super) struct Tracer {
    output: DebugOutput,
    /// Paths of the job's files, by index.
    names: Vec<String>,
    pid: u32,
}

impl Tracer {
    /// A tracer for the job of the calling thread; `None` if its I/Os are not traced.
    pub(super) fn of(job: &JobPlan, output: Option<&DebugOutput>) -> Option<Tracer> {
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
        let name = self.names.get(op.file.get()).map_or("-", String::as_str);
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

/// Traces every op and every completion of the engine below.
pub(super) struct Traced {
    tracer: Tracer,
    /// The op of each slot.
    ops: Vec<Option<Op>>,
    /// The slot of an op that was traced but refused by the engine: the worker queues it again.
    refused: Option<Slot>,
}

impl Traced {
    /// For an engine that has at most `slots` ops in flight.
    pub(super) fn new(tracer: Tracer, slots: u32) -> Self {
        Traced { tracer, ops: vec![None; slots as usize], refused: None }
    }
}

impl Layer for Traced {
    fn queue<C>(&mut self, below: &mut dyn AnyEngine<C>, slot: FreeSlot, op: &Op) -> Queued {
        let index = slot.index();
        if self.refused.take() != Some(index) {
            self.tracer.op(&["fill", "prep", "queue"], index, op);
        }
        let queued = below.queue(slot, op);
        match &queued {
            Queued::Done(..) => self.tracer.op(&["complete"], index, op),
            Queued::Pending => self.ops[index as usize] = Some(*op),
            Queued::Full(_) => self.refused = Some(index),
        }
        queued
    }

    fn reap<C>(
        &mut self,
        below: &mut dyn AnyEngine<C>,
        want: Want,
        done: &mut Completions,
    ) -> Result<(), EngineError> {
        let before = done.len();
        below.reap(want, done)?;
        for (slot, _) in &done.as_slice()[before..] {
            if let Some(op) = self.ops[slot.index() as usize].take() {
                self.tracer.op(&["complete"], slot.index(), &op);
            }
        }
        Ok(())
    }
}
