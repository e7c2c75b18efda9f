//! How a loop with many I/Os in flight fills its free slots: it chooses the next op, prepares it and
//! submits it to the engine.

use fiord_engine::{Engine, FreeSlot, Op, OpKind, Outcome, Queued, Time};
use fiord_load::{Displaced, Io, Next, Source, WriteCommand};
use fiord_stat::shares::LoopStage;
use fiord_types::Dir;

use super::super::core::JobState;
use super::super::layers::Borrowed;
use super::super::ops::{op_of, op_of_flush};
use super::complete::{complete_at_once, count_accepted};
use super::mode::Mode;
use super::slots::{Batching, InFlight, Slots};
use super::{BorrowedWorker, ControlOutcome, Payload, carry_out_control, extra_io};
use crate::error::{JobError, Stage};
use crate::hook::{Admission, Delay, Events};

/// How filling ended.
#[derive(PartialEq, Eq)]
pub(super) enum FillOutcome {
    /// Every slot is in use, or the engine accepts no more, or the next op must wait for others.
    Wait,
    /// The work is done.
    End,
    /// The job must stop.
    Stop,
    /// I/Os completed as they were queued, and housekeeping is due.
    Housekeeping,
}

/// Why an operation of the source is not issued now.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NotNow {
    /// The operation has been carried out, or is not possible: ask the source again.
    AskAgain,
    /// The operation is held back until something changes.
    Wait,
    /// The work is done.
    End,
    /// The job must stop.
    Stop,
}

impl<E: Engine, S: Source + ?Sized, P: Payload + ?Sized> BorrowedWorker<'_, '_, E, S, P> {
    /// Queues I/Os until no slot is free, or the next op must wait. `held`: an operation of the source
    /// that could not be carried out yet.
    #[inline(always)]
    pub(super) fn fill<M: Mode>(
        &mut self,
        slots: &mut Slots,
        batching: &Batching,
        held: &mut Option<Next>,
        last: &mut u64,
    ) -> FillOutcome {
        // By value: a variable whose address escapes is not kept in a register.
        let mut now = *last;
        if M::HOOKS {
            self.state.waiting.note(Delay::Completion);
        }
        if slots.refused.is_some()
            && let Some(outcome) =
                offer_again(self.state, &mut Borrowed::of(self.engine), self.clock, slots, now)
        {
            return outcome;
        }
        while !slots.free.is_empty() {
            if M::HOOKS && !self.state.ready(self.clock, &mut now, slots.in_flight()) {
                return FillOutcome::Wait;
            }
            let next = self.draw::<M>(slots, held, &mut now);
            // No type for both paths: an enum would be spilled, and reloading it stalls (store forwarding).
            let op = match next {
                Next::Io(drawn) => {
                    let io = match self.choose::<M>(drawn, slots, held, now) {
                        Ok(io) => io,
                        Err(NotNow::AskAgain) => continue,
                        Err(why) => return stop_filling(why, held, next),
                    };
                    self.end_stage::<M>(LoopStage::Rest);
                    self.prepare::<M>(slots, io, &mut now);
                    op_of(&io)
                }
                control => match self.carry_out_or_queue::<M>(control, slots, &mut now) {
                    Ok(op) => op,
                    Err(NotNow::AskAgain) => continue,
                    Err(why) => return stop_filling(why, held, next),
                },
            };
            let Some(slot) = slots.free.pop() else { break };
            let index = slot.index();
            match self.submit::<M>(slots, slot, op, now) {
                Queued::Pending => {
                    slots.fresh.push(index);
                    if !count_accepted(self.state, &op) {
                        slots.fresh_flushes += 1;
                    }
                }
                Queued::Done(slot, outcome) => {
                    now = complete_at_once(
                        self.state,
                        &mut Borrowed::of(self.engine),
                        self.clock,
                        slots,
                        (slot, outcome),
                        now,
                    );
                    self.end_stage::<M>(LoopStage::Completion);
                    *last = now;
                    if self.state.error.is_some() {
                        return FillOutcome::Stop;
                    }
                    if M::SAMPLED || self.state.housekeeping_due(now) {
                        return FillOutcome::Housekeeping;
                    }
                }
                Queued::Full(slot) => {
                    slots.free.push(slot);
                    slots.refused = Some(index);
                    return engine_full(self.state, slots.in_flight());
                }
            }
            if batching.explicit && slots.fresh.len() as u32 >= batching.submit {
                now = self.flush_batch::<M>(slots, now);
                if self.state.error.is_some() {
                    return FillOutcome::Stop;
                }
                if batching.low == 0 {
                    return FillOutcome::Wait;
                }
            }
        }
        FillOutcome::Wait
    }

