//! The state that a job saves at its end (`verify_state_save`).

use fiord_engine::OpKind;
use fiord_formats::verify::state::{FiordMark, VerifyState};
use fiord_job::option::table::VerifyPolicy;
use fiord_load::any_source;
use fiord_plan::{JobPlan, SyncMode, VerifyPass, VerifyPlan};
use fiord_types::{Dir, FileIndex};

use super::super::IssuedIo;
use super::expected::OrderSums;
use crate::error::JobError;

/// Collects the state of one job.
#[derive(Debug, Clone)]
pub(super) struct SavedState {
    state: VerifyState,
    order: OrderSums,
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
    /// `None` if the job saves no state.
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Result<Option<Self>, JobError> {
        let writes = matches!(plan.pass, VerifyPass::AfterWrites | VerifyPass::WritesOnly);
        if !plan.saves_state || !writes {
            return Ok(None);
        }
        let state = VerifyState {
            number: 0,
            index: job.identity.index.get() as u64,
            flag: 0,
            generators: [0; 48],
            name: VerifyState::stored_name(&job.identity.name),
            incomplete: vec![None; job.depth.depth.max(1) as usize],
        };
        // Each write of such a file is durable when it completes.
        let synchronous = job.target.open.sync != SyncMode::None;
        let follows = plan.policy == VerifyPolicy::Fsynced && !synchronous;
        let flushes = follows.then(|| vec![FileFlushes::default(); job.target.files.len()]);
        let order = OrderSums::of(&mut any_source(job)?, Dir::Write);
        Ok(Some(SavedState { state, order, flushes }))
    }

    /// Whether the state depends on the flushes of the job.
    pub(super) fn follows_flushes(&self) -> bool {
        self.flushes.is_some()
    }

    fn flushes(&mut self, file: FileIndex) -> Option<&mut FileFlushes> {
        self.flushes.as_mut()?.get_mut(file.get())
    }

    /// A write is issued.
    #[inline]
    pub(super) fn write_issued(&mut self, file: FileIndex, number: u64) {
        if let Some(file) = self.flushes(file) {
            file.oldest.get_or_insert(number);
            if let Some((_, after)) = &mut file.in_flight {
                after.get_or_insert(number);
            }
        }
    }

    /// A write failed.
    pub(super) fn failed(&mut self, number: u64) {
        self.state.incomplete.push(Some(number));
    }

    /// A flush is issued. `oldest`: the number of the oldest write in flight, which the flush need not cover.
    pub(super) fn flush_issued(&mut self, io: &IssuedIo, oldest: Option<u64>) {
        // `sync_file_range` does not make data durable.
        if matches!(io.op.kind, OpKind::Fsync | OpKind::Fdatasync)
            && let Some(file) = self.flushes(io.op.file)
        {
            file.in_flight = Some((io.slot, oldest));
        }
    }

    /// A flush has completed.
    pub(super) fn flush_completed(&mut self, io: &IssuedIo, succeeded: bool) {
        if let Some(file) = self.flushes(io.op.file)
            && let Some((_, after)) = file.in_flight.take_if(|(slot, _)| *slot == io.slot)
            && succeeded
        {
            file.oldest = after;
        }
    }

    /// A file was flushed with nothing in flight.
    pub(super) fn flushed(&mut self, file: FileIndex) {
        if let Some(file) = self.flushes(file) {
            *file = FileFlushes::default();
        }
    }

    /// The state after this many writes, with none in flight.
    pub(super) fn at(&self, writes: u64) -> VerifyState {
        let oldest = self.flushes.iter().flatten().filter_map(|file| file.oldest).min();
        let generators = FiordMark::new(self.order.of_first(writes), writes).bytes();
        VerifyState { number: oldest.unwrap_or(writes), generators, ..self.state.clone() }
    }
}
