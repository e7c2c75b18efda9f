//! The completions of a loop with many I/Os in flight: each is recorded, shown to the hooks, and frees its slot.

use fiord_engine::{Engine, FreeSlot, Op, OpKind, Outcome, Queued, Time};
use fiord_load::Source;
use fiord_stat::recorder::{Times, axes};
use fiord_types::{Bytes, Dir, Nanos};

use super::super::core::JobState;
use super::super::layers::Borrowed;
use super::super::ops::direction;
use super::mode::Mode;
use super::slots::{CompletionBatch, CompletionBatches, Slots};
use super::{BorrowedWorker, Payload};
use crate::error::{JobError, Stage};
use crate::hook::{Completed, Events};

impl<E: Engine, S: Source + ?Sized, P: Payload + ?Sized> BorrowedWorker<'_, '_, E, S, P> {
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
                &mut Borrowed::of(self.engine),
                self.clock,
                slots,
                (slot, outcome),
                now,
            );
        }
        let dir = direction(op);
        let bytes = u64::from(op.len) + u64::from(op.at);
        let (start, issue) = (flight.start, flight.issue);
        if M::DYNAMIC && self.state.log.follows() {
            self.state.log.io(op, dir, &times(start, issue, now), now);
        }
        let batch = batches.batch(dir);
        if batch.start == start && batch.issue == issue {
            batch.count += 1;
            batch.bytes += bytes;
        } else {
            let ended = std::mem::replace(batch, CompletionBatch { bytes, start, issue, count: 1 });
            if ended.count > 0 {
                self.record::<M>(dir, &ended, now);
            }
        }
        if M::HOOKS {
            let (op, times) = (*op, times(start, issue, now));
            return succeeded(self.state, self.engine, slots, slot, &op, times, now);
        }
        slots.free.push(slot);
    }

    /// Records completions that were gathered.
    #[inline(always)]
    pub(super) fn record_all<M: Mode>(&mut self, batches: &mut CompletionBatches, now: u64) {
        while let Some((dir, batch)) = batches.take() {
            self.record::<M>(dir, batch, now);
        }
    }

    /// Records I/Os of one direction that took the same time.
    #[inline(always)]
    fn record<M: Mode>(&mut self, dir: Dir, batch: &CompletionBatch, now: u64) {
        let times = times(batch.start, batch.issue, now);
        self.state.recorder.complete_with(M::AXES, dir, Bytes(batch.bytes), times, batch.count);
    }
}

/// Whether this is the outcome of a read, write or trim that is complete. A trim returns 0 bytes.
#[inline(always)]
fn is_whole(op: &Op, outcome: Outcome) -> bool {
    matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim)
        && (outcome == Outcome::ok(op.len)
            || (op.kind == OpKind::Trim && outcome == Outcome::ok(0)))
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
    if outcome.is_uncounted() {
        let (dir, bytes) = (direction(&op), Bytes(op.len.into()));
        state.recorder.complete::<{ axes::BARE }>(dir, bytes, Times::default());
        let times = times(flight.start, flight.issue, now);
        return succeeded_cold(state, engine, slots, slot, &op, times, now);
    }
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
        Ok(_) if state.ends_at_end_of_file(slot.index(), &op) => {
            if !flight.short {
                state.recorder.short(Dir::Read);
            }
            flight.op.len = 0;
            complete_now(state, engine, clock, slots, (slot, Outcome::ok(0)), now);
        }
        Ok(_) if !moves => {
            if op.kind != OpKind::Trim {
                state.recorder.synced(Nanos(now.saturating_sub(flight.issue)));
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
    match holder_after_success(state, engine, &mut slot, op, times, now) {
        Some(holder) => {
            state.hooks.hold(holder, engine.hold(slot));
            slots.held(index, state.hooks.spare_slot());
        }
        None => slots.free.push(slot),
    }
}

/// Tells the hooks that an op succeeded. Returns the hook that holds its slot; `None`: the slot is free. `op`: the last
/// part of it.
#[inline(always)]
pub(super) fn holder_after_success<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    slot: &mut FreeSlot,
    op: &Op,
    times: Times,
    now: u64,
) -> Option<usize> {
    let index = slot.index();
    let moves = matches!(op.kind, OpKind::Read | OpKind::Write);
    let bytes = if moves { op.at + op.len } else { 0 };
    let data = match state.hooks.want(Events::DATA) {
        true => &engine.buffer(slot)[..bytes as usize],
        false => &[],
    };
    let completed = Completed::ok(bytes, times, now);
    match state.hooks.completed(index, data, &completed, &mut state.recorder) {
        true => None,
        false => state.handle_answers(index),
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
            let end = clock.now().max(now);
            complete_now(state, engine, clock, slots, (slot, outcome), end);
        }
        Queued::Full(slot) => {
            // The engine has as many places as there are slots, and this one is ours.
            let full = "the engine accepts no I/O although its slot is free";
            state.error.get_or_insert(JobError::new(Stage::Queue, None, full));
            slots.free.push(slot);
        }
    }
}

/// An op completed as it was queued: counts it as one submission and one reap, and records it. Returns the time after
/// that.
#[cold]
#[inline(never)]
pub(super) fn complete_at_once<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slots: &mut Slots,
    (slot, outcome): (FreeSlot, Outcome),
    now: u64,
) -> u64 {
    let end = clock.now().max(now);
    let op = slots.flights[slot.index() as usize].op;
    let data = count_accepted(state, &op);
    state.recorder.depth.record_n(slots.in_flight(), data.into());
    state.recorder.submit.record(1);
    state.recorder.complete.record(1);
    complete_now(state, engine, clock, slots, (slot, outcome), end);
    // After a wait for the log, time has passed.
    if state.log.take_waited() { clock.now() } else { end }
}

/// Records an op that completed at `end`, by rare code.
fn complete_now<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slots: &mut Slots,
    (slot, outcome): (FreeSlot, Outcome),
    end: u64,
) {
    let flight = slots.flights[slot.index() as usize];
    let op = flight.op;
    if !is_whole(&op, outcome) {
        return unusual_completion(state, engine, clock, slots, (slot, outcome), end);
    }
    let times = times(flight.start, flight.issue, end);
    let bytes = u64::from(op.len) + u64::from(op.at);
    state.cut_windows(end);
    state.recorder.complete_with(axes::DYNAMIC, direction(&op), Bytes(bytes), times, 1);
    state.log.io(&op, direction(&op), &times, end);
    succeeded_cold(state, engine, slots, slot, &op, times, end);
}

/// The latencies of an I/O that has just completed.
#[inline(always)]
fn times(start: u64, issue: u64, now: u64) -> Times {
    Times {
        slat: Nanos(issue.wrapping_sub(start)),
        clat: Nanos(now.wrapping_sub(issue)),
        lat: Nanos(now.wrapping_sub(start)),
    }
}

/// Counts an op that the engine accepted. Returns whether it moves or discards data; false for a flush.
#[inline(always)]
pub(super) fn count_accepted(state: &mut JobState<'_>, op: &Op) -> bool {
    if matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim) {
        state.drawn += 1;
        state.recorder.issued(direction(op));
        return true;
    }
    state.recorder.sync_issued += 1;
    false
}
