//! A layer that traces every op that an engine gets and every completion (`--debug=io`).

use std::fmt::Write;

use fiord_engine::{Completions, EngineError, FreeSlot, Op, OpKind, Queued, Slot, Want};
use fiord_plan::{EngineAccess, JobPlan, WriteCommand};

use super::layers::{AnyEngine, Layer};
use crate::debug::{self, DebugOutput};
use crate::job::thread;

/// Writes the trace lines of one job.
pub(super) struct Tracer {
    output: DebugOutput,
    /// Paths of the job's files, by index.
    names: Vec<String>,
    pid: u32,
    /// The engine sends NVMe commands, of which the job selects one for each write (`write_mode`).
    selects: bool,
}

impl Tracer {
    /// A tracer for the job of the calling thread; `None` if its I/Os are not traced.
    pub(super) fn of(job: &JobPlan, output: Option<&DebugOutput>) -> Option<Tracer> {
        let output = output?;
        if !output.wants("io", job.identity.index) {
            return None;
        }
        let names = job.target.files.iter().map(|file| file.path.display().to_string()).collect();
        let selects = job.engine.def().access == EngineAccess::NvmeCommands;
        Some(Tracer { output: output.clone(), names, pid: thread::id(), selects })
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
            if self.selects && *stage == "prep" && op.kind == OpKind::Write {
                let text = format_args!("op selected {}", opcode(op.attributes.command));
                let _ = lines.write_str(&debug::line("io", self.pid, text));
            }
        }
        self.output.raw(&lines);
    }
}

/// The NVMe opcode of a write, as a number for the trace: fio's tests read it.
const fn opcode(command: WriteCommand) -> u8 {
    match command {
        WriteCommand::Data | WriteCommand::Durable => 0x01,
        WriteCommand::Uncorrectable => 0x04,
        WriteCommand::Compare => 0x05,
        WriteCommand::Zeroes => 0x08,
        WriteCommand::Verify => 0x0c,
        WriteCommand::Append => 0x7d,
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use fiord_engine::IoAttributes;
    use fiord_types::FileIndex;

    use super::*;

    /// fio's tests of `write_mode` read these lines.
    #[test]
    fn the_command_of_a_write_is_named_if_the_job_selects_it() {
        let text = Arc::new(Mutex::new(String::new()));
        let sink = Arc::clone(&text);
        let write = move |line: &str| sink.lock().unwrap().push_str(line);
        let output = DebugOutput::new(&["io".into()], None, write);
        let tracer = |selects| Tracer {
            output: output.clone(),
            names: vec!["ng0n1".into()],
            pid: 7,
            selects,
        };
        let attributes = IoAttributes { command: WriteCommand::Zeroes, ..IoAttributes::PLAIN };
        let op =
            Op { kind: OpKind::Write, file: FileIndex(0), offset: 0, len: 512, at: 0, attributes };
        tracer(true).op(&["fill", "prep", "queue"], 0, &op);
        let selected = |text: &str| {
            let of = text.lines().filter_map(|line| line.split_once(" op selected "));
            of.map(|(_, opcode)| opcode.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(selected(&text.lock().unwrap()), ["8"]);
        assert_eq!(text.lock().unwrap().lines().count(), 4);
        tracer(true).op(&["complete"], 0, &op);
        tracer(true).op(&["prep"], 0, &Op { kind: OpKind::Read, ..op });
        tracer(false).op(&["prep"], 0, &op);
        assert_eq!(selected(&text.lock().unwrap()).len(), 1);
    }
}
