//! The loop of engines with many I/Os in flight.
//!
//! Each round fills the free slots, reads the clock once for all I/Os it issues, submits and waits in one
//! system call, reads the clock once for all completions and records them. An explicit `iodepth_batch*`
//! or `iodepth_low` is followed to the letter: I/Os are then submitted and reaped in groups of that size,
//! and queueing resumes only when few enough are left.

use fiord_engine::{Engine, FreeSlot, Op, OpKind, Outcome, Queued, Time, Want};
use fiord_load::{Next, Source};
use fiord_stat::recorder::{Times, axes};
use fiord_stat::shares::LoopStage;
use fiord_types::Dir;

use super::super::core::JobState;
use super::super::hooks::{Completed, Delay, Events};
use super::fill::FillOutcome;
use super::mode::Mode;
use super::ops::direction;
use super::slots::{Batching, CompletionBatch, CompletionBatches, EMPTY_BATCHES, Slots};
use super::{Parts, Payload, Worker, burst};
use crate::error::{JobError, Stage};

/// The state of the loop.
pub struct LoopState {
    slots: Slots,
    batching: Batching,
    /// An operation of the source that could not be carried out yet.
    held: Option<Next>,
    pub now: u64,
    /// No more I/Os are issued; the loop waits for those in flight.
    pub ended: bool,
}

impl<E: Engine, S: Source, P: Payload> Worker<'_, E, S, P> {
    /// Runs to the end of the work, the end of the run time or the first error.
    pub fn run_queued<M: Mode>(&mut self) {
        let mut at = LoopState {
            slots: Slots::new(std::mem::take(&mut self.slots)),
            batching: Batching::of(&self.state.job.depth),
            held: None,
            now: self.clock.now(),
            ended: false,
        };
        while self.parts().round::<M>(&mut at) {
            at.ended |= self.state.error.is_some()
                || (self.state.housekeeping_due(at.now)
                    && !burst::keep_house_queued::<M::Sampled, E>(&mut self.dyn_parts(), &mut at));
        }
        self.slots = at.slots.free;
    }
}

impl<E: Engine, S: Source + ?Sized, P: Payload + ?Sized> Parts<'_, '_, E, S, P> {
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
        let want = Want { min, max: batching.max, timeout: None };
        let mut limited = want;
        if M::HOOKS && !*ended && !self.state.limit_wait(self.clock, &mut limited) {
            *now = self.clock.now();
            self.end_stage::<M>(LoopStage::Waiting);
            return true;
        }
        if !self.turn::<M>(slots, limited, now) {
            return false;
        }
        while slots.in_flight() > batching.low && !all && batching.comes_down(pending) {
            let want = batching.down(slots.in_flight());
            if !self.turn::<M>(slots, want, now) {
                return false;
            }
        }
        true
    }

    /// Takes back the slots that hooks have released. `ended`: the loop issues no more I/Os.
    #[inline(never)]
    fn take_released(&mut self, slots: &mut Slots, ended: bool) {
        while let Some(slot) = self.state.hooks.released() {
            slots.released(slot);
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
        let fresh_data = std::mem::take(&mut slots.fresh_data);
        self.state.recorder.depth.record_n(slots.in_flight(), fresh_data);
        if !M::ROUGH_TIME && !slots.fresh.is_empty() {
            let filled = self.payload.writes() && std::mem::take(&mut slots.filled);
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

    /// Submits the queued ops in a separate system call.
    pub(super) fn flush_batch<M: Mode>(&mut self, slots: &mut Slots, now: u64) -> u64 {
        self.stamp_issue::<M>(slots);
        self.end_stage::<M>(LoopStage::Rest);
        match self.engine.flush() {
            Ok(count) => self.state.recorder.submit.record(count),
            Err(e) => {
                let error = JobError::from(e).during(Stage::Submit);
                self.state.error.get_or_insert(error);
            }
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
                let error = JobError::from(e).during(Stage::Submit);
                self.state.error.get_or_insert(error);
                return false;
            }
            self.end_stage::<M>(LoopStage::Submission);
        }
        if let Err(e) = self.engine.reap(want, &mut slots.done) {
            self.state.error.get_or_insert(JobError::from(e).during(Stage::Reap));
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
        let mut batches = EMPTY_BATCHES;
        while let Some((slot, outcome)) = slots.done.pop_front() {
            self.complete_one::<M>(slots, (slot, outcome), *now, &mut batches);
        }
        self.record_all::<M>(&batches, *now);
        self.end_stage::<M>(LoopStage::Completion);
        true
    }

    /// Frees the slot of one completion and records it, at once or together with completions that took
    /// the same time.
    #[inline(always)]
    pub(super) fn complete_one<M: Mode>(
        &mut self,
        slots: &mut Slots,
        (slot, outcome): (FreeSlot, Outcome),
        now: u64,
        batches: &mut CompletionBatches,
    ) {
        let flight = &slots.flights[slot.index() as usize];
        let op = &flight.op;
        if !is_whole(op, outcome) {
            return unusual_completion(
                self.state,
                self.engine,
                self.clock,
                slots,
                (slot, outcome),
                now,
            );
        }
        let dir = direction(op);
        let bytes = u64::from(op.len) + u64::from(op.at);
        let (start, issue) = (flight.start, flight.issue);
        let batch = &mut batches[dir];
        if batch.start == start && batch.issue == issue {
            batch.count += 1;
            batch.bytes += bytes;
        } else {
            let ended = std::mem::replace(batch, CompletionBatch { bytes, start, issue, count: 1 });
            self.record::<M>(dir, &ended, now);
        }
        if M::HOOKS {
            let (op, times) = (*op, times(start, issue, now));
            return succeeded(self.state, self.engine, slots, slot, &op, times, now);
        }
        slots.free.push(slot);
    }

    /// Records completions that were gathered.
    #[inline(always)]
    pub(super) fn record_all<M: Mode>(&mut self, batches: &CompletionBatches, now: u64) {
        for (dir, batch) in batches.iter() {
            self.record::<M>(dir, batch, now);
        }
    }

    /// Records I/Os of one direction that took the same time.
    #[inline(always)]
    fn record<M: Mode>(&mut self, dir: Dir, batch: &CompletionBatch, now: u64) {
        if batch.count > 0 {
            let times = times(batch.start, batch.issue, now);
            self.state.recorder.complete_with(M::AXES, dir, batch.bytes, times, batch.count);
        }
    }
}

/// Whether this is the outcome of a read, write or trim that is complete. A trim returns 0 bytes.
#[inline(always)]
fn is_whole(op: &Op, outcome: Outcome) -> bool {
    let whole = if op.kind == OpKind::Trim { 0 } else { op.len };
    matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) && outcome == Outcome::ok(whole)
}

/// Whether the delayed operation must wait until no op is in flight.
#[inline(always)]
fn must_drain(held: Option<&Next>) -> bool {
    matches!(held, Some(Next::Flush(.., true) | Next::Close(_) | Next::Again(_) | Next::End))
}

/// A flush that ended, an I/O that failed, or one that moved less than it should: its rest is queued.
#[cold]
#[inline(never)]
fn unusual_completion<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slots: &mut Slots,
    (slot, outcome): (FreeSlot, Outcome),
    now: u64,
) {
    let flight = &mut slots.flights[slot.index() as usize];
    let op = flight.op;
    let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
    match outcome.get() {
        Ok(bytes) if moves && bytes > 0 => {
            if !std::mem::replace(&mut flight.short, true) {
                state.recorder.short(direction(&op));
            }
            flight.op.offset += u64::from(bytes);
            flight.op.at += bytes;
            flight.op.len -= bytes;
            queue_rest(state, engine, clock, slots, slot, now);
        }
        Ok(_) if !moves => {
            if op.kind != OpKind::Trim {
                state.recorder.synced(now.saturating_sub(flight.issue));
            }
            let times = times(flight.start, flight.issue, now);
            succeeded_cold(state, engine, slots, slot, &op, times, now);
        }
        Ok(_) | Err(_) => {
            let failed = Completed::failed(outcome, times(flight.start, flight.issue, now), now);
            let explanation = engine.explain(&slot);
            state.follow_failure(explanation, slot.index(), &op, &failed);
            slots.free.push(slot);
        }
    }
}