    /// The next operation: one that a hook asks for, the one that was held back, or a new one of the source.
    /// Nothing but the operation: in a tuple it would be copied, and the copy waits for the source's stores.
    #[inline(always)]
    fn draw<M: Mode>(&mut self, slots: &mut Slots, held: &mut Option<Next>, now: &mut u64) -> Next {
        if M::HOOKS && self.asks_for_extras() {
            if let Some(io) = self.extra_queued(slots, now, false) {
                return Next::Io(io);
            }
            if self.state.error.is_some() {
                return Next::End;
            }
        }
        // Not by `take`, which copies before it looks.
        if let Some(next) = *held {
            *held = None;
            if !M::HOOKS || !self.state.drops(&next) {
                return next;
            }
        }
        if M::HOOKS && self.state.closing {
            return self.owed();
        }
        match M::HOOKS.then(|| self.state.hooks.direction(*now)).flatten() {
            Some(dir) => self.source.next_of(dir),
            None if M::HOOKS => self.source.next(),
            None => self.source.next_inlined(),
        }
    }

    /// The next I/O that a hook asks for.
    fn extra_queued(&mut self, slots: &mut Slots, now: &mut u64, ending: bool) -> Option<Io> {
        let mut slot = slots.free.pop();
        let io = extra_io(
            self.state,
            (&mut Borrowed::of(self.engine), self.clock),
            &mut slot,
            now,
            ending,
        );
        slots.free.extend(slot);
        io
    }

    /// Decides whether and where an I/O of the source is issued now.
    #[inline(always)]
    fn choose<M: Mode>(
        &mut self,
        drawn: Io,
        slots: &Slots,
        held: &mut Option<Next>,
        now: u64,
    ) -> Result<Io, NotNow> {
        if M::HOOKS && !self.state.hooks.next_is_extra() {
            if !self.state.due(drawn.dir, now) {
                return Err(NotNow::Wait);
            }
            if self.state.hooks.want(Events::ADMIT) {
                // Not as the result of the call, which would be spilled to memory.
                self.admit(drawn, Some(slots), held)?;
                return Ok(self.state.hooks.admitted());
            }
        }
        if M::DYNAMIC && self.overlaps(slots, drawn) {
            return Err(NotNow::Wait);
        }
        Ok(drawn)
    }

    /// Whether an I/O must wait for another one (`serialize_overlap`). Not by reference: an I/O whose address
    /// escapes is made in memory, and copying it waits for that.
    #[inline(always)]
    fn overlaps(&self, slots: &Slots, io: Io) -> bool {
        self.state.job.load.serialize_overlap && slots.overlaps(io)
    }

    /// Asks the hooks whether and where an I/O is issued ([`Hooks::admitted`]). `held`: gets the I/O that takes its
    /// place, if any. `slots`: the other I/Os that may be in flight.
    ///
    /// [`Hooks::admitted`]: super::super::hooks::Hooks::admitted
    #[inline(never)]
    pub(super) fn admit(
        &mut self,
        drawn: Io,
        slots: Option<&Slots>,
        held: &mut Option<Next>,
    ) -> Result<(), NotNow> {
        let admission = self.state.hooks.admit(drawn);
        match admission {
            Admission::AsDrawn | Admission::Placed => {
                let io = self.state.hooks.admitted();
                if slots.is_some_and(|slots| self.overlaps(slots, io)) {
                    return Err(NotNow::Wait);
                }
                if matches!(admission, Admission::Placed) {
                    self.source.placed(&io);
                }
                Ok(())
            }
            Admission::Later(delay) => {
                self.state.waiting.note(delay);
                Err(NotNow::Wait)
            }
            Admission::Drop(why) => {
                self.source.displaced(&drawn, why);
                if why == Displaced::Exchanged {
                    *held = Some(self.source.next_of(Dir::Write));
                }
                Err(NotNow::AskAgain)
            }
            Admission::Fail(error) => {
                self.state.error.get_or_insert(*error);
                Err(NotNow::Stop)
            }
        }
    }

    /// Carries out an operation that is not an I/O, or makes the op of a flush.
    #[inline(always)]
    fn carry_out_or_queue<M: Mode>(
        &mut self,
        next: Next,
        slots: &mut Slots,
        now: &mut u64,
    ) -> Result<Op, NotNow> {
        if M::HOOKS && next == Next::End && self.state.error.is_some() {
            return Err(NotNow::Stop);
        }
        let idle = slots.in_flight() == 0 && (!M::HOOKS || self.state.hooks.held() == 0);
        let needs_idle = match next {
            Next::Flush(.., alone) => alone,
            Next::Close(_) | Next::Again(_) => true,
            // The end of a loop needs it only if the files are created again.
            Next::End => {
                self.state.job.target.unlink_each_loop
                    || (M::HOOKS && self.state.hooks.want(Events::EXTRA))
            }
            Next::Open(_) | Next::Io(_) => false,
        };
        if needs_idle && !idle {
            return Err(NotNow::Wait);
        }
        if let Next::Flush(flush, file, offset, len, _) = next {
            // Its own start, in case it completes as it is queued.
            *now = self.time::<M>(*now);
            return Ok(op_of_flush(flush, file, offset, len));
        }
        if M::HOOKS && next == Next::End && self.asks_for_extras() {
            if let Some(io) = self.extra_queued(slots, now, true) {
                self.prepare::<M>(slots, io, now);
                return Ok(op_of(&io));
            }
            if self.state.error.is_some() {
                return Err(NotNow::Stop);
            }
        }
        let mut slot = slots.free.pop();
        let result =
            carry_out_control(self.state, &mut Borrowed::of(self.engine), &mut slot, &next);
        slots.free.extend(slot);
        Err(match result {
            ControlOutcome::Continue => NotNow::AskAgain,
            ControlOutcome::Restart => {
                self.source.restart();
                NotNow::AskAgain
            }
            ControlOutcome::End => NotNow::End,
            ControlOutcome::Stop => NotNow::Stop,
        })
    }

