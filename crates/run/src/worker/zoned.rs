//! Jobs on zones (`zonemode=zbd`). Only the loops that are compiled with [`ZONED`] in their axes have
//! any of this. Where an I/O goes is decided in [`crate::zones`]; here the loops ask for it.

use fiord_engine::{Engine, Op, OpKind, Outcome, Queued, Slot, Time};
use fiord_load::{Dir, Displaced, Io, Next, Source};

use super::session::{Fill, Session};
use crate::zones::Place;

/// In a set of axes: each I/O is placed in a zone. Such loops are compiled once for all measurements
/// and all paces.
pub const ZONED: u32 = 1 << 29;

/// What is to be done with an I/O that was drawn.
pub enum Step {
    /// Make it, here.
    Go(Io),
    /// It waits for news from its zone.
    Wait,
    /// It is not made: draw another one.
    Another,
    /// A write instead of it.
    Write,
    /// The job is to stop.
    Stop,
}

/// What became of what a source said.
pub enum Placed {
    /// An I/O that is to be made here.
    Here(Io),
    /// Something that is no I/O.
    Aside(Next),
    /// An I/O that is not made: ask for another one.
    Nowhere,
    /// The job is to stop.
    Stop,
}

impl<E: Engine, S: Source, C: Fill> Session<'_, E, S, C> {
    /// Where the I/O goes that was drawn last.
    pub fn place(&mut self, io: &Io) -> Step {
        let Some(placer) = &mut self.placer else { return Step::Go(*io) };
        let known = placer.is_ready();
        match placer.place(io) {
            Place::Go(io) | Place::Reset(io) => {
                if !known {
                    self.source.placed(&io);
                }
                Step::Go(io)
            }
            Place::Busy => Step::Wait,
            Place::Displaced => {
                self.source.displaced(io, Displaced::Over);
                Step::Another
            }
            Place::Passed { lap } => {
                self.source.displaced(io, Displaced::Passed { lap });
                Step::Another
            }
            Place::NoData if placer.writes_instead() => {
                self.source.displaced(io, Displaced::Exchanged);
                Step::Write
            }
            // A reader next to a writer must not end the run: the report says so.
            Place::NoData => {
                self.source.displaced(io, Displaced::Over);
                Step::Another
            }
            Place::Failed(error) => {
                self.error.get_or_insert(*error);
                Step::Stop
            }
        }
    }

    /// The same where nothing is in flight: waits.
    pub fn place_now(&mut self, next: Next, now: &mut u64) -> Placed {
        let Next::Io(mut io) = next else { return Placed::Aside(next) };
        loop {
            match self.place(&io) {
                Step::Go(io) => {
                    *now = self.clock.now();
                    return Placed::Here(io);
                }
                Step::Another => return Placed::Nowhere,
                Step::Write => match self.source.next_of(Dir::Write) {
                    Next::Io(write) => io = write,
                    aside => return Placed::Aside(aside),
                },
                Step::Stop => return Placed::Stop,
                Step::Wait if !self.wait_for_zone(now) => return Placed::Stop,
                Step::Wait => {}
            }
        }
    }

    /// Waits for news of zones, with nothing in flight. False when the job is to stop.
    pub fn wait_for_zone(&mut self, now: &mut u64) -> bool {
        if let Some(placer) = &self.placer {
            placer.wait();
        }
        *now = self.clock.now();
        !self.due(*now) || self.look(*now)
    }

    /// Whether a trim is the reset of a zone: then it has been done, and this is how it ended.
    pub fn reset_zone(&mut self, op: &Op) -> Option<Outcome> {
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

    /// Queues an op, or resets the zone that it resets.
    pub fn queue_in_zone(&mut self, slot: Slot, op: &Op) -> Queued {
        if let Some(outcome) = self.reset_zone(op) {
            return Queued::Done(outcome);
        }
        let queued = self.engine.queue(slot, op);
        if queued != Queued::Full {
            self.taken(slot);
        }
        queued
    }

    /// The engine took the op that was placed.
    #[inline]
    pub fn taken(&mut self, slot: Slot) {
        if let Some(placer) = &mut self.placer {
            placer.taken(slot);
        }
    }

    /// An I/O has ended well.
    #[inline]
    pub fn zone_done(&mut self, slot: Slot) {
        if let Some(Err(error)) = self.placer.as_mut().map(|placer| placer.ended(slot)) {
            self.error.get_or_insert(error);
        }
    }

    /// An I/O has failed: as [`Session::io_failed`], with the zone named. True when the job goes on.
    #[cold]
    pub fn failed_in_zone(&mut self, slot: Slot, op: &Op, outcome: Outcome) -> bool {
        let Some(placer) = &mut self.placer else { return self.io_failed(slot, op, outcome) };
        let errno = outcome.get().err().unwrap_or(0);
        let (result, zone) = placer.failed(slot, errno);
        let had = self.error.is_some();
        let mut survives = self.io_failed(slot, op, outcome);
        if let Some(error) = self.error.as_mut().filter(|_| !had) {
            let between = if error.detail.is_empty() || zone.is_empty() { "" } else { "; " };
            error.detail = format!("{}{between}{zone}", error.detail);
        } else if let Err(error) = result {
            self.error.get_or_insert(error);
            survives = false;
        }
        survives
    }
}