/// Tells the hooks that an op succeeded, and frees its slot unless a hook holds it. `op`: the last part of it.
#[inline(always)]
fn succeeded<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slots: &mut Slots,
    mut slot: FreeSlot,
    op: &Op,
    times: Times,
    now: u64,
) {
    let index = slot.index();
    let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
    let bytes = if moves { op.at + op.len } else { 0 };
    let data = match state.hooks.want(Events::DATA) {
        true => &engine.buffer(&mut slot)[..bytes as usize],
        false => &[],
    };
    let completed = Completed::ok(bytes, times, now);
    if state.hooks.completed(index, data, &completed, &mut state.recorder) {
        slots.free.push(slot);
    } else if let Some(holder) = state.handle_answers(index) {
        state.hooks.hold(holder, engine.hold(slot));
        slots.held();
    } else {
        slots.free.push(slot);
    }
}

/// [`succeeded`], out of line, for rare code.
#[cold]
#[inline(never)]
fn succeeded_cold<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slots: &mut Slots,
    slot: FreeSlot,
    op: &Op,
    times: Times,
    now: u64,
) {
    succeeded(state, engine, slots, slot, op, times, now);
}

/// Queues the rest of a short transfer in its slot.
fn queue_rest<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slots: &mut Slots,
    slot: FreeSlot,
    now: u64,
) {
    let op = slots.flights[slot.index() as usize].op;
    match engine.queue(slot, &op) {
        Queued::Pending => {}
        Queued::Done(slot, outcome) => {
            complete_at_once(state, engine, clock, slots, (slot, outcome), now);
        }
        Queued::Full(slot) => {
            // The engine has as many places as there are slots, and this one is ours.
            let full = "the engine accepts no I/O although its slot is free";
            state.error.get_or_insert(JobError::new(Stage::Queue, None, full));
            slots.free.push(slot);
        }
    }
}

/// An op completed as it was queued by rare code.
pub fn complete_at_once<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slots: &mut Slots,
    (slot, outcome): (FreeSlot, Outcome),
    now: u64,
) {
    let flight = slots.flights[slot.index() as usize];
    let op = flight.op;
    if !is_whole(&op, outcome) {
        return unusual_completion(state, engine, clock, slots, (slot, outcome), now);
    }
    let end = clock.now().max(now);
    let times = times(flight.start, flight.issue, end);
    let bytes = u64::from(op.len) + u64::from(op.at);
    state.recorder.complete_with(axes::DYNAMIC, direction(&op), bytes, times, 1);
    succeeded_cold(state, engine, slots, slot, &op, times, end);
}

/// The latencies of an I/O that has just completed.
#[inline(always)]
fn times(start: u64, issue: u64, now: u64) -> Times {
    Times {
        slat: issue.wrapping_sub(start),
        clat: now.wrapping_sub(issue),
        lat: now.wrapping_sub(start),
    }
}
