//! Jobs on zones (`zonemode=zbd`). [`crate::zones`] decides where an I/O goes; this module connects it
//! to the loops.

use fiord_engine::{Engine, FreeSlot, Op, OpKind, Outcome, Queued, Slot, Time};
use fiord_load::{Displaced, Io, Next, Source};
use fiord_types::Dir;

use super::super::core::JobState;
use crate::zones::Place;

/// What to do with an I/O that was drawn.
pub enum Placement {
    /// Issue this I/O.
    Issue(Io),
    /// Wait until the state of its zone changes.
    Wait,
    /// Draw another one instead.
    DrawAnother,
    /// Draw a write instead.
    DrawWrite,
    /// Stop the job.
    Stop,
}

/// The next step of a loop that issues one I/O at a time.
pub enum NextStep {
    /// Issue this I/O.
    Issue(Io),
    /// Carry out this operation, which is not an I/O.
    Control(Next),
    /// The I/O cannot be issued: draw another one.
    Blocked,
    /// Stop the job.
    Stop,
}

impl JobState<'_> {
    /// Whether the job's I/Os are placed in zones.
    #[inline(always)]
    pub fn is_zoned(&self) -> bool {
        self.placer.is_some()
    }

    /// Places the last drawn I/O.
    pub fn place<S: Source + ?Sized>(&mut self, source: &mut S, io: &Io) -> Placement {
        let Some(placer) = &mut self.placer else { return Placement::Issue(*io) };
        let known = placer.is_ready();
        match placer.place(io) {
            Place::Go(io) | Place::Reset(io) => {
                if !known {
                    source.placed(&io);
                }
                Placement::Issue(io)
            }
            Place::Busy => Placement::Wait,
            Place::Displaced => {
                source.displaced(io, Displaced::Over);
                Placement::DrawAnother
            }
            Place::Passed { lap } => {
                source.displaced(io, Displaced::Passed { lap });
                Placement::DrawAnother
            }
            Place::NoData if placer.writes_instead() => {
                source.displaced(io, Displaced::Exchanged);
                Placement::DrawWrite
            }
            // A reader next to a writer must not end the run: the report contains a finding.
            Place::NoData => {
                source.displaced(io, Displaced::Over);
                Placement::DrawAnother
            }
            Place::Failed(error) => {
                self.error.get_or_insert(*error);
                Placement::Stop
            }
        }
    }

    /// Places the last drawn I/O when nothing is in flight, and waits for its zone if necessary.
    pub fn place_or_wait<S: Source + ?Sized>(
        &mut self,
        source: &mut S,
        clock: &impl Time,
        next: Next,
        now: &mut u64,
    ) -> NextStep {
        let Next::Io(mut io) = next else { return NextStep::Control(next) };
        loop {
            match self.place(source, &io) {
                Placement::Issue(io) => {
                    *now = clock.now();
                    return NextStep::Issue(io);
                }
                Placement::DrawAnother => return NextStep::Blocked,
                Placement::DrawWrite => match source.next_of(Dir::Write) {
                    Next::Io(write) => io = write,
                    control => return NextStep::Control(control),
                },
                Placement::Stop => return NextStep::Stop,
                Placement::Wait if !self.wait_for_zone(clock, now) => return NextStep::Stop,
                Placement::Wait => {}
            }
        }
    }

    /// Waits, with nothing in flight, until the state of a zone changes. False when the job must stop.
    pub fn wait_for_zone(&mut self, clock: &impl Time, now: &mut u64) -> bool {
        if let Some(placer) = &self.placer {
            placer.wait();
        }
        *now = clock.now();
        !self.housekeeping_due(*now) || self.keep_house(*now)
    }

    /// Resets the zone if a trim stands for its reset. `None`: the op goes to the engine.
    pub fn reset_zone(&mut self, op: Op) -> Option<Outcome> {
        let placer = self.placer.as_mut().filter(|_| op.kind == OpKind::Trim)?;
        if !placer.is_reset() {
            return None;
        }
        match placer.reset() {
            Ok(()) => Some(Outcome::ok(0)),
            Err(error) => {
                let errno = error.reported_errno();
                self.error.get_or_insert(error);
                Some(Outcome::err(errno))
            }
        }
    }

    /// Queues an op, or resets the zone whose reset it stands for.
    #[inline(never)]
    pub fn queue_in_zone<E: Engine>(&mut self, engine: &mut E, slot: FreeSlot, op: Op) -> Queued {
        if let Some(outcome) = self.reset_zone(op) {
            return Queued::Done(slot, outcome);
        }
        let index = slot.index();
        let queued = engine.queue(slot, &op);
        if !matches!(queued, Queued::Full(_)) {
            self.zone_op_accepted(index);
        }
        queued
    }

    /// The engine accepted the op that was placed.
    #[inline]
    pub fn zone_op_accepted(&mut self, slot: Slot) {
        if let Some(placer) = &mut self.placer {
            placer.taken(slot);
        }
    }

    /// An I/O succeeded.
    #[inline]
    pub fn zone_op_done(&mut self, slot: Slot) {
        if let Some(Err(error)) = self.placer.as_mut().map(|placer| placer.ended(slot)) {
            self.error.get_or_insert(error);
        }
    }

    /// Counts an I/O that failed, as [`JobState::io_failed`], and names its zone. True when the job goes
    /// on.
    #[cold]
    pub fn io_failed_in_zone(
        &mut self,
        explanation: Option<String>,
        slot: Slot,
        op: &Op,
        outcome: Outcome,
    ) -> bool {
        let Some(placer) = &mut self.placer else {
            return self.io_failed(explanation, op, outcome);
        };
        let errno = outcome.get().err().unwrap_or(0);
        let (result, zone) = placer.failed(slot, errno);
        let had_error = self.error.is_some();
        let mut survives = self.io_failed(explanation, op, outcome);
        if let Some(error) = self.error.as_mut().filter(|_| !had_error) {
            let between = if error.detail.is_empty() || zone.is_empty() { "" } else { "; " };
            error.detail = format!("{}{between}{zone}", error.detail);
        } else if let Err(error) = result {
            self.error.get_or_insert(error);
            survives = false;
        }
        survives
    }
}
