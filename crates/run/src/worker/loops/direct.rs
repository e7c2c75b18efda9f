//! The loop of engines that complete each I/O before the next is queued: one I/O, one clock read.

use fiord_engine::{Engine, FreeSlot, Op, OpKind, Outcome, Queued, Time};
use fiord_load::{Io, Next, Source};
use fiord_stat::recorder::{Times, axes};
use fiord_stat::shares::LoopStage;
use fiord_types::{Bytes, Dir, Errno, Nanos};

use super::super::core::{AtOnce, JobState};
use super::super::layers::Borrowed;
use super::super::ops::{direction, op_of, op_of_flush};
use super::complete::holder_after_success;
use super::fill::NotNow;
use super::mode::Mode;
use super::{
    BorrowedWorker, ControlOutcome, Payload, StepEnd, Worker, burst, carry_out_control, extra_io,
};
use crate::hook::{Completed, Events};

impl<E: Engine, S: Source, P: Payload> Worker<'_, E, S, P> {
    /// Runs to the end of the work, the end of the run time or the first error.
    #[inline(always)]
    pub(crate) fn run_direct<M: Mode>(&mut self) {
        self.state.one_by_one = true;
        let Some(mut slot) = self.slots.pop() else { return };
        self.state.hooks.lend(std::mem::take(&mut self.slots));
        let mut now = self.clock.now();
        loop {
            let end;
            (slot, end) = self.borrowed().step::<M>(slot, &mut now);
            match end {
                StepEnd::Next => continue,
                StepEnd::Look => {}
                StepEnd::Stop if M::HOOKS && self.state.wind_down() => continue,
                StepEnd::Stop => break,
            }
            if self.state.housekeeping_due(now) {
                // By value: a variable whose address escapes is not kept in a register.
                let later;
                (slot, later) = self.keep_house_direct::<M::Sampled>(now, slot);
                match later {
                    Some(later) => now = later,
                    None if M::HOOKS && self.state.wind_down() => now = self.clock.now(),
                    None => break,
                }
            }
        }
        self.slots = self.state.take_all_slots();
        self.slots.push(slot);
    }

    /// Housekeeping, then a burst of samples. Returns the slot, and the time after that; `None` when the job must
    /// issue no more I/Os.
    #[cold]
    #[inline(never)]
    fn keep_house_direct<M: Mode>(&mut self, now: u64, slot: FreeSlot) -> (FreeSlot, Option<u64>) {
        let mut engine = Borrowed::of(&mut self.engine);
        let mut worker = BorrowedWorker {
            state: &mut self.state,
            engine: &mut engine,
            source: &mut self.source as &mut dyn Source,
            payload: &mut self.payload as &mut dyn Payload,
            clock: &self.clock,
        };
        burst::keep_house_direct::<M, _>(&mut worker, now, slot)
    }
}

impl<E: Engine, S: Source + ?Sized, P: Payload + ?Sized> BorrowedWorker<'_, '_, E, S, P> {
    /// One I/O, which begins at `now`: draw it, fill its buffer, issue it, record it. Returns the slot.
    #[inline(always)]
    pub(super) fn step<M: Mode>(&mut self, slot: FreeSlot, now: &mut u64) -> (FreeSlot, StepEnd) {
        let mut slot = slot;
        let next;
        (slot, next) = self.next_step::<M>(slot, now);
        let io = match next {
            NextStep::Issue(io) => io,
            NextStep::Control(control) => {
                self.end_stage::<M>(LoopStage::Rest);
                let from = self.clock.now();
                let ended = self.control_now(slot, control);
                *now = self.clock.now();
                self.state.stages.add_control(from, *now);
                return ended;
            }
            NextStep::Blocked => {
                self.end_stage::<M>(LoopStage::Waiting);
                return (slot, StepEnd::Look);
            }
            NextStep::Stop => return (slot, StepEnd::Stop),
        };
        self.state.drawn += 1;
        self.end_stage::<M>(if M::HOOKS { LoopStage::Waiting } else { LoopStage::Rest });
        if io.dir == Dir::Write && self.fill_buffer::<M>(&mut slot, io, *now) {
            *now = self.stage_time::<M>(LoopStage::Contents, *now);
        }
        let op = op_of(&io);
        if M::SAMPLED {
            *now = self.state.stages.mark();
        }
        let start = *now;
        let (mut slot, outcome) = match self.announce::<M>(&mut slot, op, start) {
            Some(outcome) => (slot, outcome),
            None => queue_now(self.engine, slot, &op),
        };
        *now = self.stage_time::<M>(LoopStage::Waiting, start);
        // Before the I/O is recorded: it belongs to the next window of the logs.
        if !is_whole(&io, outcome) || (!M::SAMPLED && self.state.housekeeping_due(*now)) {
            let end;
            (slot, end) = rare_completion(
                self.state,
                &mut Borrowed::of(self.engine),
                self.clock,
                M::AXES,
                (slot, op, outcome),
                (start, *now),
            );
            let Some(end) = end else { return (slot, StepEnd::Stop) };
            *now = end;
            self.end_stage::<M>(LoopStage::Completion);
            let failed = M::HOOKS && self.state.error.is_some();
            return (slot, if failed { StepEnd::Stop } else { StepEnd::Look });
        }
        if M::SAMPLED {
            self.state.cut_windows(*now);
        }
        slot = self.completed::<M>(slot, &op, io.dir, start, now);
        self.end_stage::<M>(LoopStage::Completion);
        let failed = M::HOOKS && self.state.error.is_some();
        (slot, if failed { StepEnd::Stop } else { StepEnd::Next })
    }

