//! The record of the simulated device (`sim_record`): a line for each op, with its times. It does not depend on what the job
//! measures, so it tells what the results of the job should be.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use fiord_sys::file::FileGuard;

use crate::{EngineError, Op, OpKind, Outcome, Slot};

/// The first line of the file. Times are in nanoseconds of the device's clock, from its start.
/// `submission` and `reap` are the numbers of the calls: submissions and reaps count together, in their order.
const COLUMNS: &str =
    "slot,file,kind,offset,len,at,queued,submitted,ended,reaped,submission,reap,result\n";

/// Writes the record.
#[derive(Debug)]
pub(super) struct DeviceRecord {
    out: BufWriter<File>,
    /// Start of the clock, ns.
    start: u64,
    /// The op of each slot.
    ops: Vec<Option<RecordedOp>>,
    /// Slots whose ops have ended in the current reap.
    reaped: Vec<(Slot, Outcome)>,
    /// Submissions and reaps with ops so far.
    calls: u64,
    /// The first error.
    failed: Option<EngineError>,
}

#[derive(Debug, Clone, Copy)]
struct RecordedOp {
    op: Op,
    queued: u64,
    submitted: u64,
    ended: u64,
    submission: u64,
}

impl DeviceRecord {
    /// Creates the file. `start`: start of the clock, ns.
    pub(super) fn create(path: &Path, slots: usize, start: u64) -> Result<Self, EngineError> {
        let file = FileGuard::typed().replace(path);
        let file = file.map_err(|error| EngineError::from_sys("sim_record", &error))?;
        let mut out = BufWriter::with_capacity(1 << 16, file);
        let failed = out.write_all(COLUMNS.as_bytes()).err().map(|error| not_written(&error));
        let ops = vec![None; slots];
        Ok(DeviceRecord { out, start, ops, reaped: Vec::new(), calls: 0, failed })
    }

    /// An op was queued at `now`, ns.
    pub(super) fn queued(&mut self, slot: Slot, op: &Op, now: u64) {
        self.ops[slot as usize] =
            Some(RecordedOp { op: *op, queued: now, submitted: now, ended: now, submission: 0 });
    }

    /// A submission begins.
    pub(super) fn submits(&mut self) {
        self.calls += 1;
    }

    /// The op of a slot was part of the current submission, which began at `submitted`. The op ends at `ended`, ns.
    pub(super) fn submitted(&mut self, slot: Slot, submitted: u64, ended: u64) {
        if let Some(op) = &mut self.ops[slot as usize] {
            (op.submitted, op.ended, op.submission) = (submitted, ended, self.calls);
        }
    }

    /// The current reap returns the op of a slot.
    pub(super) fn reaps(&mut self, slot: Slot, outcome: Outcome) {
        self.reaped.push((slot, outcome));
    }

    /// The current reap ends at `now`, ns.
    pub(super) fn reaped(&mut self, now: u64) {
        self.calls += u64::from(!self.reaped.is_empty());
        let reap = self.calls;
        for (slot, outcome) in std::mem::take(&mut self.reaped) {
            let Some(recorded) = self.ops[slot as usize].take() else { continue };
            let RecordedOp { op, queued, submitted, ended, submission } = recorded;
            let since = |time: u64| time.saturating_sub(self.start);
            let result = match outcome.get() {
                Ok(bytes) => i64::from(bytes),
                Err(errno) => -i64::from(errno.raw()),
            };
            let written = writeln!(
                self.out,
                "{slot},{},{},{},{},{},{},{},{},{},{submission},{reap},{result}",
                op.file.get(),
                kind(op.kind),
                op.offset,
                op.len,
                op.at,
                since(queued),
                since(submitted),
                since(ended),
                since(now)
            );
            if let (Err(error), None) = (written, &self.failed) {
                self.failed = Some(not_written(&error));
            }
        }
    }

    /// Writes the rest.
    pub(super) fn close(mut self) -> Result<(), EngineError> {
        let flushed = self.out.flush().map_err(|error| not_written(&error));
        self.failed.map_or(flushed, Err)
    }
}

fn not_written(error: &std::io::Error) -> EngineError {
    EngineError::plain(format!("cannot write the record of the simulated device: {error}"))
        .help("To fix: name a file with `sim_record` that can grow")
}

fn kind(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Fsync => "fsync",
        OpKind::Fdatasync => "fdatasync",
        OpKind::SyncFileRange(_) => "sync_file_range",
    }
}
