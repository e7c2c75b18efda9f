//! The state that a job saves at its end (`verify_state_save`) and when a trigger ends the run.

use std::sync::{Arc, OnceLock};

use fiord_engine::OpKind;
use fiord_formats::verify::state::VerifyState;
use fiord_job::option::table::VerifyPolicy;
use fiord_plan::{JobPlan, SyncMode, VerifyPlan};
use fiord_types::FileIndex;

use super::progress::WriteProgress;
use crate::error::JobError;
use crate::hook::IssuedIo;

/// Collects the state of one job.
#[derive(Debug)]
pub(crate) struct SavedState {
    progress: Arc<WriteProgress>,
    /// The job saves its state at its end.
    at_end: bool,
    /// `verify_policy=fsynced`, by file.
    flushes: Option<Vec<FileFlushes>>,
}

/// Which writes of a file a flush has made durable.
#[derive(Debug, Clone, Copy, Default)]
struct FileFlushes {
    /// Number of the first write that no flush covers.
    oldest: Option<u64>,
    /// The flush in flight: its slot, and the number of the first write that it does not cover.
    in_flight: Option<(u32, Option<u64>)>,
}

impl SavedState {
    /// `None` if the job saves no state. `triggers`: a trigger may save it. `writes`: receives how far the writes are.
    pub(crate) fn of(
        job: &JobPlan,
        plan: &VerifyPlan,
        triggers: bool,
        writes: &OnceLock<Arc<WriteProgress>>,
    ) -> Result<Option<Self>, JobError> {
        let saves = plan.saves_state || triggers;
        if !saves || !plan.pass.writes() {
            return Ok(None);
        }
        let progress = Arc::new(WriteProgress::of(job)?);
        // A worker is set up once.
        let _ = writes.set(Arc::clone(&progress));
        // Each write of such a file is durable when it completes.
        let synchronous = job.target.open.sync != SyncMode::None;
        let follows = plan.policy == VerifyPolicy::Fsynced && !synchronous;
        let flushes = follows.then(|| vec![FileFlushes::default(); job.target.files.len()]);
        Ok(Some(SavedState { progress, at_end: plan.saves_state, flushes }))
    }

    /// Whether the state depends on the flushes of the job.
    pub(crate) fn follows_flushes(&self) -> bool {
        self.flushes.is_some()
    }

    /// Changes what is known about the flushes of a file.
    fn update(&mut self, file: FileIndex, change: impl FnOnce(&mut FileFlushes)) {
        let Some(flushes) = &mut self.flushes else { return };
        let Some(one) = flushes.get_mut(file.get()) else { return };
        let before = one.oldest;
        change(one);
        if one.oldest != before {
            let oldest = flushes.iter().filter_map(|file| file.oldest).min();
            self.progress.first_not_durable(oldest);
        }
    }

    #[inline]
    pub(crate) fn write_issued(&mut self, io: &IssuedIo, number: u64) {
        self.update(io.op.file, |file| {
            file.oldest.get_or_insert(number);
            if let Some((_, after)) = &mut file.in_flight {
                after.get_or_insert(number);
            }
        });
        self.progress.issued(io.slot, number);
    }

    /// A write has completed, or it failed.
    #[inline]
    pub(crate) fn write_ended(&self, io: &IssuedIo, number: u64, succeeded: bool) {
        self.progress.ended(io.slot, number, succeeded);
    }

    /// A flush is issued. `oldest`: the number of the oldest write in flight, which the flush need not cover.
    pub(crate) fn flush_issued(&mut self, io: &IssuedIo, oldest: Option<u64>) {
        // `sync_file_range` does not make data durable.
        if matches!(io.op.kind, OpKind::Fsync | OpKind::Fdatasync) {
            self.update(io.op.file, |file| file.in_flight = Some((io.slot, oldest)));
        }
    }

    pub(crate) fn flush_completed(&mut self, io: &IssuedIo, succeeded: bool) {
        self.update(io.op.file, |file| {
            if let Some((_, after)) = file.in_flight.take_if(|(slot, _)| *slot == io.slot)
                && succeeded
            {
                file.oldest = after;
            }
        });
    }

    /// A file was flushed with nothing in flight.
    pub(crate) fn flushed(&mut self, file: FileIndex) {
        self.update(file, |file| *file = FileFlushes::default());
    }

    /// The state that the job saves at its end, with nothing in flight.
    pub(crate) fn at_end(&self) -> Option<VerifyState> {
        self.at_end.then(|| self.progress.state())
    }
}
