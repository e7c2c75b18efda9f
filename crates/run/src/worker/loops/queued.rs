//! The loop of engines with many I/Os in flight.
//!
//! Each round fills the free slots, reads the clock once for all I/Os it issues, submits and waits in one
//! system call, reads the clock once for all completions and records them. An explicit `iodepth_batch*`
//! or `iodepth_low` is followed to the letter: I/Os are then submitted and reaped in groups of that size,
//! and queueing resumes only when few enough are left.

use fiord_engine::{Engine, EngineError, Time, Want};
use fiord_load::{Next, Source};
use fiord_stat::shares::LoopStage;

use super::super::core::JobState;
use super::super::layers::Borrowed;
use super::fill::FillOutcome;
use super::mode::Mode;
use super::slots::{CompletionBatches, LoopState, Slots};
use super::{BorrowedWorker, Payload, Worker, burst};
use crate::error::{JobError, Stage};
use crate::hook::{Delay, Events};

impl<E: Engine, S: Source, P: Payload> Worker<'_, E, S, P> {
    /// Runs to the end of the work, the end of the run time or the first error.
    #[inline(always)]
    pub(crate) fn run_queued<M: Mode>(&mut self) {
        let mut at = LoopState::begin(&mut self.state, &mut self.slots, self.clock.now());
        loop {
            while self.borrowed().round::<M>(&mut at) {
                at.ended |= self.state.error.is_some()
                    || (self.state.housekeeping_due(at.now)
                        && !self.keep_house_queued::<M::Sampled>(&mut at));
            }
            if !M::HOOKS || !self.state.wind_down() {
                break;
            }
            at.ended = false;
        }
        at.end(&mut self.state, &mut self.slots);
    }

    /// Housekeeping, then a burst of samples. False when the job must issue no more I/Os.
    #[cold]
    #[inline(never)]
    fn keep_house_queued<M: Mode>(&mut self, at: &mut LoopState) -> bool {
        let mut engine = Borrowed::of(&mut self.engine);
        let mut worker = BorrowedWorker {
            state: &mut self.state,
            engine: &mut engine,
            source: &mut self.source as &mut dyn Source,
            payload: &mut self.payload as &mut dyn Payload,
            clock: &self.clock,
        };
        burst::keep_house_queued::<M, _>(&mut worker, at)
    }
}

impl<E: Engine, S: Source + ?Sized, P: Payload + ?Sized> BorrowedWorker<'_, '_, E, S, P> {
    /// Fills the free slots, submits, waits, records completions. False when the job is over.
    #[inline(always)]
    pub(super) fn round<M: Mode>(&mut self, at: &mut LoopState) -> bool {
        let LoopState { slots, batching, held, now, ended } = at;
        if M::HOOKS && self.state.hooks.held() > 0 {
            self.take_released(slots, *ended);
        }
        if !*ended {
            let filled = self.fill::<M>(slots, batching, held, now);
            if filled != FillOutcome::Wait {
                if filled == FillOutcome::Housekeeping {
                    return true;
                }
                *ended = true;
            }
        }
        let pending = slots.in_flight();
        if pending == 0 {
            let mut held = false;
            if M::HOOKS {
                held = self.state.hooks.held() > 0;
                if !*ended || held {
                    *ended |= !self.state.wait(self.clock, now);
                }
            }
            self.end_stage::<M>(LoopStage::Waiting);
            return !*ended || held;
        }
        let all = *ended || must_drain(held.as_ref());
        // When all must come back, wait for one at a time: completions must not wait for each other.
        let min = if all { 1 } else { batching.min.min(pending) };
        let mut want = Want { min, max: batching.max, timeout: None };
        if M::HOOKS && !*ended && !self.state.limit_wait(self.clock, &mut want) {
            *now = self.clock.now();
            self.end_stage::<M>(LoopStage::Waiting);
            return true;
        }
        // One call, because it is inlined.
        loop {
            if !self.turn::<M>(slots, want, now) {
                return false;
            }
            if slots.in_flight() <= batching.low || all || !batching.comes_down(pending) {
                return true;
            }
            want = batching.down(slots.in_flight());
        }
    }