    /// Records an I/O that is complete at `now`. Returns its slot, or another one if a hook holds that.
    #[inline(always)]
    fn completed<M: Mode>(
        &mut self,
        mut slot: FreeSlot,
        op: &Op,
        dir: Dir,
        start: u64,
        now: &mut u64,
    ) -> FreeSlot {
        let times = whole_times(now.wrapping_sub(start));
        let bytes = Bytes(op.len.into());
        let recorder = &mut self.state.recorder;
        let mut waited = false;
        let common = self.state.at_once;
        if M::TOTAL_ALONE && common == AtOnce::Total {
            recorder.complete_with(axes::LAT, dir, bytes, times, 1);
        } else if !M::DYNAMIC {
            recorder.complete_with(M::AXES, dir, bytes, times, 1);
        } else if common == AtOnce::Default {
            recorder.complete_with(axes::SYNC, dir, bytes, times, 1);
        } else {
            match recorder.lat_is_clat {
                true => recorder.complete_with(axes::SYNC, dir, bytes, times, 1),
                false => recorder.complete_with(M::AXES, dir, bytes, times, 1),
            }
            if self.state.log.follows() {
                self.state.log.io(op, dir, &times, *now);
                waited = self.state.log.has_waited();
            }
        }
        if M::HOOKS {
            slot = succeeded(self.state, self.engine, slot, op, times, *now);
        }
        // The next I/O begins after the hook has read these bytes, or after a wait for the log.
        if M::HOOKS && self.state.hooks.want(Events::DATA) || M::DYNAMIC && waited {
            self.state.log.take_waited();
            *now = self.clock.now();
        }
        slot
    }

    /// Returns the next step of the source, when it is due.
    #[inline(always)]
    fn next_step<M: Mode>(&mut self, slot: FreeSlot, now: &mut u64) -> (FreeSlot, NextStep) {
        if !M::HOOKS {
            return (slot, step_of(self.source.next_inlined()));
        }
        if self.state.hooks.let_the_source_run() && !self.state.closing {
            return (slot, step_of(self.source.next()));
        }
        let mut held = Some(slot);
        let next = self.next_managed(&mut held, now);
        let Some(slot) = held else { unreachable!("the engine completes each op at once") };
        (slot, next)
    }

    /// The next step, when the hooks let it go. Waits for that.
    fn next_managed(&mut self, slot: &mut Option<FreeSlot>, now: &mut u64) -> NextStep {
        if self.state.hooks.held() > 0 {
            while let Some(released) = self.state.released_slot() {
                self.state.hooks.keep(released);
            }
            if self.state.error.is_some() {
                return NextStep::Stop;
            }
        }
        while !self.state.ready(self.clock, now, 0) {
            if !self.state.wait(self.clock, now) {
                return NextStep::Stop;
            }
        }
        if self.asks_for_extras()
            && let Some(step) = self.extra_step(slot, now, false)
        {
            return step;
        }
        let mut next = match self.state.held.take() {
            Some(held) if !self.state.drops(&held) => held,
            _ if self.state.closing => self.owed(),
            _ => match self.state.hooks.direction(*now) {
                Some(dir) => self.source.next_of(dir),
                None => self.source.next(),
            },
        };
        let mut instead = None;
        loop {
            let Next::Io(drawn) = next else { return self.control_step(slot, now, next) };
            while !self.state.due(drawn.dir, *now) {
                let goes_on = self.state.wait(self.clock, now);
                if !goes_on || self.state.closing {
                    self.state.held = Some(next);
                    return if goes_on { NextStep::Blocked } else { NextStep::Stop };
                }
            }
            if !self.state.hooks.want(Events::ADMIT) {
                return NextStep::Issue(drawn);
            }
            match self.admit(drawn, None, &mut instead) {
                Ok(()) => {
                    *now = self.clock.now();
                    return NextStep::Issue(self.state.hooks.admitted());
                }
                Err(NotNow::Wait) => {
                    let goes_on = self.state.wait(self.clock, now);
                    // It may wait for an op that a hook asks for.
                    if !goes_on || self.state.hooks.want(Events::EXTRA) {
                        self.state.held = Some(next);
                        return if goes_on { NextStep::Blocked } else { NextStep::Stop };
                    }
                }
                Err(NotNow::AskAgain) => match instead.take() {
                    Some(other) => next = other,
                    None => return NextStep::Blocked,
                },
                Err(_) => return NextStep::Stop,
            }
        }
    }

