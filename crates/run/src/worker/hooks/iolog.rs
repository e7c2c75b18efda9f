//! `write_iolog`: records the I/Os of a job in a log that `read_iolog` can replay.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_engine::{Op, OpKind};
use fiord_formats::trace::{TraceFlags, TraceIo, TraceKind, TraceOutcome, TraceTarget};
use fiord_load::WriteCommand;
use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_types::{Bytes, Nanos, plural};

use crate::error::JobError;
use crate::hook::{Completed, Disposition, Events, Hook, HookResults, IssuedIo};
use crate::trace::iolog::{Iolog, Iologs};

/// Records the I/Os of one job.
pub(crate) struct IologHook {
    log: Arc<Iolog>,
    at_completion: bool,
    files: Vec<PathBuf>,
    /// The files in the log, by index in the plan. Empty before the first I/O.
    targets: Vec<TraceTarget>,
    /// The op in flight of each slot, if it is a write.
    writes: Vec<Option<Op>>,
    /// The first two writes in flight that overlapped, and how many did.
    overlap: Option<(Op, Op, u64)>,
    has_ended: bool,
}

impl IologHook {
    /// The hook of a job; `None` if it keeps no log.
    pub(crate) fn of(job: &JobPlan, logs: &Iologs) -> Result<Option<Box<Self>>, JobError> {
        let Some(plan) = &job.iolog else { return Ok(None) };
        Ok(Some(Box::new(IologHook {
            log: logs.open(plan)?,
            at_completion: plan.at_completion,
            files: job.target.files.iter().map(|file| file.path.clone()).collect(),
            targets: Vec::new(),
            writes: vec![None; job.slots() as usize],
            overlap: None,
            has_ended: false,
        })))
    }

    fn paths(&self) -> Vec<&Path> {
        self.files.iter().map(PathBuf::as_path).collect()
    }

    /// The line of an op; `None` if logs cannot state it.
    #[inline]
    fn line(&self, op: &Op, outcome: Option<TraceOutcome>) -> Option<TraceIo> {
        let kind = match op.kind {
            OpKind::Read => TraceKind::Read,
            OpKind::Write => TraceKind::Write,
            OpKind::Trim => TraceKind::Trim,
            OpKind::Fsync => TraceKind::Sync,
            OpKind::Fdatasync => TraceKind::DataSync,
            OpKind::SyncFileRange(_) => return None,
        };
        Some(TraceIo {
            time: Nanos::ZERO,
            target: *self.targets.get(op.file.get())?,
            kind,
            offset: Bytes(op.offset),
            len: Bytes(u64::from(op.len)),
            flags: match op.attributes.command {
                WriteCommand::Durable => TraceFlags::FUA,
                _ => TraceFlags::NONE,
            },
            priority: 0,
            outcome,
        })
    }

    /// Notes whether a write overlaps another one in flight.
    fn note_overlap(&mut self, io: &IssuedIo) {
        if io.op.kind != OpKind::Write || self.writes.len() < 2 {
            return;
        }
        let new = &io.op;
        let end = |op: &Op| op.offset + u64::from(op.len);
        let overlaps =
            |old: &&Op| old.file == new.file && old.offset < end(new) && new.offset < end(old);
        if let Some(old) = self.writes.iter().flatten().find(overlaps) {
            let first = self.overlap.get_or_insert((*old, *new, 0));
            first.2 += 1;
        }
        if let Some(slot) = self.writes.get_mut(io.slot as usize) {
            *slot = Some(*new);
        }
    }
}

impl Hook for IologHook {
    fn events(&self) -> Events {
        Events::ISSUED | Events::COMPLETED | Events::FLUSHES
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        if self.targets.is_empty() {
            self.targets = self.log.begin(&self.paths(), io.start);
        }
        self.note_overlap(io);
        if !self.at_completion
            && let Some(line) = self.line(&io.op, None)
        {
            self.log.add(io.start, &line);
        }
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if let Some(slot) = self.writes.get_mut(io.slot as usize) {
            *slot = None;
        }
        if self.at_completion {
            let result = match end.outcome.get() {
                Ok(_) if end.succeeded => Ok(Bytes(u64::from(io.op.len))),
                Ok(bytes) => Ok(Bytes(u64::from(bytes))),
                Err(errno) => Err(errno),
            };
            let outcome = TraceOutcome { latency: end.times.lat, result };
            if let Some(line) = self.line(&io.op, Some(outcome)) {
                self.log.add(end.end.saturating_sub(end.times.lat.0), &line);
            }
        }
        match self.log.failure() {
            None => Disposition::Release,
            Some(error) => Disposition::Fail(Box::new(error)),
        }
    }

    fn end(&mut self, now: u64) -> Result<(), JobError> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Ok(());
        }
        let files = if self.targets.is_empty() { Vec::new() } else { self.paths() };
        self.log.end(&files, now)
    }

    fn add_results(&self, results: &mut HookResults) {
        if let Some((old, new, count)) = &self.overlap {
            let range = |op: &Op| format!("{}/{}", op.offset, op.len);
            results.warnings.push(format!(
                "iolog: overlap {}, {}: {count} write{} overlapped another one in flight, so a replay of the log may \
                 store other data",
                range(old),
                range(new),
                plural(*count)
            ));
        }
    }
}

/// A job that ends early leaves a log that is whole.
impl Drop for IologHook {
    fn drop(&mut self) {
        let _ = self.end(0);
    }
}
