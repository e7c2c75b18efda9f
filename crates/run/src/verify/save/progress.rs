//! How far the writes of a job are, for its verify state. The worker publishes it, and the conductor can read it at any
//! time: a trigger saves the states while writes hang in the device.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use fiord_formats::verify::state::{FiordMark, VerifyState};
use fiord_load::any_source;
use fiord_plan::JobPlan;
use fiord_types::Dir;

use crate::error::JobError;
use crate::verify::track::OrderSums;

/// No write.
const NONE: u64 = u64::MAX;

/// The writes of one job: how many were issued, and which of them are not complete or not durable.
#[derive(Debug)]
pub(crate) struct WriteProgress {
    name: Vec<u8>,
    index: u64,
    depth: usize,
    order: OrderSums,
    issued: AtomicU64,
    /// `verify_policy=fsynced`: number of the first write that no flush covers.
    not_durable: AtomicU64,
    /// The number of the write in each slot.
    in_flight: Box<[AtomicU64]>,
    failed: Mutex<Vec<u64>>,
}

impl WriteProgress {
    /// A job that has not written yet.
    ///
    /// # Errors
    /// The I/Os of the job cannot be drawn.
    pub(crate) fn of(job: &JobPlan) -> Result<Self, JobError> {
        Ok(WriteProgress {
            name: VerifyState::stored_name(&job.identity.name),
            index: job.identity.index.get() as u64,
            depth: job.depth.depth.max(1) as usize,
            order: OrderSums::of(&mut any_source(job)?, Dir::Write),
            issued: AtomicU64::new(0),
            not_durable: AtomicU64::new(NONE),
            in_flight: (0..job.slots()).map(|_| AtomicU64::new(NONE)).collect(),
            failed: Mutex::default(),
        })
    }

    /// The write with this number is issued in a slot.
    #[inline]
    pub(super) fn issued(&self, slot: u32, number: u64) {
        if let Some(slot) = self.in_flight.get(slot as usize) {
            slot.store(number, Ordering::Relaxed);
        }
        self.issued.store(number + 1, Ordering::Release);
    }

    /// The write in a slot has completed, or it failed.
    #[inline]
    pub(super) fn ended(&self, slot: u32, number: u64, succeeded: bool) {
        if !succeeded {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        }
        if let Some(slot) = self.in_flight.get(slot as usize) {
            slot.store(NONE, Ordering::Release);
        }
    }

    /// The first write that no flush covers has this number. `None`: all writes are durable.
    pub(super) fn first_not_durable(&self, number: Option<u64>) {
        self.not_durable.store(number.unwrap_or(NONE), Ordering::Release);
    }

    /// The state now. The caller makes sure that the job issues no write meanwhile.
    pub(crate) fn state(&self) -> VerifyState {
        let issued = self.issued.load(Ordering::Acquire);
        let number = issued.min(self.not_durable.load(Ordering::Acquire));
        let in_flight = self.in_flight.iter().map(|slot| slot.load(Ordering::Acquire));
        let mut incomplete: Vec<_> = in_flight.filter(|&n| n != NONE).map(Some).collect();
        incomplete.resize(incomplete.len().max(self.depth), None);
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        incomplete.extend(failed.iter().copied().map(Some));
        let generators = FiordMark::new(self.order.of_first(issued), issued).bytes();
        let (name, index) = (self.name.clone(), self.index);
        VerifyState { number, index, flag: 0, generators, name, incomplete }
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::EnginePlan;

    use super::*;

    #[test]
    fn a_state_lists_writes_in_flight_then_free_entries_then_failed_writes() {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        job.depth.depth = 4;
        let progress = WriteProgress::of(&job).unwrap();
        assert_eq!(progress.state().incomplete, [None; 4]);
        for (slot, number) in [(0, 0), (1, 1), (2, 2)] {
            progress.issued(slot, number);
        }
        progress.ended(0, 0, true);
        progress.ended(1, 1, false);
        progress.issued(0, 3);
        let state = progress.state();
        assert_eq!((state.number, state.mark().unwrap().issued()), (4, 4));
        assert_eq!(state.incomplete, [Some(3), Some(2), None, None, Some(1)]);
        progress.first_not_durable(Some(2));
        let state = progress.state();
        assert_eq!((state.number, state.mark().unwrap().issued()), (2, 4));
        progress.first_not_durable(None);
        assert_eq!(progress.state().number, 4);
    }
}