    /// The step for an operation that is not an I/O. Before the end of the work, hooks may ask for more I/Os.
    fn control_step(
        &mut self,
        slot: &mut Option<FreeSlot>,
        now: &mut u64,
        control: Next,
    ) -> NextStep {
        if control == Next::End && self.asks_for_extras() {
            self.state.reclaim_held_slots();
            if let Some(step) = self.extra_step(slot, now, true) {
                return step;
            }
        }
        NextStep::Control(control)
    }

    /// The step that a hook asks for.
    fn extra_step(
        &mut self,
        slot: &mut Option<FreeSlot>,
        now: &mut u64,
        ending: bool,
    ) -> Option<NextStep> {
        let io =
            extra_io(self.state, (&mut Borrowed::of(self.engine), self.clock), slot, now, ending);
        match io {
            _ if self.state.error.is_some() => Some(NextStep::Stop),
            io => io.map(NextStep::Issue),
        }
    }

    /// The time at which a stage of the round ended: exact if the loop measures latencies.
    #[inline(always)]
    fn stage_time<M: Mode>(&mut self, stage: LoopStage, last: u64) -> u64 {
        if M::SAMPLED {
            self.end_stage::<M>(stage);
            return self.state.stages.mark();
        }
        self.time::<M>(last)
    }

    /// Carries out an operation that is not an I/O. Returns the slot.
    #[inline(always)]
    fn control_now(&mut self, slot: FreeSlot, next: Next) -> (FreeSlot, StepEnd) {
        if let Next::Flush(flush, file, offset, len, _) = next {
            let op = op_of_flush(flush, file, offset, len);
            return flush_now(self.state, &mut Borrowed::of(self.engine), self.clock, slot, &op);
        }
        let mut held = Some(slot);
        let result =
            carry_out_control(self.state, &mut Borrowed::of(self.engine), &mut held, &next);
        let Some(slot) = held else { unreachable!("the engine completes each op at once") };
        match result {
            ControlOutcome::Continue => (slot, StepEnd::Look),
            ControlOutcome::Restart => {
                self.source.restart();
                (slot, StepEnd::Look)
            }
            ControlOutcome::End | ControlOutcome::Stop => (slot, StepEnd::Stop),
        }
    }
}

/// The next step of the loop.
enum NextStep {
    /// Issue this I/O.
    Issue(Io),
    /// Carry out this operation, which is not an I/O.
    Control(Next),
    /// The I/O that was drawn is not issued: draw another one.
    Blocked,
    /// Stop the job.
    Stop,
}

/// Converts an operation of the source to a step.
#[inline(always)]
fn step_of(next: Next) -> NextStep {
    match next {
        Next::Io(io) => NextStep::Issue(io),
        control => NextStep::Control(control),
    }
}

/// Carries out one op.
#[inline(always)]
fn queue_now<E: Engine>(engine: &mut E, slot: FreeSlot, op: &Op) -> (FreeSlot, Outcome) {
    match engine.queue(slot, op) {
        Queued::Done(slot, outcome) => (slot, outcome),
        Queued::Full(slot) => (slot, Outcome::err(Errno::EIO)),
        Queued::Pending => unreachable!("the engine completes each op at once"),
    }
}

/// Carries out one op, out of line: the loop contains the engine's code already.
#[cold]
#[inline(never)]
fn queue_now_cold<E: Engine>(engine: &mut E, slot: FreeSlot, op: &Op) -> (FreeSlot, Outcome) {
    queue_now(engine, slot, op)
}