    /// Fills the buffer of a write, which is that of the slot that is used next.
    #[inline(always)]
    fn prepare<M: Mode>(&mut self, slots: &mut Slots, io: Io, now: &mut u64) {
        if io.dir == Dir::Write
            && let Some(slot) = slots.free.last_mut()
            && self.fill_buffer::<M>(slot, io, *now)
        {
            self.end_stage::<M>(LoopStage::Contents);
            // The start of the I/O, in case it completes as it is queued. Otherwise it starts with
            // those that are submitted with it.
            if M::SAMPLED {
                *now = self.state.stages.mark();
            } else if M::DYNAMIC {
                *now = self.clock.now();
            }
            // An I/O with a due time starts when it is prepared, not with its batch.
            if !M::HOOKS || !self.state.hooks.want(Events::READY | Events::DUE) {
                slots.filled = true;
            }
        }
    }

    /// Hands one op to the engine.
    #[inline(always)]
    fn submit<M: Mode>(&mut self, slots: &mut Slots, slot: FreeSlot, op: Op, now: u64) -> Queued {
        slots.flights[slot.index() as usize] =
            InFlight { op, start: now, issue: now, short: false };
        if M::DYNAMIC && self.state.job.load.trim_ranges > 1 {
            self.engine.ranges(&slot, self.source.ranges());
        }
        let mut slot = slot;
        let queued = match self.announce::<M>(&mut slot, op, now) {
            Some(outcome) => Queued::Done(slot, outcome),
            None => self.engine.queue(slot, &op),
        };
        self.end_stage::<M>(match queued {
            Queued::Done(..) => LoopStage::Waiting,
            _ => LoopStage::Submission,
        });
        queued
    }

    /// Tells the hooks that an op is issued. Its outcome, if a hook carries it out.
    #[inline(always)]
    pub(super) fn announce<M: Mode>(
        &mut self,
        slot: &mut FreeSlot,
        op: Op,
        now: u64,
    ) -> Option<Outcome> {
        if !M::HOOKS {
            return None;
        }
        let index = slot.index();
        let sends = op.kind == OpKind::Write || op.attributes.command == WriteCommand::Compare;
        let data = match self.state.hooks.want(Events::DATA) && sends {
            true => &mut self.engine.buffer(slot)[..op.len as usize],
            false => &mut [],
        };
        self.state.hooks.issued(index, &op, data, now);
        if self.state.hooks.want(Events::CARRY_OUT) { self.state.carry_out(index) } else { None }
    }
}

/// Offers the engine again the op that it refused. `None`: continue with other ops.
#[cold]
#[inline(never)]
fn offer_again<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slots: &mut Slots,
    now: u64,
) -> Option<FillOutcome> {
    let slot = slots.take_refused()?;
    let index = slot.index();
    let flight = &mut slots.flights[index as usize];
    (flight.start, flight.issue) = (now, now);
    let op = flight.op;
    match engine.queue(slot, &op) {
        Queued::Pending => {
            slots.fresh.push(index);
            slots.fresh_flushes += u64::from(!count_accepted(state, &op));
            None
        }
        Queued::Done(slot, outcome) => {
            complete_at_once(state, engine, clock, slots, (slot, outcome), now);
            None
        }
        Queued::Full(slot) => {
            slots.free.push(slot);
            slots.refused = Some(index);
            Some(engine_full(state, slots.in_flight()))
        }
    }
}

/// How filling ends when an operation is not issued now.
#[inline(always)]
fn stop_filling(why: NotNow, held: &mut Option<Next>, next: Next) -> FillOutcome {
    match why {
        NotNow::Wait | NotNow::AskAgain => {
            *held = Some(next);
            FillOutcome::Wait
        }
        NotNow::End => FillOutcome::End,
        NotNow::Stop => FillOutcome::Stop,
    }
}

/// The engine accepts no op. That is an error if nothing is in flight that could make room.
#[cold]
fn engine_full(state: &mut JobState<'_>, in_flight: u32) -> FillOutcome {
    if in_flight > 0 {
        return FillOutcome::Wait;
    }
    let full = "the engine accepts no I/O although none is in flight";
    state.error.get_or_insert(JobError::new(Stage::Queue, None, full));
    FillOutcome::Stop
}