    /// Takes back the slots that hooks have released. `ended`: the loop issues no more I/Os.
    #[inline(never)]
    fn take_released(&mut self, slots: &mut Slots, ended: bool) {
        while let Some(slot) = self.state.released_slot() {
            if let Some(spare) = slots.released(slot) {
                self.state.hooks.keep(spare);
            }
        }
        if ended {
            self.state.waiting.note(Delay::Completion);
        }
    }

    /// Stamps everything queued since the last submission: it is issued now, at the depth that the
    /// device is about to see. If payloads were made, the I/Os start now, so that no latency contains
    /// the time that took.
    #[inline(always)]
    fn stamp_issue<M: Mode>(&mut self, slots: &mut Slots) {
        let fresh_data = slots.fresh.len() as u64 - std::mem::take(&mut slots.fresh_flushes);
        self.state.recorder.depth.record_n(slots.in_flight(), fresh_data);
        if !M::ROUGH_TIME && !slots.fresh.is_empty() {
            let filled = (M::HOOKS || self.payload.writes()) && std::mem::take(&mut slots.filled);
            let start = filled.then(|| self.clock.now());
            let issue = self.clock.now();
            for &slot in &slots.fresh {
                let flight = &mut slots.flights[slot as usize];
                flight.issue = issue;
                if let Some(start) = start {
                    flight.start = start;
                }
            }
        }
        slots.fresh.clear();
    }

    /// Submits the queued ops in a separate system call. The remainder of a short transfer does not count as a further
    /// I/O of the submission.
    pub(super) fn flush_batch<M: Mode>(&mut self, slots: &mut Slots, now: u64) -> u64 {
        let submitted = slots.fresh.len() as u32;
        self.stamp_issue::<M>(slots);
        self.end_stage::<M>(LoopStage::Rest);
        match self.engine.flush() {
            Ok(_) => self.state.recorder.submit.record(submitted),
            Err(e) => engine_failed(self.state, e, Stage::Submit),
        }
        self.end_stage::<M>(LoopStage::Submission);
        self.time::<M>(now)
    }

    /// One submission with its wait, and the completions. False when the engine is broken.
    #[inline(always)]
    fn turn<M: Mode>(&mut self, slots: &mut Slots, want: Want, now: &mut u64) -> bool {
        let submitted = slots.fresh.len() as u32;
        self.stamp_issue::<M>(slots);
        if submitted > 0 {
            self.state.recorder.submit.record(submitted);
        }
        self.end_stage::<M>(LoopStage::Rest);
        if M::SAMPLED {
            // Use a separate call, to distinguish its time from the wait.
            if let Err(e) = self.engine.flush() {
                engine_failed(self.state, e, Stage::Submit);
                return false;
            }
            self.end_stage::<M>(LoopStage::Submission);
        }
        if let Err(e) = self.engine.reap(want, &mut slots.done) {
            engine_failed(self.state, e, Stage::Reap);
            return false;
        }
        *now = self.time::<M>(*now);
        self.end_stage::<M>(LoopStage::Waiting);
        let count = slots.done.len();
        if M::HOOKS {
            self.state.waiting.ended(*now, count == 0);
        }
        // A poll that found nothing is not one of the reaps that the report counts.
        if count > 0 {
            self.state.recorder.complete.record(count as u32);
        }
        self.state.cut_windows(*now);
        let mut batches = CompletionBatches::default();
        while let Some((slot, outcome)) = slots.done.pop_front() {
            self.complete_one::<M>(slots, (slot, outcome), *now, &mut batches);
        }
        self.record_all::<M>(&mut batches, *now);
        if M::HOOKS && self.state.hooks.want(Events::DATA) {
            // The next I/Os begin after the hooks have read these bytes.
            *now = self.clock.now();
        }
        if M::DYNAMIC && self.state.log.follows() && self.state.log.take_waited() {
            *now = self.clock.now();
        }
        self.end_stage::<M>(LoopStage::Completion);
        true
    }
}

/// The engine is broken.
#[cold]
#[inline(never)]
fn engine_failed(state: &mut JobState<'_>, error: EngineError, stage: Stage) {
    state.error.get_or_insert(JobError::from(error).during(stage));
}

/// Whether the delayed operation must wait until no op is in flight.
#[inline(always)]
fn must_drain(held: Option<&Next>) -> bool {
    matches!(held, Some(Next::Flush(.., true) | Next::Close(_) | Next::Again(_) | Next::End))
}