/// Tells the hooks that an op succeeded. Returns its slot, or another one if a hook holds that. `op`: the last part
/// of it.
#[inline(always)]
fn succeeded<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    mut slot: FreeSlot,
    op: &Op,
    times: Times,
    end: u64,
) -> FreeSlot {
    if let Some(holder) = holder_after_success(state, engine, &mut slot, op, times, end) {
        state.hooks.hold(holder, engine.hold(slot));
        return state.another_slot();
    }
    slot
}

/// An I/O that failed, or moved less than it should, or after which housekeeping is due: issues its rest and records
/// it. `axes`: those of the loop's mode. `now`: when the first part of it completed. Returns the slot and the time
/// after that; `None`: the job ends.
#[cold]
#[inline(never)]
fn rare_completion<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    axes: u32,
    (mut slot, first, mut outcome): (FreeSlot, Op, Outcome),
    (start, now): (u64, u64),
) -> (FreeSlot, Option<u64>) {
    let mut op = first;
    let mut whole = first.len;
    let dir = direction(&first);
    let mut short = false;
    loop {
        match outcome.get() {
            // A trim, or a cycle of an engine that does no I/O, moves no bytes.
            Ok(0) if op.kind == OpKind::Trim || op.len == 0 => break,
            Ok(0) if state.ends_at_end_of_file(slot.index(), &op) => {
                if !short {
                    state.recorder.short(dir);
                }
                (whole, op.len) = (op.at, 0);
                break;
            }
            Err(_) | Ok(0) => {
                let end = clock.now();
                let lat = end.wrapping_sub(start);
                let failed = Completed::failed(outcome, whole_times(lat), end);
                let explanation = engine.explain(&slot);
                let survives = state.follow_failure(explanation, slot.index(), &op, &failed);
                return (slot, survives.then_some(end));
            }
            Ok(bytes) if bytes < op.len => {
                if !std::mem::replace(&mut short, true) {
                    state.recorder.short(dir);
                }
                op.offset += u64::from(bytes);
                op.at += bytes;
                op.len -= bytes;
                (slot, outcome) = queue_now_cold(engine, slot, &op);
            }
            Ok(_) => break,
        }
    }
    let end = if short { clock.now() } else { now };
    let times = whole_times(end.wrapping_sub(start));
    state.cut_windows(end);
    let axes = match state.at_once {
        _ if outcome.is_uncounted() => axes::BARE,
        AtOnce::Total => axes::LAT,
        _ if state.recorder.lat_is_clat => axes::SYNC,
        _ => axes,
    };
    state.recorder.complete_with(axes, dir, Bytes(whole.into()), times, 1);
    if !outcome.is_uncounted() {
        state.log.io(&op, dir, &times, end);
    }
    let slot = succeeded(state, engine, slot, &op, times, end);
    (slot, Some(clock.now()))
}

/// The latencies of an I/O whose submission takes no separate time.
#[inline(always)]
fn whole_times(lat: u64) -> Times {
    Times { slat: Nanos::ZERO, clat: Nanos(lat), lat: Nanos(lat) }
}

/// Flushes a file and measures it. Returns the slot.
#[cold]
#[inline(never)]
fn flush_now<E: Engine>(
    state: &mut JobState<'_>,
    engine: &mut E,
    clock: &E::Clock,
    slot: FreeSlot,
    op: &Op,
) -> (FreeSlot, StepEnd) {
    let start = clock.now();
    state.hooks.issued(slot.index(), op, &mut [], start);
    let (slot, outcome) = queue_now(engine, slot, op);
    let end = clock.now();
    state.recorder.sync_issued += 1;
    let times = whole_times(end - start);
    match outcome.get() {
        Ok(_) => {
            state.recorder.synced(times.clat);
            (succeeded(state, engine, slot, op, times, end), StepEnd::Look)
        }
        Err(_) => {
            let failed = Completed::failed(outcome, times, end);
            let explanation = engine.explain(&slot);
            let survives = state.follow_failure(explanation, slot.index(), op, &failed);
            (slot, if survives { StepEnd::Look } else { StepEnd::Stop })
        }
    }
}

/// Whether this is the outcome of an I/O that did all of its work. Trims move no bytes. Reads and writes need only the
/// first comparison.
#[inline(always)]
fn is_whole(io: &Io, outcome: Outcome) -> bool {
    outcome == Outcome::ok(io.len) || (io.dir == Dir::Trim && outcome == Outcome::ok(0))
}
